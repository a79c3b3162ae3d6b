// SPDX-License-Identifier: Apache-2.0
// aten::sum, mean, prod, any, amax, amin, max, min, argmax, argmin, var and var_mean.
//
// Sums of floats are added in blocks of float and on in double, so their error does not grow with the length; the result is rounded
// once. Integers are added in 64 bits and wrap.
#include <cmath>
#include <limits>

#include "host/kernels/kernel.hpp"
#include "host/kernels/rows.hpp"
#include "ops/amax.hpp"
#include "ops/amin.hpp"
#include "ops/any.hpp"
#include "ops/argmax.hpp"
#include "ops/argmin.hpp"
#include "ops/max.hpp"
#include "ops/mean.hpp"
#include "ops/min.hpp"
#include "ops/prod.hpp"
#include "ops/sum.hpp"
#include "ops/var.hpp"
#include "ops/var_mean.hpp"

namespace etb::host {
namespace {

constexpr int64_t kChunk = 2048;

// Stores one value of a computing type as element `index` of the result.
template <class T>
void store_result(const VectorTable& table, const Tensor& out, int64_t index, T value) {
  const int64_t offset = row_major_offset(out, index) * static_cast<int64_t>(element_nbytes(out.dtype()));
  table.conversions->store[static_cast<int>(out.dtype())][static_cast<int>(kComputeOf<T>)](
      out.data_as<char>() + offset, &value, 1, 1);
}

// Hands the current row to visit(values, count, position) in dense pieces of T, which are the same whether the run is watched or not:
// where a sum is cut shows in its last bit.
template <class T, class Visit>
void for_each_dense(KernelContext& context, const RowWalk& walk, Visit visit) {
  const VectorTable& table = vector_table(context);
  if (const T* values = walk.dense<T>(kDtypeOf<T>)) {
    constexpr int64_t kPiece = KernelContext::kPiece;
    if (walk.row_numel() <= kPiece)
      return visit(values, walk.row_numel(), int64_t{0});  // counted by reduce_rows
    for (int64_t begin = 0; begin < walk.row_numel(); begin += kPiece) {
      const int64_t count = std::min(kPiece, walk.row_numel() - begin);
      if (context.should_stop(count)) return;
      visit(values + begin, count, begin);
    }
    return;
  }
  alignas(64) T values[kChunk];
  for (int64_t begin = 0; begin < walk.row_numel() && !context.should_stop(kChunk); begin += kChunk) {
    const int64_t count = std::min(kChunk, walk.row_numel() - begin);
    walk.load(*table.conversions, kComputeOf<T>, values, begin, count);
    visit(static_cast<const T*>(values), count, begin);
  }
}

etb_status prepare(KernelContext& context, const Tensor& self, const DimSet& dims, bool keeps_dims,
                   Tensor& out) {
  if (!is_arithmetic(self.dtype()) || !is_arithmetic(out.dtype())) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s", to_text(self.dtype()), to_text(out.dtype()));
  }
  int64_t sizes[kMaxRank];
  const size_t rank = reduced_sizes(self, dims, keeps_dims, sizes);
  return resize_output(context, out, {sizes, rank});
}

// Calls reduce(context, walk, T{}) for every row and stores what it returns.
template <class Reduce>
etb_status reduce_rows(KernelContext& context, const Tensor& self, const DimSet& dims, Dtype computed_as,
                       Tensor& out, Reduce reduce) {
  const VectorTable& table = vector_table(context);
  RowWalk walk(self, dims);
  return with_compute(computed_as, [&](auto type) {
    for (int64_t row = 0; row < walk.row_count(); ++row, walk.advance()) {
      if (context.should_stop(1 + std::min(walk.row_numel(), KernelContext::kPiece)))
        return context.stopped();
      store_result(table, out, row, reduce(context, walk, type));
    }
    return context.stopped();
  });
}

template <class T>
constexpr bool kIsReal = kComputeOf<T> != Compute::kInt64;

struct Sum {
  template <class T>
  auto operator()(KernelContext& context, const RowWalk& walk, T) const {
    double real = 0.0;
    uint64_t integer = 0;
    for_each_dense<T>(context, walk, [&](const T* x, int64_t count, int64_t) {
      if constexpr (kIsReal<T>) {
        real += vector_table(context).rows<T>().sum(x, count);
      } else {
        integer += static_cast<uint64_t>(vector_table(context).rows<T>().integer_sum(x, count));
      }
    });
    if constexpr (kIsReal<T>) {
      return real;
    } else {
      return static_cast<int64_t>(integer);
    }
  }
};

struct Mean {
  template <class T>
  double operator()(KernelContext& context, const RowWalk& walk, T type) const {
    return static_cast<double>(Sum()(context, walk, type)) / static_cast<double>(walk.row_numel());
  }
};

struct Product {
  template <class T>
  auto operator()(KernelContext& context, const RowWalk& walk, T) const {
    using Result = std::conditional_t<kIsReal<T>, double, int64_t>;
    using Factor = std::conditional_t<kIsReal<T>, double, uint64_t>;
    Factor product = 1;
    for_each_dense<T>(context, walk, [&](const T* x, int64_t count, int64_t) {
      for (int64_t i = 0; i < count; ++i) product *= static_cast<Factor>(x[i]);
    });
    return static_cast<Result>(product);
  }
};

struct Any {
  template <class T>
  int64_t operator()(KernelContext& context, const RowWalk& walk, T) const {
    bool any = false;
    for_each_dense<T>(context, walk, [&](const T* x, int64_t count, int64_t) {
      for (int64_t i = 0; i < count && !any; ++i) any = x[i] != 0;
    });
    return any ? 1 : 0;
  }
};

template <bool is_max>
struct Extreme {
  template <class T>
  T operator()(KernelContext& context, const RowWalk& walk, T) const {
    T best{};
    for_each_dense<T>(context, walk, [&](const T* x, int64_t count, int64_t begin) {
      const T one = is_max ? vector_table(context).rows<T>().maximum(x, count)
                           : vector_table(context).rows<T>().minimum(x, count);
      const bool is_better = is_max ? one > best : one < best;
      if (begin == 0 || is_better || one != one) best = best != best ? best : one;
    });
    return best;
  }
};

// The first position of the extreme value; a NaN counts as more extreme than anything.
template <bool is_max>
struct ArgExtreme {
  template <class T>
  int64_t operator()(KernelContext& context, const RowWalk& walk, T) const {
    T best{};
    int64_t position = 0;
    for_each_dense<T>(context, walk, [&](const T* x, int64_t count, int64_t begin) {
      for (int64_t i = 0; i < count; ++i) {
        const bool is_better = is_max ? x[i] > best : x[i] < best;
        if (begin + i == 0 || (best == best && (is_better || x[i] != x[i])))
          best = x[i], position = begin + i;
      }
    });
    return position;
  }
};

// The dtype that a sum is computed as and, when no output says otherwise, stored as.
Dtype sum_dtype(const Tensor& self, std::optional<int64_t> dtype) {
  if (dtype.has_value() && is_known(*dtype)) return static_cast<Dtype>(*dtype);
  return is_floating(self.dtype()) ? self.dtype() : Dtype::INT64;
}

// sum of integers as floats is computed as floats: the wider of the two.
Dtype computing_dtype(const Tensor& self, Dtype result) {
  return is_floating(result) && result == Dtype::FLOAT64     ? Dtype::FLOAT64
         : is_floating(result) && !is_floating(self.dtype()) ? Dtype::FLOAT32
                                                             : promote_any(self.dtype(), result);
}

etb_status sum_out(KernelContext& context, ops::sum_IntList_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  DimSet dims;
  ETB_CHECK(wrap_dims(context, args.dim().value_or(IntList()), self.rank(), &dims));
  ETB_CHECK(prepare(context, self, dims, args.keepdim(), out));
  return reduce_rows(context, self, dims, computing_dtype(self, sum_dtype(self, args.dtype())), out, Sum());
}

etb_status mean(KernelContext& context, const Tensor& self, const DimSet& dims, bool keeps_dims,
                std::optional<int64_t> dtype, Tensor& out) {
  ETB_CHECK(prepare(context, self, dims, keeps_dims, out));
  const Dtype result = dtype.has_value() ? sum_dtype(self, dtype) : out.dtype();
  if (!is_floating(result) || !is_floating(out.dtype())) {
    return context.fail(ETB_INVALID_TYPE, "a mean of %s as %s, expected a float", to_text(self.dtype()),
                        to_text(result));
  }
  return reduce_rows(context, self, dims, computing_dtype(self, result), out, Mean());
}

etb_status mean_out(KernelContext& context, ops::mean_out<KernelArguments> args) {
  DimSet dims;
  ETB_CHECK(wrap_dims(context, args.dim().value_or(IntList()), args.self().rank(), &dims));
  return mean(context, args.self(), dims, args.keepdim(), args.dtype(), args.out());
}

etb_status mean_dtype_out(KernelContext& context, ops::mean_dtype_out<KernelArguments> args) {
  return mean(context, args.self(), all_dims(args.self()), false, args.dtype(), args.out());
}

etb_status one_dim(KernelContext& context, int64_t dim, const Tensor& self, DimSet* out_dims) {
  int wrapped = 0;
  ETB_CHECK(wrap_dim(context, dim, self.rank(), &wrapped));
  out_dims->reset();
  if (self.rank() > 0) out_dims->set(static_cast<size_t>(wrapped));
  return ETB_OK;
}

etb_status product(KernelContext& context, const Tensor& self, const DimSet& dims, bool keeps_dims,
                   std::optional<int64_t> dtype, Tensor& out) {
  ETB_CHECK(prepare(context, self, dims, keeps_dims, out));
  return reduce_rows(context, self, dims, computing_dtype(self, sum_dtype(self, dtype)), out, Product());
}

etb_status prod_out(KernelContext& context, ops::prod_out<KernelArguments> args) {
  return product(context, args.self(), all_dims(args.self()), false, args.dtype(), args.out());
}

etb_status prod_int_out(KernelContext& context, ops::prod_int_out<KernelArguments> args) {
  DimSet dims;
  ETB_CHECK(one_dim(context, args.dim(), args.self(), &dims));
  return product(context, args.self(), dims, args.keepdim(), args.dtype(), args.out());
}

etb_status any(KernelContext& context, const Tensor& self, const DimSet& dims, bool keeps_dims, Tensor& out) {
  ETB_CHECK(prepare(context, self, dims, keeps_dims, out));
  return reduce_rows(context, self, dims, self.dtype(), out, Any());
}

etb_status any_all_out(KernelContext& context, ops::any_all_out<KernelArguments> args) {
  return any(context, args.self(), all_dims(args.self()), false, args.out());
}

etb_status any_out(KernelContext& context, ops::any_out<KernelArguments> args) {
  DimSet dims;
  ETB_CHECK(one_dim(context, args.dim(), args.self(), &dims));
  return any(context, args.self(), dims, args.keepdim(), args.out());
}

// any(self, dims, keepdim, out): an empty list means no dim.
etb_status any_dims_out(KernelContext& context, ops::any_dims_out<KernelArguments> args) {
  DimSet dims;
  if (!args.dim().has_value() || !args.dim()->empty()) {
    ETB_CHECK(wrap_dims(context, args.dim().value_or(IntList()), args.self().rank(), &dims));
  }
  return any(context, args.self(), dims, args.keepdim(), args.out());
}

etb_status expect_elements(KernelContext& context, const Tensor& self, const DimSet& dims,
                           const Tensor& out) {
  if (out.numel() == 0 || RowWalk(self, dims).row_numel() > 0) return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "%s has no elements to choose from",
                      SizesText(self.sizes()).text);
}

template <bool is_max>
etb_status extreme(KernelContext& context, const Tensor& self, const DimSet& dims, bool keeps_dims,
                   Tensor& out) {
  ETB_CHECK(prepare(context, self, dims, keeps_dims, out));
  ETB_CHECK(expect_elements(context, self, dims, out));
  return reduce_rows(context, self, dims, self.dtype(), out, Extreme<is_max>());
}

template <bool is_max>
etb_status aextreme_out(KernelContext& context, ops::amax_out<KernelArguments> args) {
  DimSet dims;
  ETB_CHECK(wrap_dims(context, args.dim(), args.self().rank(), &dims));
  return extreme<is_max>(context, args.self(), dims, args.keepdim(), args.out());
}

template <bool is_max>
etb_status extreme_unary_out(KernelContext& context, ops::max_unary_out<KernelArguments> args) {
  return extreme<is_max>(context, args.self(), all_dims(args.self()), false, args.out());
}

template <bool is_max>
etb_status argument(KernelContext& context, const Tensor& self, const DimSet& dims, bool keeps_dims,
                    Tensor& out) {
  ETB_CHECK(prepare(context, self, dims, keeps_dims, out));
  ETB_CHECK(expect_elements(context, self, dims, out));
  return reduce_rows(context, self, dims, self.dtype(), out, ArgExtreme<is_max>());
}

template <bool is_max>
etb_status argument_out(KernelContext& context, ops::argmax_out<KernelArguments> args) {
  const Tensor& self = args.self();
  DimSet dims = all_dims(self);
  if (args.dim().has_value()) {
    ETB_CHECK(one_dim(context, *args.dim(), self, &dims));
  }
  return argument<is_max>(context, self, dims, args.keepdim(), args.out());
}

template <bool is_max>
etb_status extreme_dim(KernelContext& context, const Tensor& self, int64_t dim, bool keeps_dims,
                       Tensor& values, Tensor& indices) {
  DimSet dims;
  ETB_CHECK(one_dim(context, dim, self, &dims));
  ETB_CHECK(extreme<is_max>(context, self, dims, keeps_dims, values));
  return argument<is_max>(context, self, dims, keeps_dims, indices);
}

etb_status max_dim_out(KernelContext& context, ops::max_dim_max<KernelArguments> args) {
  return extreme_dim<true>(context, args.self(), args.dim(), args.keepdim(), args.max(), args.max_values());
}

etb_status min_dim_out(KernelContext& context, ops::min_dim_min<KernelArguments> args) {
  return extreme_dim<false>(context, args.self(), args.dim(), args.keepdim(), args.min(), args.min_indices());
}

struct Variance {
  double correction;
  template <class T>
  double operator()(KernelContext& context, const RowWalk& walk, T type) const {
    const double mean = Mean()(context, walk, type);
    double sum = 0.0;
    for_each_dense<T>(context, walk, [&](const T* x, int64_t count, int64_t) {
      sum += vector_table(context).rows<T>().squared_deviations(x, count, mean);
    });
    const double divisor = static_cast<double>(walk.row_numel()) - correction;
    return sum / (divisor > 0.0 ? divisor : 0.0);
  }
};

etb_status variance(KernelContext& context, const Tensor& self, IntList dim, double correction,
                    bool keeps_dims, Tensor& out, Tensor* mean_out) {
  DimSet dims;
  ETB_CHECK(wrap_dims(context, dim, self.rank(), &dims));
  ETB_CHECK(prepare(context, self, dims, keeps_dims, out));
  if (!is_floating(self.dtype()) || !is_floating(out.dtype())) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s, expected floats", to_text(self.dtype()),
                        to_text(out.dtype()));
  }
  ETB_CHECK(reduce_rows(context, self, dims, self.dtype(), out, Variance{correction}));
  if (mean_out == nullptr) return ETB_OK;
  ETB_CHECK(prepare(context, self, dims, keeps_dims, *mean_out));
  if (!is_floating(mean_out->dtype()))
    return context.fail(ETB_INVALID_TYPE, "the mean is %s, expected a float", to_text(mean_out->dtype()));
  return reduce_rows(context, self, dims, self.dtype(), *mean_out, Mean());
}

etb_status var_out(KernelContext& context, ops::var_out<KernelArguments> args) {
  return variance(context, args.self(), args.dim().value_or(IntList()), args.unbiased() ? 1.0 : 0.0,
                  args.keepdim(), args.out(), nullptr);
}

double correction_of(const EValue* value) { return value == nullptr ? 1.0 : value->to_double(); }

etb_status var_correction_out(KernelContext& context, ops::var_correction_out<KernelArguments> args) {
  return variance(context, args.self(), args.dim().value_or(IntList()), correction_of(args.correction()),
                  args.keepdim(), args.out(), nullptr);
}

etb_status var_mean_out(KernelContext& context, ops::var_mean_correction_out<KernelArguments> args) {
  return variance(context, args.self(), args.dim().value_or(IntList()), correction_of(args.correction()),
                  args.keepdim(), args.out0(), &args.out1());
}

constexpr Kernel kRows[] = {
    kernel_row<ops::sum_IntList_out, sum_out>(),
    kernel_row<ops::mean_out, mean_out>(),
    kernel_row<ops::mean_dtype_out, mean_dtype_out>(),
    kernel_row<ops::prod_out, prod_out>(),
    kernel_row<ops::prod_int_out, prod_int_out>(),
    kernel_row<ops::any_all_out, any_all_out>(),
    kernel_row<ops::any_out, any_out>(),
    kernel_row<ops::any_dims_out, any_dims_out>(),
    kernel_row<ops::amax_out, aextreme_out<true>>(),
    kernel_row<ops::amin_out, aextreme_out<false>>(),
    kernel_row<ops::max_unary_out, extreme_unary_out<true>>(),
    kernel_row<ops::min_unary_out, extreme_unary_out<false>>(),
    kernel_row<ops::max_dim_max, max_dim_out>(),
    kernel_row<ops::min_dim_min, min_dim_out>(),
    kernel_row<ops::argmax_out, argument_out<true>>(),
    kernel_row<ops::argmin_out, argument_out<false>>(),
    kernel_row<ops::var_out, var_out>(),
    kernel_row<ops::var_correction_out, var_correction_out>(),
    kernel_row<ops::var_mean_correction_out, var_mean_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(reduce, kRows);

}  // namespace etb::host
