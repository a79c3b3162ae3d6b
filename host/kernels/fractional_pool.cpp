// SPDX-License-Identifier: Apache-2.0
// aten::fractional_max_pool2d and 3d: maxima of windows at steps that are not whole numbers (Graham, "Fractional max-pooling",
// 2014). Two spatial dims are treated as three.
#include <algorithm>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/window.hpp"
#include "host/kernels/kernel.hpp"
#include "host/kernels/pool_sizes.hpp"
#include "host/runtime/float16.hpp"
#include "ops/fractional_max_pool2d.hpp"
#include "ops/fractional_max_pool3d.hpp"

namespace etb::host {
namespace {

struct Geometry : PoolSizes {
  using PoolSizes::PoolSizes;
  int64_t kernel[3]{1, 1, 1};

  etb_status read(KernelContext& context, const Tensor& self, const IntList& kernels,
                  const IntList& outputs) {
    ETB_CHECK(expect_rank(context, self));
    read_input(self);
    for (int own = 0; own < spatial_rank; ++own) {
      const int dim = entry(own);
      const auto window = ops::item_of(kernels, static_cast<size_t>(own));
      const auto count = ops::item_of(outputs, static_cast<size_t>(own));
      kernel[dim] = window.value_or(0);
      out[dim] = count.value_or(0);
      // Windows overlap or touch, so that there are at most as many as positions.
      if (kernel[dim] < 1 || kernel[dim] > in[dim] || out[dim] < 1 || out[dim] > in[dim] - kernel[dim] + 1)
        return context.fail(
            ETB_INVALID_ARGUMENT,
            "%lld windows of %lld in %lld elements, expected at least one, and one start for each",
            static_cast<long long>(out[dim]), static_cast<long long>(kernel[dim]),
            static_cast<long long>(in[dim]));
    }
    return ETB_OK;
  }
};

// Rounds to the dtype in which PyTorch computes the starts.
template <class T>
T rounded(Dtype dtype, T value) {
  if (dtype == Dtype::FLOAT16) return static_cast<T>(to_float(to_half(static_cast<float>(value))));
  if (dtype == Dtype::BFLOAT16) return static_cast<T>(to_float(to_bfloat16(static_cast<float>(value))));
  return value;
}

// The first elements of the windows: trunc((i + sample) * step) - trunc(sample * step), and the last window at the end.
template <class T>
void find_starts(Dtype dtype, T sample, int64_t in, int64_t count, int64_t kernel, int64_t* starts) {
  const int64_t last = in - kernel;
  // Samples are data: the cast of a large number would be undefined.
  const auto whole = [](T value) {
    return value == value ? static_cast<int64_t>(std::clamp(value, T(-1e9), T(1e9))) : int64_t{0};
  };
  const T step =
      count > 1
          ? rounded(dtype, rounded(dtype, static_cast<T>(last)) / rounded(dtype, static_cast<T>(count - 1)))
          : T(0);
  const int64_t first = whole(rounded(dtype, sample * step));
  for (int64_t i = 0; i + 1 < count; ++i) {
    const T at = rounded(dtype, rounded(dtype, rounded(dtype, static_cast<T>(i)) + sample) * step);
    starts[i] = std::clamp<int64_t>(whole(at) - first, 0, last);
  }
  starts[count - 1] = last;
}

// The maximum of one window; a NaN is larger than all numbers.
template <class T>
void pool_window(const Geometry& g, const T* x, const int64_t (&start)[3], T* out, int64_t* out_index) {
  int64_t best = (start[0] * g.in[1] + start[1]) * g.in[2] + start[2];
  T largest = x[best];
  for (int64_t i = start[0]; i < start[0] + g.kernel[0]; ++i) {
    for (int64_t j = start[1]; j < start[1] + g.kernel[1]; ++j) {
      const int64_t row = (i * g.in[1] + j) * g.in[2];
      for (int64_t k = start[2]; k < start[2] + g.kernel[2]; ++k) {
        const bool is_better = (x[row + k] > largest) | (x[row + k] != x[row + k]);
        best = is_better ? row + k : best;
        largest = is_better ? x[row + k] : largest;
      }
    }
  }
  *out = largest;
  *out_index = best;
}

template <class T>
etb_status pool_plane(KernelContext& context, const Geometry& g, const T* x,
                      const int64_t* const (&starts)[3], T* y, int64_t* indices) {
  for (int64_t i = 0; i < g.out[0]; ++i) {
    for (int64_t j = 0; j < g.out[1]; ++j) {
      for (int64_t k = 0; k < g.out[2]; ++k) {
        if (context.should_stop(g.kernel[0] * g.kernel[1] * g.kernel[2])) return context.stopped();
        pool_window(g, x, {starts[0][i], starts[1][j], starts[2][k]}, y++, indices++);
      }
    }
  }
  return ETB_OK;
}

// Scratch of one plane.
template <class T>
struct Planes {
  T *x, *y, *samples;
  int64_t *indices, *starts[3];

  etb_status allocate(KernelContext& context, const Geometry& g) {
    x = context.allocate_array<T>(g.in_numel());
    y = context.allocate_array<T>(g.out_numel());
    samples = context.allocate_array<T>(g.spatial_rank);
    indices = context.allocate_array<int64_t>(g.out_numel());
    bool is_full = x == nullptr || y == nullptr || samples == nullptr || indices == nullptr;
    for (int dim = 0; dim < 3; ++dim) {
      starts[dim] = context.allocate_array<int64_t>(g.out[dim]);
      is_full |= starts[dim] == nullptr;
    }
    return is_full ? context.fail_scratch(static_cast<uint64_t>(g.in_numel() + 3 * g.out_numel()) * 8)
                   : ETB_OK;
  }
};

// The dims of a plane, or of what belongs to it: the last `count`.
DimSet last_dims(const Tensor& tensor, int count) {
  DimSet dims;
  for (int dim = tensor.rank() - count; dim < tensor.rank(); ++dim) dims.set(static_cast<size_t>(dim));
  return dims;
}

template <class T>
etb_status pool_all(KernelContext& context, const Geometry& g, const Tensor& self, const Tensor& samples,
                    Tensor& out, Tensor& indices) {
  const ConvertLoops& loops = *vector_table(context).conversions;
  RowWalk from(self, last_dims(self, g.spatial_rank)), to(out, last_dims(out, g.spatial_rank)),
      places(indices, last_dims(indices, g.spatial_rank)), draws(samples, last_dims(samples, 1));
  Planes<T> plane;
  ETB_CHECK(plane.allocate(context, g));
  for (int64_t i = 0; i < from.row_count(); ++i) {
    from.load(context, loops, kComputeOf<T>, plane.x, g.in_numel());
    draws.load(context, loops, kComputeOf<T>, plane.samples, g.spatial_rank);
    ETB_CHECK(context.stopped());
    // The samples of two dims are in the order width, height; those of three in the order of the dims.
    for (int dim = 0; dim < 3; ++dim) {
      const int own = dim - (3 - g.spatial_rank);
      const T sample = own < 0 ? T(0) : plane.samples[g.spatial_rank == 2 ? 1 - own : own];
      find_starts(self.dtype(), sample, g.in[dim], g.out[dim], g.kernel[dim], plane.starts[dim]);
    }
    ETB_CHECK(pool_plane(context, g, plane.x, {plane.starts[0], plane.starts[1], plane.starts[2]}, plane.y,
                         plane.indices));
    to.store(context, loops, kComputeOf<T>, plane.y, g.out_numel());
    places.store(context, loops, Compute::kInt64, plane.indices, g.out_numel());
    from.advance();
    draws.advance();
    to.advance();
    places.advance();
  }
  return context.stopped();
}

// op(self, kernel_size, output_size, random_samples, output, indices)
template <int rank>
etb_status fractional_max_pool_out(KernelContext& context,
                                   ops::fractional_max_pool2d_output<KernelArguments> args) {
  const Tensor &self = args.self(), &samples = args.random_samples();
  Tensor &out = args.output(), &indices = args.indices();
  Geometry g{rank};
  ETB_CHECK(g.read(context, self, args.kernel_size(), args.output_size()));
  if (!is_floating(self.dtype()) || out.dtype() != self.dtype() || samples.dtype() != self.dtype() ||
      indices.dtype() != Dtype::INT64)
    return context.fail(
        ETB_INVALID_TYPE,
        "%s and samples of %s into %s with indices of %s, expected floats of one dtype and int64",
        to_text(self.dtype()), to_text(samples.dtype()), to_text(out.dtype()), to_text(indices.dtype()));
  const int64_t batch = self.rank() == rank + 2 ? self.size(0) : 1,
                channels = self.size(self.rank() - rank - 1);
  if (samples.rank() != 3 || samples.size(0) != batch || samples.size(1) != channels ||
      samples.size(2) != rank)
    return context.fail(ETB_INVALID_ARGUMENT, "random samples %s, expected [%lld, %lld, %d]",
                        SizesText(samples.sizes()).text, static_cast<long long>(batch),
                        static_cast<long long>(channels), rank);
  ETB_CHECK(g.resize(context, self, out));
  ETB_CHECK(g.resize(context, self, indices));
  if (out.numel() == 0) return ETB_OK;
  return is_float64(self.dtype()) ? pool_all<double>(context, g, self, samples, out, indices)
                                        : pool_all<float>(context, g, self, samples, out, indices);
}

constexpr Kernel kRows[] = {
    kernel_row<ops::fractional_max_pool2d_output, fractional_max_pool_out<2>>(),
    kernel_row<ops::fractional_max_pool3d_output, fractional_max_pool_out<3>>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(fractional_pool, kRows);

}  // namespace etb::host
