// SPDX-License-Identifier: Apache-2.0
// Running results along a dim: aten::cumsum, cumprod, logcumsumexp, cummax and cummin.
#include <algorithm>
#include <cmath>
#include <limits>

#include "host/kernels/kernel.hpp"
#include "host/kernels/rows.hpp"
#include "ops/cummax.hpp"
#include "ops/cummin.hpp"
#include "ops/cumprod.hpp"
#include "ops/cumsum.hpp"
#include "ops/logcumsumexp.hpp"

namespace etb::host {
namespace {

constexpr int64_t kChunk = 512;

// The result of the elements so far; add() includes one more. Floats are computed in double, integers in 64 bits that wrap.
template <class T>
struct RunningSum {
  T result = 0;
  T add(T x) noexcept {
    if constexpr (std::is_integral_v<T>)
      return result = static_cast<T>(static_cast<uint64_t>(result) + static_cast<uint64_t>(x));
    else
      return result += x;
  }
};

template <class T>
struct RunningProduct {
  T result = 1;
  T add(T x) noexcept {
    if constexpr (std::is_integral_v<T>)
      return result = static_cast<T>(static_cast<uint64_t>(result) * static_cast<uint64_t>(x));
    else
      return result *= x;
  }
};

// log(exp(a) + exp(b) + ...) without overflow: the larger of both is taken out of the sum.
template <class T>
struct RunningLogSumExp {
  T result = -std::numeric_limits<T>::infinity();
  T add(T x) noexcept {
    const T high = result > x || result != result ? result : x;
    const T low = result > x || result != result ? x : result;
    // Two equal infinities have no difference.
    if (high != high || (high == low && std::isinf(high))) return result = high;
    return result = high + std::log1p(std::exp(low - high));
  }
};

// log(1 + z) for |z| <= 1. Near 0, |1 + z|^2 - 1 keeps the digits that 1 + z loses.
template <class T>
struct ComplexNumber {
  T re, im;
};
ComplexNumber<double> log1p_of(ComplexNumber<double> z) {
  const double excess = z.re * (z.re + 2) + z.im * z.im;
  const double re =
      std::hypot(z.re, z.im) < 0.5 ? std::log1p(excess) / 2 : std::log(std::hypot(1 + z.re, z.im));
  return {re, std::atan2(z.im, 1 + z.re)};
}

// The same for complex numbers, ordered by their real parts. The larger one decides about whole turns of the angle.
struct RunningComplexLogSumExp {
  using Number = ComplexNumber<double>;
  Number result{-std::numeric_limits<double>::infinity(), 0};

  Number add(Number x) noexcept {
    const bool is_nan = x.re != x.re || x.im != x.im || result.re != result.re || result.im != result.im;
    if (is_nan) return result = {std::nan(""), std::nan("")};
    const bool is_less = x.re < result.re;
    const Number high = is_less ? result : x, low = is_less ? x : result;
    if (high.re == low.re && std::isinf(high.re))
      return result = high.re < 0 ? low : log_of_infinite(low, high);
    const double shrink = std::exp(low.re - high.re), turn = low.im - high.im;
    const Number rest = log1p_of({shrink * std::cos(turn), shrink * std::sin(turn)});
    return result = {high.re + rest.re, high.im + rest.im};
  }

 private:
  static Number log_of_infinite(Number x, Number y) noexcept {
    const double re = std::exp(x.re) * std::cos(x.im) + std::exp(y.re) * std::cos(y.im);
    const double im = std::exp(x.re) * std::sin(x.im) + std::exp(y.re) * std::sin(y.im);
    return {std::log(std::hypot(re, im)), std::atan2(im, re)};
  }
};

// Many neighbouring lines of contiguous tensors side by side, so that memory is read in order.
template <class T, class Running>
etb_status scan_columns(KernelContext& context, const Tensor& self, int dim, Tensor& out) {
  const ConvertLoops& loops = *vector_table(context).conversions;
  const auto compute = static_cast<int>(kComputeOf<T>);
  const ConvertLoop load = loops.load[static_cast<int>(self.dtype())][compute],
                    store = loops.store[static_cast<int>(out.dtype())][compute];
  const auto from_nbytes = static_cast<int64_t>(element_nbytes(self.dtype())),
             to_nbytes = static_cast<int64_t>(element_nbytes(out.dtype()));
  const int64_t length = self.size(dim), width = self.stride(dim), block = length * width;
  for (int64_t outer = 0; outer < self.numel(); outer += block) {
    for (int64_t column = 0; column < width; column += kChunk) {
      const int64_t count = std::min(kChunk, width - column);
      Running running[kChunk];
      for (int64_t i = 0; i < length; ++i) {
        if (context.should_stop(count)) return context.stopped();
        const int64_t at = outer + i * width + column;
        T items[kChunk];
        load(items, self.data_as<char>() + at * from_nbytes, 1, count);
        for (int64_t j = 0; j < count; ++j) items[j] = running[j].add(items[j]);
        store(out.data_as<char>() + at * to_nbytes, items, 1, count);
      }
    }
  }
  return ETB_OK;
}

template <class T, class Running>
etb_status scan_rows(KernelContext& context, const Tensor& self, int dim, Tensor& out) {
  constexpr int64_t kFewColumns = 8;
  if (self.rank() > 0 && self.is_contiguous() && out.is_contiguous() && self.stride(dim) >= kFewColumns)
    return scan_columns<T, Running>(context, self, dim, out);
  const ConvertLoops& loops = *vector_table(context).conversions;
  const DimSet dims = one_dim(self, dim);
  RowWalk from(self, dims), to(out, dims);
  for (int64_t row = 0; row < from.row_count(); ++row, from.advance(), to.advance()) {
    Running running;
    for (int64_t begin = 0; begin < from.row_numel(); begin += kChunk) {
      const int64_t count = std::min(kChunk, from.row_numel() - begin);
      if (context.should_stop(count)) return context.stopped();
      T items[kChunk];
      from.load(loops, kComputeOf<T>, items, begin, count);
      for (int64_t i = 0; i < count; ++i) items[i] = running.add(items[i]);
      to.store(loops, kComputeOf<T>, items, begin, count);
    }
  }
  return ETB_OK;
}

// Resizes the output and finds the dim; false in `out_has_elements` when nothing is left to do.
etb_status prepare(KernelContext& context, const Tensor& self, int64_t wanted, Tensor& out, int* out_dim,
                   bool* out_has_elements) {
  ETB_CHECK(wrap_dim(context, wanted, self.rank(), out_dim));
  ETB_CHECK(resize_output(context, out, self.sizes()));
  if (!is_arithmetic(self.dtype()) || !is_arithmetic(out.dtype())) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s", to_text(self.dtype()), to_text(out.dtype()));
  }
  *out_has_elements = out.numel() != 0;
  return ETB_OK;
}

// op(self, dim, dtype, out)
template <template <class> class Running>
etb_status accumulate(KernelContext& context, ops::cumsum_out<KernelArguments> args) {
  int dim = 0;
  bool has_elements = false;
  ETB_CHECK(prepare(context, args.self(), args.dim(), args.out(), &dim, &has_elements));
  if (!has_elements) return ETB_OK;
  if (is_floating(args.out().dtype()))
    return scan_rows<double, Running<double>>(context, args.self(), dim, args.out());
  return scan_rows<int64_t, Running<int64_t>>(context, args.self(), dim, args.out());
}

// logcumsumexp of complex numbers with parts of T.
template <class T>
etb_status scan_complex_rows(KernelContext& context, const Tensor& self, int dim, Tensor& out) {
  const DimSet dims = one_dim(self, dim);
  const int64_t from_stride = self.rank() == 0 ? 0 : self.stride(dim);
  const int64_t to_stride = out.rank() == 0 ? 0 : out.stride(dim);
  RowWalk from(self, dims), to(out, dims);
  for (int64_t row = 0; row < from.row_count(); ++row, from.advance(), to.advance()) {
    const auto* read = self.data_as<ComplexNumber<T>>() + from.offset();
    auto* write = out.data_as<ComplexNumber<T>>() + to.offset();
    RunningComplexLogSumExp running;
    for (int64_t i = 0; i < from.row_numel(); ++i) {
      if (i % kChunk == 0 && context.should_stop(std::min(kChunk, from.row_numel() - i)))
        return context.stopped();
      const auto x = read[i * from_stride];
      const auto sum = running.add({static_cast<double>(x.re), static_cast<double>(x.im)});
      write[i * to_stride] = {static_cast<T>(sum.re), static_cast<T>(sum.im)};
    }
  }
  return ETB_OK;
}

etb_status complex_logcumsumexp(KernelContext& context, ops::logcumsumexp_out<KernelArguments> args) {
  const Tensor& self = args.self();
  int dim = 0;
  ETB_CHECK(wrap_dim(context, args.dim(), self.rank(), &dim));
  ETB_CHECK(resize_output(context, args.out(), self.sizes()));
  const bool is_known = self.dtype() == Dtype::COMPLEX64 || self.dtype() == Dtype::COMPLEX128;
  if (!is_known || args.out().dtype() != self.dtype())
    return context.fail(ETB_INVALID_TYPE, "%s into %s, expected complex64 or complex128 and the same",
                        to_text(self.dtype()), to_text(args.out().dtype()));
  if (self.numel() == 0) return ETB_OK;
  return self.dtype() == Dtype::COMPLEX64 ? scan_complex_rows<float>(context, self, dim, args.out())
                                          : scan_complex_rows<double>(context, self, dim, args.out());
}

// logcumsumexp(self, dim, out)
etb_status logcumsumexp_out(KernelContext& context, ops::logcumsumexp_out<KernelArguments> args) {
  if (is_complex(args.self().dtype())) return complex_logcumsumexp(context, args);
  int dim = 0;
  bool has_elements = false;
  ETB_CHECK(prepare(context, args.self(), args.dim(), args.out(), &dim, &has_elements));
  if (!is_floating(args.out().dtype()))
    return context.fail(ETB_INVALID_TYPE, "out is %s, expected floats", to_text(args.out().dtype()));
  if (!has_elements) return ETB_OK;
  return scan_rows<double, RunningLogSumExp<double>>(context, args.self(), dim, args.out());
}

// True if `x` replaces `best`: also an equal one, and a NaN replaces everything.
template <bool is_max, class T>
bool replaces(T x, T best) {
  if (x != x) return true;
  return best == best && (is_max ? x >= best : x <= best);
}

template <bool is_max, class T>
etb_status scan_extremes(KernelContext& context, const Tensor& self, int dim, Tensor& values,
                         Tensor& indices) {
  const ConvertLoops& loops = *vector_table(context).conversions;
  const DimSet dims = one_dim(self, dim);
  RowWalk from(self, dims), to(values, dims), places(indices, dims);
  for (int64_t row = 0; row < from.row_count(); ++row, from.advance(), to.advance(), places.advance()) {
    T best = 0;
    int64_t place = -1;
    for (int64_t begin = 0; begin < from.row_numel(); begin += kChunk) {
      const int64_t count = std::min(kChunk, from.row_numel() - begin);
      if (context.should_stop(count)) return context.stopped();
      T items[kChunk];
      int64_t at[kChunk];
      from.load(loops, kComputeOf<T>, items, begin, count);
      for (int64_t i = 0; i < count; ++i) {
        if (place < 0 || replaces<is_max>(items[i], best)) {
          best = items[i];
          place = begin + i;
        }
        items[i] = best;
        at[i] = place;
      }
      to.store(loops, kComputeOf<T>, items, begin, count);
      places.store(loops, Compute::kInt64, at, begin, count);
    }
  }
  return ETB_OK;
}

// op(self, dim, values, indices): the extreme so far and its place, the later of equal ones.
template <bool is_max>
etb_status find_extremes(KernelContext& context, ops::cummax_out<KernelArguments> args) {
  int dim = 0;
  bool has_elements = false;
  ETB_CHECK(prepare(context, args.self(), args.dim(), args.values(), &dim, &has_elements));
  ETB_CHECK(resize_output(context, args.indices(), args.self().sizes()));
  if (args.values().dtype() != args.self().dtype() || args.indices().dtype() != Dtype::INT64) {
    return context.fail(ETB_INVALID_TYPE, "values are %s and indices %s, expected %s and int64",
                        to_text(args.values().dtype()), to_text(args.indices().dtype()),
                        to_text(args.self().dtype()));
  }
  if (!has_elements) return ETB_OK;
  if (is_floating(args.self().dtype()))
    return scan_extremes<is_max, double>(context, args.self(), dim, args.values(), args.indices());
  return scan_extremes<is_max, int64_t>(context, args.self(), dim, args.values(), args.indices());
}

constexpr Kernel kRows[] = {
    kernel_row<ops::cummax_out, find_extremes<true>>(),
    kernel_row<ops::cummin_out, find_extremes<false>>(),
    kernel_row<ops::cumprod_out, accumulate<RunningProduct>>(),
    kernel_row<ops::cumsum_out, accumulate<RunningSum>>(),
    kernel_row<ops::logcumsumexp_out, logcumsumexp_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(scan, kRows);

}  // namespace etb::host
