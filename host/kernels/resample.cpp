// SPDX-License-Identifier: Apache-2.0
// aten::upsample_nearest2d, upsample_bilinear2d, _upsample_bilinear2d_aa and grid_sampler_2d. Computed in float (float64: double);
// uint8 images are interpolated in float and rounded.
#include <algorithm>
#include <cmath>

#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/_upsample_bilinear2d_aa.hpp"
#include "ops/grid_sampler_2d.hpp"
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
  if (self.dtype() == Dtype::FLOAT64)
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
  if (self.dtype() == Dtype::FLOAT64)
    return bilinear_aa<double>(context, self, target, args.align_corners(), out);
  return bilinear_aa<float>(context, self, target, args.align_corners(), out);
}

enum Interpolation : int64_t { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

// grid_sampler_2d: positions in [-1, 1] become pixels.
template <class T>
class GridSampler {
 public:
  GridSampler(const ConvertLoops& loops, const Tensor& input, int64_t padding, bool align_corners)
      : loops_(loops), input_(input), padding_(padding), align_corners_(align_corners) {}

  T to_pixel(T at, int64_t size) const {
    return align_corners_ ? (at + T(1)) / T(2) * static_cast<T>(size - 1)
                          : ((at + T(1)) * static_cast<T>(size) - T(1)) / T(2);
  }

  // A position moved into the image as the padding mode says.
  T pad(T at, int64_t size) const {
    if (padding_ == kZeros) return at;
    if (padding_ == kReflection)
      at = align_corners_ ? reflect(at, T(0), static_cast<T>(size - 1))
                          : reflect(at, T(-0.5), static_cast<T>(size) - T(0.5));
    // A NaN becomes 0, as in max and min of PyTorch's clip.
    return std::min(static_cast<T>(size - 1), std::max(at, T(0)));
  }

  T pixel(int64_t base, int64_t row, int64_t column) const {
    if (row < 0 || row >= input_.size(2) || column < 0 || column >= input_.size(3)) return T(0);
    return load_element<T>(loops_, input_, base + row * input_.stride(2) + column * input_.stride(3));
  }

  T bilinear(int64_t base, T x, T y) const {
    x = pad(to_pixel(x, input_.size(3)), input_.size(3));
    y = pad(to_pixel(y, input_.size(2)), input_.size(2));
    if (!is_near(x, input_.size(3)) || !is_near(y, input_.size(2)))
      return is_finite(x, y) ? T(0) : T(0) * x * y;
    const T left = std::floor(x), top = std::floor(y), right_weight = x - left, bottom_weight = y - top;
    const auto column = static_cast<int64_t>(left), row = static_cast<int64_t>(top);
    return pixel(base, row, column) * (T(1) - right_weight) * (T(1) - bottom_weight) +
           pixel(base, row, column + 1) * right_weight * (T(1) - bottom_weight) +
           pixel(base, row + 1, column) * (T(1) - right_weight) * bottom_weight +
           pixel(base, row + 1, column + 1) * right_weight * bottom_weight;
  }

  T nearest(int64_t base, T x, T y) const {
    x = std::nearbyint(pad(to_pixel(x, input_.size(3)), input_.size(3)));
    y = std::nearbyint(pad(to_pixel(y, input_.size(2)), input_.size(2)));
    if (!is_near(x, input_.size(3)) || !is_near(y, input_.size(2))) return T(0);
    return pixel(base, static_cast<int64_t>(y), static_cast<int64_t>(x));
  }

  T bicubic(int64_t base, T x, T y) const {
    x = to_pixel(x, input_.size(3));
    y = to_pixel(y, input_.size(2));
    const T left = std::floor(x), top = std::floor(y);
    T weights_x[4], weights_y[4], sum = 0;
    cubic_weights(x - left, weights_x);
    cubic_weights(y - top, weights_y);
    for (int i = 0; i < 4; ++i) {
      T row_sum = 0;
      for (int j = 0; j < 4; ++j)
        row_sum +=
            weights_x[j] * padded_pixel(base, top + static_cast<T>(i - 1), left + static_cast<T>(j - 1));
      sum += weights_y[i] * row_sum;
    }
    return sum;
  }

 private:
  static bool is_finite(T x, T y) { return x - x == 0 && y - y == 0; }
  static bool is_near(T at, int64_t size) { return at > T(-2) && at < static_cast<T>(size) + T(1); }

  T padded_pixel(int64_t base, T row, T column) const {
    row = pad(row, input_.size(2));
    column = pad(column, input_.size(3));
    if (!is_near(row, input_.size(2)) || !is_near(column, input_.size(3))) return T(0);
    return pixel(base, static_cast<int64_t>(row), static_cast<int64_t>(column));
  }

  static T reflect(T at, T low, T high) {
    if (low == high) return T(0);
    const T span = high - low, distance = std::abs(at - low), rest = std::fmod(distance, span);
    const bool is_even = std::fmod(std::floor(distance / span), T(2)) == T(0);
    return is_even ? rest + low : span - rest + low;
  }

  // Keys' cubic with a = -0.75.
  static void cubic_weights(T t, T* out_weights) {
    constexpr T kA = T(-0.75);
    const auto inner = [](T x) { return ((kA + T(2)) * x - (kA + T(3))) * x * x + T(1); };
    const auto outer = [](T x) { return ((kA * x - T(5) * kA) * x + T(8) * kA) * x - T(4) * kA; };
    out_weights[0] = outer(t + T(1));
    out_weights[1] = inner(t);
    out_weights[2] = inner(T(1) - t);
    out_weights[3] = outer(T(2) - t);
  }

  const ConvertLoops& loops_;
  const Tensor& input_;
  int64_t padding_;
  bool align_corners_;
};

template <class T>
etb_status sample_grid(KernelContext& context, const Tensor& input, const Tensor& grid, int64_t interpolation,
                       int64_t padding, bool align_corners, Tensor& out) {
  const ConvertLoops& loops = *vector_table(context).conversions;
  const GridSampler<T> sampler(loops, input, padding, align_corners);
  return for_each_element(context, out, [&](int64_t position, int64_t offset) {
    const int64_t column = position % out.size(3), row = position / out.size(3) % out.size(2),
                  plane = position / (out.size(3) * out.size(2));
    const int64_t image = plane / out.size(1);
    const int64_t at = image * grid.stride(0) + row * grid.stride(1) + column * grid.stride(2);
    const T x = load_element<T>(loops, grid, at), y = load_element<T>(loops, grid, at + grid.stride(3));
    const int64_t base = image * input.stride(0) + plane % out.size(1) * input.stride(1);
    store_element(loops, out, offset,
                  interpolation == kBilinear  ? sampler.bilinear(base, x, y)
                  : interpolation == kNearest ? sampler.nearest(base, x, y)
                                              : sampler.bicubic(base, x, y));
    return static_cast<etb_status>(ETB_OK);
  });
}

// grid_sampler_2d(input, grid [N, H, W, 2], interpolation_mode, padding_mode, align_corners, out)
etb_status grid_sampler_out(KernelContext& context, ops::grid_sampler_2d_out<KernelArguments> args) {
  const Tensor &input = args.input(), &grid = args.grid();
  Tensor& out = args.out();
  const int64_t interpolation = args.interpolation_mode(), padding = args.padding_mode();
  ETB_CHECK(expect_image(context, input, out));
  ETB_CHECK(expect_same_dtype(context, input, grid));
  if (!is_floating(input.dtype()))
    return context.fail(ETB_INVALID_TYPE, "the input is %s, expected a float", to_text(input.dtype()));
  if (grid.rank() != 4 || grid.size(3) != 2 || grid.size(0) != input.size(0) || interpolation < 0 ||
      interpolation > 2 || padding < 0 || padding > 2) {
    return context.fail(ETB_INVALID_ARGUMENT, "a grid of %s for %s, interpolation %lld, padding %lld",
                        SizesText(grid.sizes()).text, SizesText(input.sizes()).text,
                        static_cast<long long>(interpolation), static_cast<long long>(padding));
  }
  const int64_t sizes[4] = {input.size(0), input.size(1), grid.size(1), grid.size(2)};
  ETB_CHECK(resize_output(context, out, sizes));
  if (input.dtype() == Dtype::FLOAT64)
    return sample_grid<double>(context, input, grid, interpolation, padding, args.align_corners(), out);
  return sample_grid<float>(context, input, grid, interpolation, padding, args.align_corners(), out);
}

constexpr Kernel kRows[] = {
    kernel_row<ops::upsample_nearest2d_vec_out, nearest_out>(),
    kernel_row<ops::upsample_bilinear2d_vec_out, bilinear_out>(),
    kernel_row<ops::_upsample_bilinear2d_aa_out, bilinear_aa_out>(),
    kernel_row<ops::grid_sampler_2d_out, grid_sampler_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(resample, kRows);

}  // namespace etb::host
