// SPDX-License-Identifier: Apache-2.0
// Resampling with weights that are known at compile time: one product with a weight matrix per axis, which
// every matrix kernel and plugin runs. Also the grids of sampling positions.
#include <algorithm>
#include <cmath>

#include "ops/_upsample_bicubic2d_aa.hpp"
#include "ops/_upsample_bilinear2d_aa.hpp"
#include "ops/_upsample_nearest_exact1d.hpp"
#include "ops/_upsample_nearest_exact2d.hpp"
#include "ops/_upsample_nearest_exact3d.hpp"
#include "ops/affine_grid_generator.hpp"
#include "ops/grid_sampler.hpp"
#include "ops/upsample_bicubic2d.hpp"
#include "ops/upsample_nearest3d.hpp"
#include "ops/upsample_trilinear3d.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

enum class Filter { kLinear, kCubic };

// The resampling of one axis.
struct Axis {
  int64_t in = 0, out = 0;
  double step = 0;  // input elements per output element
  bool aligns_corners = false;
  bool is_double = false;  // PyTorch computes positions in float32 for all other dtypes
};

// Rounds a weight to the dtype that PyTorch computes weights in.
double rounded(const Axis& axis, double weight) {
  return axis.is_double ? weight : static_cast<double>(static_cast<float>(weight));
}

double linear_filter(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

// Keys' cubic kernel; PyTorch uses -0.75 for `a`, and -0.5 with antialiasing.
double cubic_filter(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

// Column o holds the weight of each input element in output element o: [in, out].
std::vector<double> linear_weights(const Axis& axis) {
  std::vector<double> weights(static_cast<size_t>(axis.in * axis.out));
  for (int64_t o = 0; o < axis.out; ++o) {
    const double at = axis.aligns_corners ? static_cast<double>(o) * axis.step
                                          : std::max(0.0, (static_cast<double>(o) + 0.5) * axis.step - 0.5);
    const int64_t first = std::min(static_cast<int64_t>(at), axis.in - 1);
    const double rest = rounded(axis, at - static_cast<double>(first));
    weights[static_cast<size_t>(first * axis.out + o)] += rounded(axis, 1 - rest);
    weights[static_cast<size_t>(std::min(first + 1, axis.in - 1) * axis.out + o)] += rest;
  }
  return weights;
}

std::vector<double> cubic_weights(const Axis& axis) {
  constexpr double kA = -0.75;
  std::vector<double> weights(static_cast<size_t>(axis.in * axis.out));
  for (int64_t o = 0; o < axis.out; ++o) {
    const double at = axis.aligns_corners ? static_cast<double>(o) * axis.step
                                          : (static_cast<double>(o) + 0.5) * axis.step - 0.5;
    const double whole = std::floor(at);
    for (int64_t tap = -1; tap <= 2; ++tap) {
      const int64_t i = std::clamp<int64_t>(static_cast<int64_t>(whole) + tap, 0, axis.in - 1);
      weights[static_cast<size_t>(i * axis.out + o)] +=
          rounded(axis, cubic_filter(at - whole - static_cast<double>(tap), kA));
    }
  }
  return weights;
}

// The same with a filter as wide as the step, so that a smaller result averages its input.
std::vector<double> smoothing_weights(const Axis& axis, Filter filter) {
  const auto value = [&](double x) {
    return filter == Filter::kLinear ? linear_filter(x) : cubic_filter(x, -0.5);
  };
  const double width = std::max(axis.step, 1.0), radius = (filter == Filter::kLinear ? 1.0 : 2.0) * width;
  std::vector<double> weights(static_cast<size_t>(axis.in * axis.out));
  for (int64_t o = 0; o < axis.out; ++o) {
    const double center = axis.step * (static_cast<double>(o) + 0.5);
    const auto first = std::max<int64_t>(static_cast<int64_t>(center - radius + 0.5), 0);
    const auto last = std::min<int64_t>(static_cast<int64_t>(center + radius + 0.5), axis.in);
    double sum = 0;
    for (int64_t i = first; i < last; ++i) sum += value((static_cast<double>(i) - center + 0.5) / width);
    for (int64_t i = first; i < last; ++i) {
      const double weight = value((static_cast<double>(i) - center + 0.5) / width);
      weights[static_cast<size_t>(i * axis.out + o)] = weight / sum;
    }
  }
  return weights;
}

// The axis `index` after batch and channels, of an op with the arguments input, output_size and
// scale_factors.
template <class A>
Axis axis_of(const A& a, size_t index, bool aligns_corners) {
  Axis axis;
  const TensorSpec& in = a.input().spec();
  axis.is_double = in.dtype == Dtype::FLOAT64;
  const size_t count = in.rank() - 2;
  const Dim size = in.sizes[2 + index];
  const Dims sizes = a.output_size().dims();
  const ir::FloatList* factors = a.scale_factors().find_list();
  const bool has_factor = factors != nullptr && factors->size() == count;
  if (!size.is_static() || !(has_factor || (sizes.size() == count && sizes[index].is_static()))) {
    a.fail(
        "the size of the input or of the output is known only at run time\n"
        "hint: export the model with static image sizes");
    return axis;
  }
  axis.in = size.value();
  axis.out = sizes.size() == count ? sizes[index].value()
                                   : static_cast<int64_t>(static_cast<double>(axis.in) * (*factors)[index]);
  axis.aligns_corners = aligns_corners;
  constexpr int64_t kMaxSize = 1 << 13;  // a matrix of 256 MiB
  if (axis.in <= 0 || axis.out <= 0 || axis.in > kMaxSize || axis.out > kMaxSize) {
    a.fail("cannot resample an axis of " + std::to_string(axis.in) + " elements to " +
           std::to_string(axis.out) + ", expected 1 to " + std::to_string(kMaxSize) + " each");
  } else if (axis.aligns_corners) {
    axis.step = axis.out > 1 ? static_cast<double>(axis.in - 1) / static_cast<double>(axis.out - 1) : 0;
  } else {
    axis.step =
        has_factor ? 1.0 / (*factors)[index] : static_cast<double>(axis.in) / static_cast<double>(axis.out);
  }
  return axis;
}

// Resamples the last axis.
ValueId resampled(Builder& b, ValueId x, const Axis& axis, const std::vector<double>& weights) {
  const std::vector<float> floats(weights.begin(), weights.end());
  const ValueId matrix = axis.is_double ? add_elements(b, Dtype::FLOAT64, {axis.in, axis.out}, weights)
                                        : add_elements(b, Dtype::FLOAT32, {axis.in, axis.out}, floats);
  return matmul(b, x, to_dtype(b, matrix, b.spec(x).dtype));
}

// The nearest number of uint8.
ValueId to_bytes(Builder& b, ValueId x) {
  const ValueId rounded =
      b.call("aten.floor.default", {ValueRef{b.call("aten.add.Scalar", {ValueRef{x}, 0.5})}});
  return to_dtype(b, b.call("aten.clamp.default", {ValueRef{rounded}, Dim(0), Dim(255)}), Dtype::UINT8);
}

template <class A, class Weights>
Values resample(Builder& b, const A& a, Weights weights) {
  const Dtype dtype = a.input().spec().dtype;
  if (a.input().spec().rank() != 4 || !(ops::is_floating(dtype) || dtype == Dtype::UINT8)) {
    a.fail("input of rank " + std::to_string(a.input().spec().rank()) + " and dtype " +
           std::string(ops::to_text(dtype)) + ", expected images of floats or uint8 (rank 4)");
    return {};
  }
  const Axis rows = axis_of(a, 0, a.align_corners()), columns = axis_of(a, 1, a.align_corners());
  if (!a.error().empty()) return {};
  const bool is_bytes = dtype == Dtype::UINT8;
  const ValueId in = is_bytes ? to_dtype(b, a.input(), Dtype::FLOAT32) : ValueId(a.input());
  ValueId wide = resampled(b, in, columns, weights(columns));
  // PyTorch rounds an image of bytes between the axes too.
  if (is_bytes) wide = to_dtype(b, to_bytes(b, wide), Dtype::FLOAT32);
  const ValueId out = transpose(b, resampled(b, transpose(b, wide, 2, 3), rows, weights(rows)), 2, 3);
  return {is_bytes ? to_bytes(b, out) : out};
}

// Resamples one axis after another.
Values trilinear(Builder& b, const ops::upsample_trilinear3d_vec<Call>& a) {
  if (a.input().spec().rank() != 5 || !ops::is_floating(a.input().spec().dtype)) {
    a.fail("input of rank " + std::to_string(a.input().spec().rank()) + " and dtype " +
           std::string(ops::to_text(a.input().spec().dtype)) + ", expected volumes of floats (rank 5)");
    return {};
  }
  ValueId x = a.input();
  for (size_t i = 0; i < 3; ++i) {
    const Axis axis = axis_of(a, i, a.align_corners());
    if (!a.error().empty()) return {};
    const auto dim = static_cast<int64_t>(i) + 2;
    const ValueId line = dim == 4 ? x : transpose(b, x, dim, 4);
    x = resampled(b, line, axis, linear_weights(axis));
    if (dim != 4) x = transpose(b, x, dim, 4);
  }
  return {x};
}

// Gathers the nearest elements: those at the corners of the output's elements, or "exact" at their centres.
template <size_t Rank, bool IsExact, class A>
Values nearest(Builder& b, const A& a) {
  if (a.input().spec().rank() != Rank) return {};
  ValueId x = a.input();
  for (size_t i = 0; i + 2 < Rank; ++i) {
    const Axis axis = axis_of(a, i, false);
    if (!a.error().empty()) return {};
    std::vector<int64_t> nearest(static_cast<size_t>(axis.out));
    for (size_t o = 0; o < nearest.size(); ++o) {
      const double at = IsExact ? (static_cast<double>(o) + 0.5) * static_cast<float>(axis.step)
                                : static_cast<double>(o) * axis.step;
      nearest[o] = std::min(static_cast<int64_t>(at), axis.in - 1);
    }
    const ValueId index = add_elements(b, Dtype::INT64, {axis.out}, nearest);
    x = b.call("aten.index_select.default", {ValueRef{x}, Dim(static_cast<int64_t>(i) + 2), ValueRef{index}});
  }
  return {x};
}

// Coordinates from -1 to 1: the ends with align_corners, else the centres of equal parts.
std::vector<float> places(int64_t count, bool aligns_corners) {
  std::vector<float> out(static_cast<size_t>(count));
  const double end =
      aligns_corners || count == 0 ? 1 : static_cast<double>(count - 1) / static_cast<double>(count);
  for (size_t i = 0; i < out.size() && count > 1; ++i)
    out[i] = static_cast<float>(end * (2 * static_cast<double>(i) / static_cast<double>(count - 1) - 1));
  return out;
}

// The coordinates that each output element reads, x first. `theta` is [N, d, d + 1], `size` [N, C, ...].
Values affine_grid(Builder& b, const ops::affine_grid_generator_default<Call>& a) {
  const Dims sizes = a.size().dims();
  constexpr int64_t kMaxPlaces = 1 << 24;
  int64_t count = 1;
  for (size_t i = 2; i < sizes.size(); ++i) {
    if (!sizes[i].is_static() || sizes[i].value() > kMaxPlaces || (count *= sizes[i].value()) > kMaxPlaces) {
      a.fail("the size of the grid is known only at run time, or exceeds " + std::to_string(kMaxPlaces) +
             " positions");
      return {};
    }
  }
  if (sizes.size() < 4 || sizes.size() > 5) return {};
  const size_t spatial = sizes.size() - 2;
  std::vector<std::vector<float>> lines;  // x first
  for (size_t i = 0; i < spatial; ++i)
    lines.push_back(places(sizes[sizes.size() - 1 - i].value(), a.align_corners()));
  std::vector<float> grid;
  for (int64_t at = 0; at < count; ++at) {
    int64_t rest = at;
    for (const std::vector<float>& line : lines) {
      const auto side = static_cast<int64_t>(line.size());
      grid.push_back(line[static_cast<size_t>(rest % side)]);
      rest /= side;
    }
    grid.push_back(1);
  }
  const auto width = static_cast<int64_t>(spatial);
  ValueId base = add_elements(b, Dtype::FLOAT32, {count, width + 1}, grid);
  base = to_dtype(b, base, a.theta().spec().dtype);
  const ValueId read = matmul(b, base, transpose(b, a.theta(), 1, 2));
  Dims out = {sizes[0]};
  out.insert(out.end(), sizes.begin() + 2, sizes.end());
  out.emplace_back(width);
  return {reshape(b, read, std::move(out))};
}

Values grid_sampler(Builder& b, const ops::grid_sampler_default<Call>& a) {
  const size_t rank = a.input().spec().rank();
  if (rank != 4 && rank != 5) {
    a.fail("input of rank " + std::to_string(rank) + ", expected images (rank 4) or volumes (rank 5)");
    return {};
  }
  return {b.call(rank == 4 ? "aten.grid_sampler_2d.default" : "aten.grid_sampler_3d.default",
                 {a.input(), a.grid(), a.interpolation_mode(), a.padding_mode(), a.align_corners()})};
}

Values bicubic(Builder& b, const ops::upsample_bicubic2d_vec<Call>& a) {
  return resample(b, a, cubic_weights);
}
Values smooth_bicubic(Builder& b, const ops::_upsample_bicubic2d_aa_vec<Call>& a) {
  return resample(b, a, [](const Axis& axis) { return smoothing_weights(axis, Filter::kCubic); });
}
Values smooth_bilinear(Builder& b, const ops::_upsample_bilinear2d_aa_vec<Call>& a) {
  return resample(b, a, [](const Axis& axis) { return smoothing_weights(axis, Filter::kLinear); });
}

}  // namespace

std::span<const Decomposition> resampling_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_upsample_bicubic2d_aa_vec, smooth_bicubic>(),
      row<ops::_upsample_bilinear2d_aa_vec, smooth_bilinear>(),
      row<ops::_upsample_nearest_exact1d_vec, nearest<3, true>>(),
      row<ops::_upsample_nearest_exact2d_vec, nearest<4, true>>(),
      row<ops::_upsample_nearest_exact3d_vec, nearest<5, true>>(),
      row<ops::affine_grid_generator_default, affine_grid>(),
      row<ops::grid_sampler_default, grid_sampler>(),
      row<ops::upsample_bicubic2d_vec, bicubic>(),
      row<ops::upsample_nearest3d_vec, nearest<5, false>>(),
      row<ops::upsample_trilinear3d_vec, trilinear>(),
  };
  return kRows;
}

}  // namespace etb::passes
