// SPDX-License-Identifier: Apache-2.0
// aten::upsample_nearest2d, upsample_bilinear2d and _upsample_bilinear2d_aa. Computed in float (float64: double); uint8 images are
// interpolated in float and rounded.
#include <algorithm>
#include <cmath>

#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/_upsample_bilinear2d_aa.hpp"
#include "ops/upsample_bilinear2d.hpp"
#include "ops/upsample_nearest2d.hpp"

namespace etb::host {
namespace {

etb_status expect_image(KernelContext& context, const Tensor& self, const Tensor& out) {
  if (self.rank() != 4)
    return context.fail(ETB_INVALID_ARGUMENT, "the input has rank %d, expected 4", self.rank());
  if (self.size(2) < 1 || self.size(3) < 1)
    return context.fail(ETB_INVALID_ARGUMENT, "an image of %s", SizesText(self.sizes()).text);
  if (!is_arithmetic(self.dtype()))
    return context.fail(ETB_INVALID_TYPE, "the input is %s", to_text(self.dtype()));
  return expect_same_dtype(context, self, out);
}

// Output sizes and the given scales (0 when there is none) of height and width.
struct Target {
  int64_t size[2] = {0, 0};
  double scale[2] = {0.0, 0.0};

  etb_status read(KernelContext& context, const Tensor& self, const std::optional<IntList>& sizes,
                  const std::optional<std::span<const double>>& scales) {
    if (sizes.has_value() && sizes->size() == 2) {
      for (size_t i = 0; i < 2; ++i) size[i] = (*sizes)[i];
    } else if (scales.has_value() && scales->size() == 2) {
      for (size_t i = 0; i < 2; ++i) {
        scale[i] = (*scales)[i];
        const double wanted = std::floor(static_cast<double>(self.size(2 + static_cast<int>(i))) * scale[i]);
        if (!(wanted >= 1.0 && wanted < 0x1.0p31))
          return context.fail(ETB_INVALID_ARGUMENT, "scale %g", scale[i]);
        size[i] = static_cast<int64_t>(wanted);
      }
    } else {
      return context.fail(ETB_INVALID_ARGUMENT, "expected two output sizes or two scales");
    }
    if (size[0] < 1 || size[1] < 1)
      return context.fail(ETB_INVALID_ARGUMENT, "an output of %lld by %lld", static_cast<long long>(size[0]),
                          static_cast<long long>(size[1]));
    return ETB_OK;
  }
  etb_status resize(KernelContext& context, const Tensor& self, Tensor& out) const {
    const int64_t sizes[4] = {self.size(0), self.size(1), size[0], size[1]};
    return resize_output(context, out, sizes);
  }
};

// How far the source moves when the output moves by one, as PyTorch computes it in T.
template <class T>
T step_of(int64_t in, int64_t out, bool align_corners, double scale) {
  if (align_corners) return out > 1 ? static_cast<T>(in - 1) / static_cast<T>(out - 1) : T(0);
  return scale > 0.0 ? static_cast<T>(1.0 / scale) : static_cast<T>(in) / static_cast<T>(out);
}

etb_status nearest_out(KernelContext& context, ops::upsample_nearest2d_vec_out<KernelArguments> args) {
  const Tensor& self = args.input();
  Tensor& out = args.out();
  Target target;
  ETB_CHECK(expect_image(context, self, out));
  ETB_CHECK(target.read(context, self, args.output_size(), args.scale_factors()));
  ETB_CHECK(target.resize(context, self, out));
  const float steps[2] = {step_of<float>(self.size(2), target.size[0], false, target.scale[0]),
                          step_of<float>(self.size(3), target.size[1], false, target.scale[1])};
  const auto source = [&](int axis, int64_t index) {
    return std::min(static_cast<int64_t>(std::floor(static_cast<float>(index) * steps[axis])),
                    self.size(2 + axis) - 1);
  };
  return for_each_element(context, out, [&](int64_t position, int64_t offset) {
    const int64_t column = position % out.size(3), row = position / out.size(3) % out.size(2),
                  plane = position / (out.size(3) * out.size(2));
    copy_element(self,
                 plane / self.size(1) * self.stride(0) + plane % self.size(1) * self.stride(1) +
                     source(0, row) * self.stride(2) + source(1, column) * self.stride(3),
                 out, offset);
    return static_cast<etb_status>(ETB_OK);
  });
}

// Two neighbours and the weight of the second.
template <class T>
struct Tap {
  int64_t first, second;
  T weight;
};

template <class T>
Tap<T> bilinear_tap(int64_t index, int64_t in, T step, bool align_corners) {
  T at = align_corners ? step * static_cast<T>(index)
                       : std::max(T(0), step * (static_cast<T>(index) + T(0.5)) - T(0.5));
  const int64_t first = std::min(static_cast<int64_t>(at), in - 1);
  return {first, std::min(first + 1, in - 1), std::min(std::max(at - static_cast<T>(first), T(0)), T(1))};
}

// Stores a result; an integer image gets the nearest integer.
template <class T>
void store_pixel(const ConvertLoops& loops, const Tensor& out, int64_t offset, T value) {
  store_element(loops, out, offset, is_floating(out.dtype()) ? value : std::floor(value + T(0.5)));
}

template <class T>
etb_status bilinear(KernelContext& context, const Tensor& self, const Target& target, bool align_corners,
                    Tensor& out) {
  const ConvertLoops& loops = *vector_table(context).conversions;
  const T row_step = step_of<T>(self.size(2), target.size[0], align_corners, target.scale[0]);
  const T column_step = step_of<T>(self.size(3), target.size[1], align_corners, target.scale[1]);
  return for_each_element(context, out, [&](int64_t position, int64_t offset) {
    const Tap<T> column = bilinear_tap(position % out.size(3), self.size(3), column_step, align_corners);
    const Tap<T> row =
        bilinear_tap(position / out.size(3) % out.size(2), self.size(2), row_step, align_corners);
    const int64_t plane = position / (out.size(3) * out.size(2));
    const int64_t base = plane / self.size(1) * self.stride(0) + plane % self.size(1) * self.stride(1);
    const auto pixel = [&](int64_t r, int64_t c) {
      return load_element<T>(loops, self, base + r * self.stride(2) + c * self.stride(3));
    };
    const T top = pixel(row.first, column.first) * (T(1) - column.weight) +
                  pixel(row.first, column.second) * column.weight;
    const T bottom = pixel(row.second, column.first) * (T(1) - column.weight) +
                     pixel(row.second, column.second) * column.weight;
    store_pixel(loops, out, offset, top * (T(1) - row.weight) + bottom * row.weight);
    return static_cast<etb_status>(ETB_OK);
  });
}

etb_status bilinear_out(KernelContext& context, ops::upsample_bilinear2d_vec_out<KernelArguments> args) {
  const Tensor& self = args.input();
  Tensor& out = args.out();
  Target target;
  ETB_CHECK(expect_image(context, self, out));
  ETB_CHECK(target.read(context, self, args.output_size(), args.scale_factors()));
  ETB_CHECK(target.resize(context, self, out));
  if (is_float64(self.dtype()))
    return bilinear<double>(context, self, target, args.align_corners(), out);
  return bilinear<float>(context, self, target, args.align_corners(), out);
}

// Antialiasing: a triangle as wide as the source step, so that every source pixel counts.
template <class T>
struct Filter {
  T step, support, invert;

  Filter(int64_t in, int64_t out, bool align_corners, double scale)
      : step(step_of<T>(in, out, align_corners, scale)) {
    support = step >= T(1) ? step : T(1);
    invert = step >= T(1) ? T(1) / step : T(1);
  }
  // Calls visit(source index, weight) and returns the sum of the weights.
  template <class Visit>
  T for_each(int64_t index, int64_t in, Visit visit) const {
    const T center = step * (static_cast<T>(index) + T(0.5));
    const int64_t begin = std::max<int64_t>(static_cast<int64_t>(center - support + T(0.5)), 0);
    const int64_t end = std::min(static_cast<int64_t>(center + support + T(0.5)), in);
    T total = 0;
    for (int64_t i = begin; i < end; ++i) {
      const T distance = std::abs((static_cast<T>(i) - center + T(0.5)) * invert);
      const T weight = distance < T(1) ? T(1) - distance : T(0);
      total += weight;
      visit(i, weight);
    }
    return total;
  }
};

template <class T>
etb_status bilinear_aa(KernelContext& context, const Tensor& self, const Target& target, bool align_corners,
                       Tensor& out) {
  const ConvertLoops& loops = *vector_table(context).conversions;
  const Filter<T> rows(self.size(2), target.size[0], align_corners, target.scale[0]);
  const Filter<T> columns(self.size(3), target.size[1], align_corners, target.scale[1]);
  return for_each_element(context, out, [&](int64_t position, int64_t offset) {
    const int64_t plane = position / (out.size(3) * out.size(2));
    const int64_t base = plane / self.size(1) * self.stride(0) + plane % self.size(1) * self.stride(1);
    T sum = 0;
    const T row_total =
        rows.for_each(position / out.size(3) % out.size(2), self.size(2), [&](int64_t r, T row_weight) {
          if (context.should_stop(1)) return;
          T row_sum = 0;
          const T column_total =
              columns.for_each(position % out.size(3), self.size(3), [&](int64_t c, T weight) {
                if (context.should_stop(1)) return;
                row_sum +=
                    weight * load_element<T>(loops, self, base + r * self.stride(2) + c * self.stride(3));
              });
          // An integer image is rounded between the two passes.
          const T mixed = row_sum / column_total;
          sum += row_weight * (is_floating(out.dtype()) ? mixed : std::floor(mixed + T(0.5)));
        });
    store_pixel(loops, out, offset, sum / row_total);
    return static_cast<etb_status>(ETB_OK);
  });
}

etb_status bilinear_aa_out(KernelContext& context, ops::_upsample_bilinear2d_aa_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  Target target;
  ETB_CHECK(expect_image(context, self, out));
  ETB_CHECK(target.read(context, self, args.output_size(), std::nullopt));
  target.scale[0] = args.scales_h().value_or(0.0);
  target.scale[1] = args.scales_w().value_or(0.0);
  ETB_CHECK(target.resize(context, self, out));
  if (is_float64(self.dtype()))
    return bilinear_aa<double>(context, self, target, args.align_corners(), out);
  return bilinear_aa<float>(context, self, target, args.align_corners(), out);
}

constexpr Kernel kRows[] = {
    kernel_row<ops::upsample_nearest2d_vec_out, nearest_out>(),
    kernel_row<ops::upsample_bilinear2d_vec_out, bilinear_out>(),
    kernel_row<ops::_upsample_bilinear2d_aa_out, bilinear_aa_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(resample, kRows);

}  // namespace etb::host
