// SPDX-License-Identifier: Apache-2.0
// aten::_adaptive_avg_pool2d/3d and adaptive_max_pool2d/3d. Two spatial dims are treated as three.
#include <algorithm>

#include "etb/cpp/fail.hpp"
#include "host/kernels/adaptive_ranges.hpp"
#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "host/kernels/pool_sizes.hpp"
#include "ops/_adaptive_avg_pool2d.hpp"
#include "ops/_adaptive_avg_pool3d.hpp"
#include "ops/adaptive_max_pool2d.hpp"
#include "ops/adaptive_max_pool3d.hpp"

namespace etb::host {
namespace {

struct Geometry : PoolSizes {
  using PoolSizes::PoolSizes;

  etb_status read(KernelContext& context, const Tensor& self, const IntList& wanted) {
    constexpr int64_t kLargest = int64_t{1} << 31;  // so that no product overflows
    if (!accepts(self) || wanted.size() != static_cast<size_t>(spatial_rank)) {
      return context.fail(ETB_INVALID_ARGUMENT, "%zu output sizes for rank %d", wanted.size(), self.rank());
    }
    read_input(self);
    for (int own = 0; own < spatial_rank; ++own) {
      const int dim = entry(own);
      out[dim] = wanted[static_cast<size_t>(own)];
      if (out[dim] < 0 || in[dim] < 1 || out[dim] >= kLargest || in[dim] >= kLargest) {
        return context.fail(ETB_INVALID_ARGUMENT, "%s into size %lld", SizesText(self.sizes()).text,
                            static_cast<long long>(out[dim]));
      }
    }
    return ETB_OK;
  }
};

struct Box {
  int64_t first[3], end[3];

  Box(const Geometry& g, const int64_t (&index)[3]) {
    for (int dim = 0; dim < 3; ++dim) {
      first[dim] = adaptive_first(index[dim], g.in[dim], g.out[dim]);
      end[dim] = adaptive_end(index[dim], g.in[dim], g.out[dim]);
    }
  }
  int64_t numel() const { return (end[0] - first[0]) * (end[1] - first[1]) * (end[2] - first[2]); }
};

// Calls visit(first position, count) for the dense runs of a box, until the run has to stop. Full rows of a plane are one run.
template <class Visit>
void for_each_run(KernelContext& context, const Geometry& g, const Box& box, Visit visit) {
  const int64_t width = box.end[2] - box.first[2];
  const bool has_full_rows = width == g.in[2];
  const int64_t step = has_full_rows ? box.end[1] - box.first[1] : 1;
  for (int64_t i = box.first[0]; i < box.end[0]; ++i) {
    for (int64_t j = box.first[1]; j < box.end[1]; j += step) {
      const int64_t begin = (i * g.in[1] + j) * g.in[2] + box.first[2], count = step * width;
      for (int64_t done = 0; done < count; done += KernelContext::kPiece) {
        const int64_t length = std::min(count - done, KernelContext::kPiece);
        if (context.should_stop(1 + length)) return;
        visit(begin + done, length);
      }
    }
  }
}

template <class T>
T mean_of(KernelContext& context, const Geometry& g, const Box& box, const T* x) {
  constexpr int64_t kShort = 16;
  const auto sum_of_run = vector_table(context).rows<T>().sum;
  double sum = 0;
  for_each_run(context, g, box, [&](int64_t begin, int64_t count) {
    if (count > kShort) {
      sum += sum_of_run(x + begin, count);
      return;
    }
    for (int64_t k = begin; k < begin + count; ++k) sum += static_cast<double>(x[k]);
  });
  return static_cast<T>(sum / static_cast<double>(box.numel()));
}

// The largest element and its position. A NaN is larger than all numbers, and a later one than an earlier one.
template <class T>
T maximum_of(KernelContext& context, const Geometry& g, const Box& box, const T* x, int64_t* out_position) {
  int64_t best = (box.first[0] * g.in[1] + box.first[1]) * g.in[2] + box.first[2];
  T largest = x[best];
  for_each_run(context, g, box, [&](int64_t begin, int64_t count) {
    for (int64_t k = begin; k < begin + count; ++k) {
      const T value = x[k];
      if (value <= largest) continue;  // true for most, and false beside a NaN
      if (value > largest || value != value) largest = value, best = k;
    }
  });
  *out_position = best;
  return largest;
}

// Computes y[i] = pool(box, x, &indices[i]) for all outputs of all planes; `indices` may be null.
template <class T, class Pool>
etb_status pool_planes(KernelContext& context, const Geometry& g, const Tensor& self, Tensor& out,
                       Tensor* indices, Pool pool) {
  const ConvertLoops& loops = *vector_table(context).conversions;
  const DimSet dims = spatial_dims(self, g.spatial_rank);
  RowWalk from(self, dims), to(out, dims), to_indices(indices != nullptr ? *indices : out, dims);
  const bool is_dense = self.dtype() == kDtypeOf<T> && from.template dense<T>(kDtypeOf<T>) != nullptr;
  T* copied = context.allocate_array<T>(is_dense ? 0 : g.in_numel());
  T* y = context.allocate_array<T>(g.out_numel());
  int64_t* places = context.allocate_array<int64_t>(g.out_numel());
  if (copied == nullptr || y == nullptr || places == nullptr)
    return context.fail_scratch(static_cast<uint64_t>(g.in_numel() + 2 * g.out_numel()) * 8);
  for (int64_t plane = 0; plane < to.row_count(); ++plane) {
    if (!is_dense) from.load(context, loops, kComputeOf<T>, copied, g.in_numel());
    const T* x = is_dense ? from.template dense<T>(kDtypeOf<T>) : copied;
    int64_t at = 0, index[3];
    for (index[0] = 0; index[0] < g.out[0]; ++index[0]) {
      for (index[1] = 0; index[1] < g.out[1]; ++index[1]) {
        for (index[2] = 0; index[2] < g.out[2]; ++index[2], ++at) {
          if (context.should_stop(1)) return context.stopped();
          y[at] = pool(Box(g, index), x, &places[at]);
        }
      }
    }
    to.store(context, loops, kComputeOf<T>, y, g.out_numel());
    if (indices != nullptr) to_indices.store(context, loops, Compute::kInt64, places, g.out_numel());
    from.advance();
    to.advance();
    to_indices.advance();
  }
  return context.stopped();
}

etb_status expect_float(KernelContext& context, const Tensor& self) {
  if (is_floating(self.dtype())) return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "the input is %s, expected a float", to_text(self.dtype()));
}

// Calls f(T{}) with the computing type of a float dtype.
template <class F>
etb_status with_real(Dtype dtype, F f) {
  return is_float64(dtype) ? f(0.0) : f(0.0F);
}

template <int rank>
etb_status average_out(KernelContext& context, ops::_adaptive_avg_pool2d_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  Geometry g{rank};
  ETB_CHECK(g.read(context, self, args.output_size()));
  ETB_CHECK(expect_float(context, self));
  ETB_CHECK(expect_same_dtype(context, self, out));
  ETB_CHECK(g.resize(context, self, out));
  if (out.numel() == 0) return ETB_OK;
  return with_real(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return pool_planes<T>(context, g, self, out, nullptr,
                          [&](const Box& box, const T* x, int64_t*) { return mean_of(context, g, box, x); });
  });
}

template <int rank>
etb_status maximum_out(KernelContext& context, ops::adaptive_max_pool2d_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor &out = args.out(), &indices = args.indices();
  Geometry g{rank};
  ETB_CHECK(g.read(context, self, args.output_size()));
  ETB_CHECK(expect_float(context, self));
  ETB_CHECK(expect_same_dtype(context, self, out));
  if (indices.dtype() != Dtype::INT64)
    return context.fail(ETB_INVALID_TYPE, "indices are %s, expected int64", to_text(indices.dtype()));
  ETB_CHECK(g.resize(context, self, out));
  ETB_CHECK(g.resize(context, self, indices));
  if (out.numel() == 0) return ETB_OK;
  return with_real(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return pool_planes<T>(context, g, self, out, &indices, [&](const Box& box, const T* x, int64_t* place) {
      return maximum_of(context, g, box, x, place);
    });
  });
}

constexpr Kernel kRows[] = {
    kernel_row<ops::_adaptive_avg_pool2d_out, average_out<2>>(),
    kernel_row<ops::_adaptive_avg_pool3d_out, average_out<3>>(),
    kernel_row<ops::adaptive_max_pool2d_out, maximum_out<2>>(),
    kernel_row<ops::adaptive_max_pool3d_out, maximum_out<3>>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(adaptive_pool, kRows);

}  // namespace etb::host
