// SPDX-License-Identifier: Apache-2.0
// aten::grid_sampler_2d and grid_sampler_3d: pixels of an image, or of a volume, at positions between -1 and 1. Computed in float
// (float64: double).
#include <algorithm>
#include <cmath>

#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/grid_sampler_2d.hpp"
#include "ops/grid_sampler_3d.hpp"

namespace etb::host {
namespace {

enum Interpolation : int64_t { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

// Samples one plane of an input [N, C, spatial dims]. A position has one number for each spatial dim, outermost first.
template <class T, int kAxes>
class GridSampler {
 public:
  struct Position {
    T at[kAxes];
  };

  GridSampler(const ConvertLoops& loops, const Tensor& input, int64_t padding, bool align_corners)
      : loops_(loops), input_(input), padding_(padding), align_corners_(align_corners) {}

  // The mean of the neighbours, weighted by their distances.
  T linear(int64_t base, const Position& position) const {
    int64_t low[kAxes];
    T weight[kAxes];
    T all_finite = T(0);
    bool is_outside = false;
    for (int i = 0; i < kAxes; ++i) {
      const T at = pad(to_pixel(position.at[i], size(i)), size(i));
      all_finite += at - at;
      is_outside = is_outside || !is_near(at, size(i));
      if (is_outside) continue;
      low[i] = static_cast<int64_t>(std::floor(at));
      weight[i] = at - std::floor(at);
    }
    if (is_outside) return all_finite;  // 0, or NaN
    T sum = 0;
    for (int corner = 0; corner < 1 << kAxes; ++corner) {
      int64_t index[kAxes];
      T part = 1;
      for (int i = 0; i < kAxes; ++i) {
        const bool is_high = (corner >> (kAxes - 1 - i) & 1) != 0;
        index[i] = low[i] + (is_high ? 1 : 0);
        part *= is_high ? weight[i] : T(1) - weight[i];
      }
      sum += pixel(base, index) * part;
    }
    return sum;
  }

  T nearest(int64_t base, const Position& position) const {
    int64_t index[kAxes];
    for (int i = 0; i < kAxes; ++i) {
      const T at = std::nearbyint(pad(to_pixel(position.at[i], size(i)), size(i)));
      if (!is_near(at, size(i))) return T(0);
      index[i] = static_cast<int64_t>(at);
    }
    return pixel(base, index);
  }

  // Only of images.
  T bicubic(int64_t base, const Position& position) const {
    const T y = to_pixel(position.at[0], size(0)), x = to_pixel(position.at[1], size(1));
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
  int64_t size(int axis) const { return input_.size(2 + axis); }

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

  T pixel(int64_t base, const int64_t* index) const {
    for (int i = 0; i < kAxes; ++i) {
      if (index[i] < 0 || index[i] >= size(i)) return T(0);
      base += index[i] * input_.stride(2 + i);
    }
    return load_element<T>(loops_, input_, base);
  }

  static bool is_near(T at, int64_t size) { return at > T(-2) && at < static_cast<T>(size) + T(1); }

  T padded_pixel(int64_t base, T row, T column) const {
    row = pad(row, size(0));
    column = pad(column, size(1));
    if (!is_near(row, size(0)) || !is_near(column, size(1))) return T(0);
    const int64_t index[kAxes] = {static_cast<int64_t>(row), static_cast<int64_t>(column)};
    return pixel(base, index);
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

struct Options {
  int64_t interpolation, padding;
  bool align_corners;
};

template <class T, int kAxes>
etb_status sample_grid(KernelContext& context, const Tensor& input, const Tensor& grid,
                       const Options& options, Tensor& out) {
  const ConvertLoops& loops = *vector_table(context).conversions;
  using Sampler = GridSampler<T, kAxes>;
  const Sampler sampler(loops, input, options.padding, options.align_corners);
  return for_each_element(context, out, [&](int64_t position, int64_t offset) {
    int64_t at = 0;  // of the position in the grid
    for (int i = kAxes; i > 0; --i) {
      at += position % out.size(1 + i) * grid.stride(i);
      position /= out.size(1 + i);
    }
    const int64_t image = position / out.size(1);
    at += image * grid.stride(0);
    const int64_t base = image * input.stride(0) + position % out.size(1) * input.stride(1);
    typename Sampler::Position wanted;  // the grid begins with the innermost dim
    for (int i = 0; i < kAxes; ++i)
      wanted.at[i] = load_element<T>(loops, grid, at + (kAxes - 1 - i) * grid.stride(1 + kAxes));
    T value = 0;
    if (options.interpolation == kBilinear) value = sampler.linear(base, wanted);
    if (options.interpolation == kNearest) value = sampler.nearest(base, wanted);
    if constexpr (kAxes == 2)
      if (options.interpolation == kBicubic) value = sampler.bicubic(base, wanted);
    store_element(loops, out, offset, value);
    return static_cast<etb_status>(ETB_OK);
  });
}

template <int kAxes>
etb_status check_grid(KernelContext& context, const Tensor& input, const Tensor& grid,
                      const Options& options) {
  constexpr int kRank = kAxes + 2;
  bool fits = input.rank() == kRank && grid.rank() == kRank && grid.size(kRank - 1) == kAxes &&
              grid.size(0) == input.size(0);
  for (int i = 2; fits && i < kRank; ++i) fits = input.size(i) > 0;
  fits = fits && options.interpolation >= 0 && options.interpolation <= (kAxes == 2 ? kBicubic : kNearest) &&
         options.padding >= kZeros && options.padding <= kReflection;
  if (fits) return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "a grid of %s for %s, interpolation %lld, padding %lld",
                      SizesText(grid.sizes()).text, SizesText(input.sizes()).text,
                      static_cast<long long>(options.interpolation), static_cast<long long>(options.padding));
}

// grid_sampler_2d(input, grid [N, H, W, 2], interpolation_mode, padding_mode, align_corners, out); a volume has one dim more.
template <int kAxes>
etb_status grid_sampler_out(KernelContext& context, ops::grid_sampler_2d_out<KernelArguments> args) {
  const Tensor &input = args.input(), &grid = args.grid();
  Tensor& out = args.out();
  const Options options{args.interpolation_mode(), args.padding_mode(), args.align_corners()};
  ETB_CHECK(expect_same_dtype(context, input, out));
  ETB_CHECK(expect_same_dtype(context, input, grid));
  if (!is_floating(input.dtype()))
    return context.fail(ETB_INVALID_TYPE, "the input is %s, expected a float", to_text(input.dtype()));
  ETB_CHECK(check_grid<kAxes>(context, input, grid, options));
  int64_t sizes[kAxes + 2] = {input.size(0), input.size(1)};
  for (int i = 0; i < kAxes; ++i) sizes[2 + i] = grid.size(1 + i);
  ETB_CHECK(resize_output(context, out, sizes));
  if (input.dtype() == Dtype::FLOAT64) return sample_grid<double, kAxes>(context, input, grid, options, out);
  return sample_grid<float, kAxes>(context, input, grid, options, out);
}

constexpr Kernel kRows[] = {
    kernel_row<ops::grid_sampler_2d_out, grid_sampler_out<2>>(),
    kernel_row<ops::grid_sampler_3d_out, grid_sampler_out<3>>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(grid_sampler, kRows);

}  // namespace etb::host
