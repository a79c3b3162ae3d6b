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

// Positions whose taps are computed together, once for all channels.
constexpr int64_t kPoints = 64;
constexpr int kMaxTaps = 16;

// The pixels that each position reads: a value is the sum of pixels times weights. An offset of -1 is a pixel outside, which is 0.
template <class T>
struct Taps {
  int64_t offsets[kMaxTaps][kPoints];
  T weights[kMaxTaps][kPoints];
};

struct Options {
  int64_t interpolation, padding;
  bool align_corners;
};

// Finds the taps of positions in the planes of an input [N, C, spatial dims]. A position has one number for each spatial dim,
// outermost first.
template <class T, int kAxes>
class TapFinder {
 public:
  TapFinder(const Tensor& input, const Options& options) : input_(input), options_(options) {}

  int tap_count() const {
    if (options_.interpolation == kNearest) return 1;
    return options_.interpolation == kBicubic ? kMaxTaps : 1 << kAxes;
  }

  void find(const T* position, Taps<T>& taps, int64_t point) const {
    if (options_.interpolation == kNearest) return find_nearest(position, taps, point);
    if constexpr (kAxes == 2)
      if (options_.interpolation == kBicubic) return find_cubic(position, taps, point);
    find_linear(position, taps, point);
  }

 private:
  // The neighbours, weighted by their distances.
  void find_linear(const T* position, Taps<T>& taps, int64_t point) const {
    int64_t low[kAxes];
    T weight[kAxes];
    T not_a_number = 0;  // stays 0 for finite positions
    bool is_outside = false;
    for (int i = 0; i < kAxes; ++i) {
      const T at = pad(to_pixel(position[i], size(i)), size(i));
      not_a_number += at - at;
      is_outside = is_outside || !is_near(at, size(i));
      if (is_outside) continue;
      low[i] = static_cast<int64_t>(std::floor(at));
      weight[i] = at - std::floor(at);
    }
    for (int corner = 0; corner < 1 << kAxes; ++corner) {
      if (is_outside) {
        set(taps, corner, point, corner == 0 && not_a_number != T(0) ? 0 : -1, not_a_number);
        continue;
      }
      int64_t index[kAxes];
      T part = 1;
      for (int i = 0; i < kAxes; ++i) {
        const bool is_high = (corner >> (kAxes - 1 - i) & 1) != 0;
        index[i] = low[i] + (is_high ? 1 : 0);
        part *= is_high ? weight[i] : T(1) - weight[i];
      }
      set(taps, corner, point, offset_of(index), part);
    }
  }

  void find_nearest(const T* position, Taps<T>& taps, int64_t point) const {
    int64_t index[kAxes];
    for (int i = 0; i < kAxes; ++i) {
      const T at = std::nearbyint(pad(to_pixel(position[i], size(i)), size(i)));
      if (!is_near(at, size(i))) return set(taps, 0, point, -1, 0);
      index[i] = static_cast<int64_t>(at);
    }
    set(taps, 0, point, offset_of(index), 1);
  }

  // Only of images.
  void find_cubic(const T* position, Taps<T>& taps, int64_t point) const {
    const T y = to_pixel(position[0], size(0)), x = to_pixel(position[1], size(1));
    const T left = std::floor(x), top = std::floor(y);
    T weights_x[4], weights_y[4];
    cubic_weights(x - left, weights_x);
    cubic_weights(y - top, weights_y);
    for (int i = 0; i < 4; ++i) {
      const T row = pad(top + static_cast<T>(i - 1), size(0));
      for (int j = 0; j < 4; ++j) {
        const T column = pad(left + static_cast<T>(j - 1), size(1));
        int64_t offset = -1;
        if (is_near(row, size(0)) && is_near(column, size(1))) {
          const int64_t index[kAxes] = {static_cast<int64_t>(row), static_cast<int64_t>(column)};
          offset = offset_of(index);
        }
        set(taps, 4 * i + j, point, offset, weights_y[i] * weights_x[j]);
      }
    }
  }

  static void set(Taps<T>& taps, int tap, int64_t point, int64_t offset, T weight) {
    taps.offsets[tap][point] = offset;
    taps.weights[tap][point] = weight;
  }

  int64_t size(int axis) const { return input_.size(2 + axis); }

  T to_pixel(T at, int64_t size) const {
    return options_.align_corners ? (at + T(1)) / T(2) * static_cast<T>(size - 1)
                                  : ((at + T(1)) * static_cast<T>(size) - T(1)) / T(2);
  }

  // A position moved into the image as the padding mode says.
  T pad(T at, int64_t size) const {
    if (options_.padding == kZeros) return at;
    if (options_.padding == kReflection)
      at = options_.align_corners ? reflect(at, T(0), static_cast<T>(size - 1))
                                  : reflect(at, T(-0.5), static_cast<T>(size) - T(0.5));
    // A NaN becomes 0, as in max and min of PyTorch's clip.
    return std::min(static_cast<T>(size - 1), std::max(at, T(0)));
  }

  int64_t offset_of(const int64_t* index) const {
    int64_t offset = 0;
    for (int i = 0; i < kAxes; ++i) {
      if (index[i] < 0 || index[i] >= size(i)) return -1;
      offset += index[i] * input_.stride(2 + i);
    }
    return offset;
  }

  static bool is_near(T at, int64_t size) { return at > T(-2) && at < static_cast<T>(size) + T(1); }

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

  const Tensor& input_;
  Options options_;
};

// The values of one channel at `count` points.
template <class T, class Pixel>
void sum_taps(T* out, const Taps<T>& taps, int tap_count, int64_t count, Pixel pixel) {
  std::fill_n(out, count, T(0));
  for (int tap = 0; tap < tap_count; ++tap) {
    const int64_t* offsets = taps.offsets[tap];
    const T* weights = taps.weights[tap];
    for (int64_t i = 0; i < count; ++i) out[i] += offsets[i] < 0 ? T(0) : pixel(offsets[i]) * weights[i];
  }
}

template <class T, int kAxes>
class GridSampler {
 public:
  GridSampler(KernelContext& context, const Tensor& input, const Tensor& grid, const Options& options,
              Tensor& out)
      : context_(context),
        loops_(*vector_table(context).conversions),
        finder_(input, options),
        input_(input),
        grid_(grid),
        out_(out) {}

  etb_status run() {
    int64_t row_count = 1;
    for (int i = 1; i < kAxes; ++i) row_count *= out_.size(1 + i);
    const int64_t last = out_.size(1 + kAxes);
    for (int64_t image = 0; image < out_.size(0); ++image) {
      for (int64_t row = 0; row < row_count; ++row) {
        for (int64_t begin = 0; begin < last; begin += kPoints)
          ETB_CHECK(sample(image, row, begin, std::min(kPoints, last - begin)));
      }
    }
    return ETB_OK;
  }

 private:
  etb_status sample(int64_t image, int64_t row, int64_t begin, int64_t count) {
    if (context_.should_stop(4 * finder_.tap_count() * count)) return context_.stopped();
    int64_t grid_at = image * grid_.stride(0) + begin * grid_.stride(kAxes);
    int64_t out_at = image * out_.stride(0) + begin * out_.stride(1 + kAxes);
    for (int i = kAxes - 1; i > 0; --i) {
      const int64_t index = row % out_.size(1 + i);
      row /= out_.size(1 + i);
      grid_at += index * grid_.stride(i);
      out_at += index * out_.stride(1 + i);
    }
    T positions[kAxes][kPoints];  // the grid begins with the innermost dim
    for (int i = 0; i < kAxes; ++i)
      loops_.load[static_cast<int>(grid_.dtype())][static_cast<int>(kComputeOf<T>)](
          positions[i], element_at(grid_, grid_at + (kAxes - 1 - i) * grid_.stride(1 + kAxes)),
          grid_.stride(kAxes), count);
    for (int64_t point = 0; point < count; ++point) {
      T position[kAxes];
      for (int i = 0; i < kAxes; ++i) position[i] = positions[i][point];
      finder_.find(position, taps_, point);
    }
    return sum_channels(image, out_at, count);
  }

  etb_status sum_channels(int64_t image, int64_t out_at, int64_t count) {
    T values[kPoints];
    const int tap_count = finder_.tap_count();
    for (int64_t channel = 0; channel < out_.size(1); ++channel) {
      if (context_.should_stop(tap_count * count)) return context_.stopped();
      const int64_t base = image * input_.stride(0) + channel * input_.stride(1);
      if (input_.dtype() == kDtypeOf<T>) {
        const T* plane = input_.data_as<T>() + base;
        sum_taps(values, taps_, tap_count, count, [&](int64_t offset) { return plane[offset]; });
      } else {
        sum_taps(values, taps_, tap_count, count,
                 [&](int64_t offset) { return load_element<T>(loops_, input_, base + offset); });
      }
      loops_.store[static_cast<int>(out_.dtype())][static_cast<int>(kComputeOf<T>)](
          element_at(out_, out_at + channel * out_.stride(1)), values, out_.stride(1 + kAxes), count);
    }
    return ETB_OK;
  }

  KernelContext& context_;
  const ConvertLoops& loops_;
  const TapFinder<T, kAxes> finder_;
  const Tensor &input_, &grid_;
  Tensor& out_;
  Taps<T> taps_;
};

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
  if (is_float64(input.dtype()))
    return GridSampler<double, kAxes>(context, input, grid, options, out).run();
  return GridSampler<float, kAxes>(context, input, grid, options, out).run();
}

constexpr Kernel kRows[] = {
    kernel_row<ops::grid_sampler_2d_out, grid_sampler_out<2>>(),
    kernel_row<ops::grid_sampler_3d_out, grid_sampler_out<3>>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(grid_sampler, kRows);

}  // namespace etb::host
