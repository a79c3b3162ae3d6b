// SPDX-License-Identifier: Apache-2.0
// aten::avg_pool2d/3d and max_pool2d/3d_with_indices. Two spatial dims are treated as three.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/window.hpp"
#include "etb/cpp/fail.hpp"
#include "host/kernels/kernel.hpp"
#include "host/kernels/pool_sizes.hpp"
#include "ops/avg_pool2d.hpp"
#include "ops/avg_pool3d.hpp"
#include "ops/max_pool2d_with_indices.hpp"
#include "ops/max_pool3d_with_indices.hpp"

namespace etb::host {
namespace {

struct Window : PoolSizes {
  using PoolSizes::PoolSizes;
  int64_t kernel[3]{1, 1, 1}, stride[3]{1, 1, 1}, padding[3]{}, dilation[3]{1, 1, 1};

  etb_status read(KernelContext& context, const Tensor& self, const IntList& kernels, const IntList& strides,
                  const IntList& paddings, const IntList* dilations, bool ceil_mode) {
    ETB_CHECK(expect_rank(context, self));
    read_input(self);
    for (int own = 0; own < spatial_rank; ++own) {
      const int dim = entry(own);
      const bool fits = read_item(kernels, own, &kernel[dim]) &&
                        read_item(strides.empty() ? kernels : strides, own, &stride[dim]) &&
                        read_item(paddings, own, &padding[dim]) &&
                        (dilations == nullptr || read_item(*dilations, own, &dilation[dim]));
      if (!fits || !is_in_range(dim)) {
        return context.fail(ETB_INVALID_ARGUMENT,
                            "kernel, stride, padding or dilation of spatial dim %d is out of range", own);
      }
      ops::Numbers sizes;
      const ops::WindowError error = ops::count_positions(
          sizes, in[dim], {kernel[dim], stride[dim], dilation[dim], padding[dim], padding[dim]},
          ceil_mode ? ops::WindowRounding::kUp : ops::WindowRounding::kDown, &out[dim]);
      if (error != ops::WindowError::kNone) {
        return context.fail(ETB_INVALID_ARGUMENT, "a window of %lld does not fit into %lld",
                            static_cast<long long>(kernel[dim]), static_cast<long long>(in[dim]));
      }
    }
    return ETB_OK;
  }

  static bool read_item(const IntList& list, int dim, int64_t* out_value) {
    const auto item = ops::item_of(list, static_cast<size_t>(dim));
    *out_value = item.value_or(0);
    return item.has_value();
  }

  bool is_in_range(int dim) const {
    constexpr int64_t kLargest = int64_t{1} << 31;  // so that no product overflows
    return kernel[dim] >= 1 && stride[dim] >= 1 && dilation[dim] >= 1 && padding[dim] >= 0 &&
           padding[dim] <= kernel[dim] / 2 && kernel[dim] < kLargest && stride[dim] < kLargest &&
           dilation[dim] < kLargest && in[dim] < kLargest;
  }
};

// The part of a window along one dim that is within the input: positions first, first + dilation, ... below end.
struct Range {
  int64_t first, end;
};
Range clip(const Window& window, int dim, int64_t index) {
  int64_t first = index * window.stride[dim] - window.padding[dim];
  const int64_t end = std::min(first + window.dilation[dim] * (window.kernel[dim] - 1) + 1, window.in[dim]);
  if (first < 0) first += (-first + window.dilation[dim] - 1) / window.dilation[dim] * window.dilation[dim];
  return {first, end};
}

// Calls pool(x, y) for every plane, converted to T; `second` is one more output of the planes' sizes, of int64, or null.
template <class T, class Pool>
etb_status for_each_plane(KernelContext& context, const Window& window, const Tensor& self, Tensor& out,
                          Tensor* second, Pool pool) {
  const VectorTable& table = vector_table(context);
  const DimSet dims = spatial_dims(self, window.spatial_rank);
  RowWalk from(self, dims), to(out, dims), to_second(second != nullptr ? *second : out, dims);
  T* x = context.allocate_array<T>(window.in_numel());
  T* y = context.allocate_array<T>(window.out_numel());
  int64_t* indices = context.allocate_array<int64_t>(second != nullptr ? window.out_numel() : 0);
  if (x == nullptr || y == nullptr || indices == nullptr) {
    return context.fail_scratch(static_cast<uint64_t>(window.in_numel() + 2 * window.out_numel()) * 8);
  }
  for (int64_t plane = 0; plane < to.row_count(); ++plane) {
    from.load(context, *table.conversions, kComputeOf<T>, x, window.in_numel());
    pool(x, y, indices);
    // A pool that was stopped has left values out.
    if (context.should_stop(1)) return context.stopped();
    to.store(context, *table.conversions, kComputeOf<T>, y, window.out_numel());
    if (second != nullptr)
      to_second.store(context, *table.conversions, Compute::kInt64, indices, window.out_numel());
    from.advance();
    to.advance();
    to_second.advance();
  }
  return ETB_OK;
}

// The outputs of a row whose windows have position `offset` (in elements, along the row) inside the input.
Range outputs_inside(const Window& window, int64_t offset) {
  const int64_t first = window.padding[2] - offset, last = window.in[2] - 1 + window.padding[2] - offset,
                step = window.stride[2];
  const int64_t begin = first <= 0 ? 0 : (first + step - 1) / step;
  return {begin, last < 0 ? begin : std::max(begin, std::min(window.out[2], last / step + 1))};
}

// The start value of a maximum, and its result where a dilated window contains no element.
template <class T>
T lowest() {
  if constexpr (static_cast<T>(0.5) != T(0)) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}

// One output at a time, for windows wider than the input: what a file claims about a window must not decide how long this takes.
template <class T>
void max_pool_row(KernelContext& context, const Window& window, const T* x, T* y, int64_t* indices,
                  const Range& depths, const Range& rows) {
  for (int64_t c = 0; c < window.out[2]; ++c) {
    const Range columns = clip(window, 2, c);
    for (int64_t i = depths.first; i < depths.end; i += window.dilation[0]) {
      for (int64_t j = rows.first; j < rows.end; j += window.dilation[1]) {
        if (context.should_stop(1 + std::max<int64_t>(0, columns.end - columns.first) / window.dilation[2]))
          return;
        for (int64_t k = columns.first; k < columns.end; k += window.dilation[2]) {
          const int64_t position = (i * window.in[1] + j) * window.in[2] + k;
          const bool is_better = (x[position] > y[c]) | (x[position] != x[position]);
          if (is_better) y[c] = x[position], indices[c] = position;
        }
      }
    }
  }
}

// A row of outputs at a time, one window position after the other, so that the inner loop has no branch.
template <class T>
void max_pool_plane(KernelContext& context, const Window& window, const T* x, T* y, int64_t* indices) {
  for (int64_t d = 0; d < window.out[0]; ++d) {
    const Range depths = clip(window, 0, d);
    for (int64_t r = 0; r < window.out[1]; ++r, y += window.out[2], indices += window.out[2]) {
      const Range rows = clip(window, 1, r);
      if (context.should_stop(window.out[2])) return;
      for (int64_t c = 0; c < window.out[2]; ++c) {
        const Range columns = clip(window, 2, c);
        const bool holds_something =
            depths.first < depths.end && rows.first < rows.end && columns.first < columns.end;
        indices[c] = (depths.first * window.in[1] + rows.first) * window.in[2] + columns.first;
        y[c] = holds_something ? x[indices[c]] : lowest<T>();
      }
      if (window.kernel[2] > window.in[2]) {
        max_pool_row(context, window, x, y, indices, depths, rows);
        continue;
      }
      for (int64_t i = depths.first; i < depths.end; i += window.dilation[0]) {
        for (int64_t j = rows.first; j < rows.end; j += window.dilation[1]) {
          const int64_t row = (i * window.in[1] + j) * window.in[2];
          for (int64_t k = 0; k < window.kernel[2]; ++k) {
            if (context.should_stop(window.out[2])) return;
            const int64_t offset = k * window.dilation[2];
            const Range outputs = outputs_inside(window, offset);
            for (int64_t c = outputs.first; c < outputs.end; ++c) {
              const int64_t position = row + c * window.stride[2] + offset - window.padding[2];
              const T value = x[position];
              const bool is_better = (value > y[c]) | (value != value);
              y[c] = is_better ? value : y[c];
              indices[c] = is_better ? position : indices[c];
            }
          }
        }
      }
    }
  }
}

template <int rank>
etb_status max_pool_out(KernelContext& context, ops::max_pool2d_with_indices_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor &out = args.out(), &indices = args.indices();
  Window window(rank);
  const IntList dilations = args.dilation();
  ETB_CHECK(window.read(context, self, args.kernel_size(), args.stride(), args.padding(), &dilations,
                        args.ceil_mode()));
  if (out.dtype() != self.dtype() || indices.dtype() != Dtype::INT64 || !is_arithmetic(self.dtype())) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s with indices %s", to_text(self.dtype()),
                        to_text(out.dtype()), to_text(indices.dtype()));
  }
  ETB_CHECK(window.resize(context, self, out));
  ETB_CHECK(window.resize(context, self, indices));
  if (out.numel() == 0) return ETB_OK;
  return with_compute(self.dtype(), [&](auto type) {
    using T = decltype(type);
    return for_each_plane<T>(context, window, self, out, &indices,
                             [&](const T* x, T* y, int64_t* z) { max_pool_plane(context, window, x, y, z); });
  });
}

// Where windows are averaged: the divisor counts padding or not, or is given.
struct Divisor {
  bool counts_padding;
  int64_t given;  // 0 when not

  int64_t value(const Window& window, const int64_t (&index)[3], int64_t inside_count) const {
    if (given != 0) return given;
    if (!counts_padding) return inside_count;
    int64_t count = 1;
    for (int dim = 0; dim < 3; ++dim) {
      const int64_t first = index[dim] * window.stride[dim] - window.padding[dim];
      const int64_t extent =
          std::min(first + window.kernel[dim], window.in[dim] + window.padding[dim]) - first;
      if (__builtin_mul_overflow(count, extent, &count)) return std::numeric_limits<int64_t>::max();
    }
    return count;
  }
};

// Integers wrap, as they do in PyTorch.
template <class T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
template <class T>
T divide(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == -1) return static_cast<T>(-static_cast<uint64_t>(a));
  }
  return a / b;
}

// One row of outputs. Small windows are counted by the caller; a large one, however a file describes it, asks row by row.
template <bool is_large, class T>
void avg_pool_row(KernelContext& context, const Window& window, const Divisor& divisor, const T* x, T* y,
                  int64_t depth, int64_t row) {
  const Range depths = clip(window, 0, depth), rows = clip(window, 1, row);
  int64_t index[3] = {depth, row, 0};
  for (; index[2] < window.out[2]; ++index[2]) {
    const Range columns = clip(window, 2, index[2]);
    T sum = 0;
    for (int64_t i = depths.first; i < depths.end; ++i) {
      for (int64_t j = rows.first; j < rows.end; ++j) {
        if constexpr (is_large) {
          if (context.should_stop(1 + std::max<int64_t>(0, columns.end - columns.first))) return;
        }
        const T* values = x + (i * window.in[1] + j) * window.in[2];
        for (int64_t k = columns.first; k < columns.end; ++k) sum = add(sum, values[k]);
      }
    }
    const int64_t inside =
        (depths.end - depths.first) * (rows.end - rows.first) * (columns.end - columns.first);
    y[index[2]] = inside <= 0 ? T(0) : divide(sum, static_cast<T>(divisor.value(window, index, inside)));
  }
}

template <class T>
void avg_pool_plane(KernelContext& context, const Window& window, const Divisor& divisor, const T* x, T* y) {
  int64_t window_numel = 1;
  for (int dim = 0; dim < 3; ++dim) window_numel *= std::min(window.kernel[dim], window.in[dim]);
  const bool is_large = window_numel > 64;
  for (int64_t depth = 0; depth < window.out[0]; ++depth) {
    for (int64_t row = 0; row < window.out[1]; ++row, y += window.out[2]) {
      if (context.should_stop(1 + window.out[2] * (is_large ? 1 : window_numel))) return;
      is_large ? avg_pool_row<true>(context, window, divisor, x, y, depth, row)
               : avg_pool_row<false>(context, window, divisor, x, y, depth, row);
    }
  }
}

template <int rank>
etb_status avg_pool_out(KernelContext& context, ops::avg_pool2d_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  Window window(rank);
  ETB_CHECK(window.read(context, self, args.kernel_size(), args.stride(), args.padding(), nullptr,
                        args.ceil_mode()));
  const Divisor divisor = {args.count_include_pad(), args.divisor_override().value_or(0)};
  if (args.divisor_override().has_value() && divisor.given == 0)
    return context.fail(ETB_INVALID_ARGUMENT, "the divisor is 0");
  if (out.dtype() != self.dtype() || !is_arithmetic(self.dtype())) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s", to_text(self.dtype()), to_text(out.dtype()));
  }
  ETB_CHECK(window.resize(context, self, out));
  if (out.numel() == 0) return ETB_OK;
  return with_compute(self.dtype(), [&](auto type) {
    using T = decltype(type);
    return for_each_plane<T>(context, window, self, out, nullptr, [&](const T* x, T* y, int64_t*) {
      avg_pool_plane(context, window, divisor, x, y);
    });
  });
}

constexpr Kernel kRows[] = {
    kernel_row<ops::max_pool2d_with_indices_out, max_pool_out<2>>(),
    kernel_row<ops::max_pool3d_with_indices_out, max_pool_out<3>>(),
    kernel_row<ops::avg_pool2d_out, avg_pool_out<2>>(),
    kernel_row<ops::avg_pool3d_out, avg_pool_out<3>>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(pool, kRows);

}  // namespace etb::host
