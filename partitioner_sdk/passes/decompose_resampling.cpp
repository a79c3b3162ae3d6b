// SPDX-License-Identifier: Apache-2.0
// Resampling. With weights that are known at compile time it is one product with a weight matrix per axis, which every
// matrix kernel and plugin runs; with sizes known at run time the program computes positions and weights (axis_sampler.cpp). Also the grids of sampling positions.
#include <algorithm>

#include "ops/_upsample_bicubic2d_aa.hpp"
#include "ops/_upsample_bilinear2d_aa.hpp"
#include "ops/_upsample_nearest_exact1d.hpp"
#include "ops/_upsample_nearest_exact2d.hpp"
#include "ops/_upsample_nearest_exact3d.hpp"
#include "ops/affine_grid_generator.hpp"
#include "ops/grid_sampler.hpp"
#include "ops/upsample_bicubic2d.hpp"
#include "ops/upsample_bilinear2d.hpp"
#include "ops/upsample_linear1d.hpp"
#include "ops/upsample_nearest1d.hpp"
#include "ops/upsample_nearest2d.hpp"
#include "ops/upsample_nearest3d.hpp"
#include "ops/upsample_trilinear3d.hpp"
#include "partitioner_sdk/ir/rational.hpp"
#include "partitioner_sdk/passes/arithmetic.hpp"
#include "partitioner_sdk/passes/axis_sampler.hpp"

namespace etb::passes {

namespace {

// The axis `index` after batch and channels, of an op with the arguments input, output_size and scale_factors.
template <class A>
AxisSizes sizes_of_axis(Builder& b, const A& a, size_t index, bool aligns_corners) {
  const TensorSpec in = a.input().spec();
  const size_t count = in.rank() - 2;
  const Dims sizes = a.output_size().dims();
  const ir::FloatList* factors = a.scale_factors().find_list();
  AxisSizes axis{in.sizes[2 + index], 0, 0, aligns_corners};
  if (factors != nullptr && factors->size() == count) axis.scale = (*factors)[index];
  constexpr double kLargestScale = 1 << 13;
  const bool is_scale = axis.scale >= 1 / kLargestScale && axis.scale <= kLargestScale;
  const auto scaled = is_scale ? ir::scaled_size(b.symbols(), axis.in, axis.scale) : std::nullopt;
  if (sizes.size() == count)
    axis.out = sizes[index];
  else if (scaled)
    axis.out = *scaled;
  else
    a.fail("neither a size nor a scale that is a fraction of small numbers, expected one for each axis");
  return axis;
}

bool is_static(const AxisSizes& axis) { return axis.in.is_static() && axis.out.is_static(); }

template <class A>
Axis known_axis(const A& a, const AxisSizes& sizes) {
  Axis axis;
  axis.is_double = a.input().spec().dtype == Dtype::FLOAT64;
  axis.in = sizes.in.value();
  axis.out = sizes.out.value();
  axis.aligns_corners = sizes.aligns_corners;
  set_step(a, axis, sizes.scale);
  return axis;
}

enum class Sampling { kLinear, kCubic, kSmoothLinear, kSmoothCubic };

std::vector<double> weights_of(const Axis& axis, Sampling sampling) {
  if (sampling == Sampling::kLinear) return linear_weights(axis);
  if (sampling == Sampling::kCubic) return cubic_weights(axis);
  return smoothing_weights(axis, sampling == Sampling::kSmoothLinear ? Filter::kLinear : Filter::kCubic);
}

// Resamples dimension 2 + `index` of `x`, which has the sizes of the input there: by a matrix of known weights, or by
// weights that the program computes.
template <class A>
ValueId resampled_axis(Builder& b, const A& a, ValueId x, size_t index, Sampling sampling) {
  const AxisSizes sizes = sizes_of_axis(b, a, index, a.align_corners());
  if (!a.error().empty()) return x;
  const size_t dim = index + 2, last = b.spec(x).rank() - 1;
  if (is_static(sizes)) {
    const Axis axis = known_axis(a, sizes);
    if (!a.error().empty()) return x;
    const auto from = static_cast<int64_t>(dim), to = static_cast<int64_t>(last);
    if (dim == last) return resampled(b, x, axis, weights_of(axis, sampling));
    return transpose(b, resampled(b, transpose(b, x, from, to), axis, weights_of(axis, sampling)), from, to);
  }
  const Dtype dtype = b.spec(x).dtype, computing = wide_dtype(dtype);
  AxisSampler sampler(b, sizes, dim, computing);
  const ValueId wide = to_dtype(b, x, computing);
  const ValueId out = sampling == Sampling::kLinear        ? sampler.linear(wide)
                      : sampling == Sampling::kCubic       ? sampler.cubic(wide)
                      : sampling == Sampling::kSmoothCubic ? sampler.smoothed(wide, Filter::kCubic)
                                                           : sampler.smoothed(wide, Filter::kLinear);
  return to_dtype(b, out, dtype);
}

// The nearest number of uint8.
ValueId to_bytes(Builder& b, ValueId x) {
  const ValueId rounded =
      b.call("aten.floor.default", {ValueRef{b.call("aten.add.Scalar", {ValueRef{x}, 0.5})}});
  return to_dtype(b, b.call("aten.clamp.default", {ValueRef{rounded}, Dim(0), Dim(255)}), Dtype::UINT8);
}

template <class A>
Values resample(Builder& b, const A& a, Sampling sampling) {
  const Dtype dtype = a.input().spec().dtype;
  if (a.input().spec().rank() != 4 || !(ops::is_floating(dtype) || dtype == Dtype::UINT8)) {
    a.fail("input of rank " + std::to_string(a.input().spec().rank()) + " and dtype " +
           std::string(ops::to_text(dtype)) + ", expected images of floats or uint8 (rank 4)");
    return {};
  }
  const bool is_bytes = dtype == Dtype::UINT8;
  const ValueId in = is_bytes ? to_dtype(b, a.input(), Dtype::FLOAT32) : ValueId(a.input());
  ValueId wide = resampled_axis(b, a, in, 1, sampling);
  if (!a.error().empty()) return {};
  // PyTorch rounds an image of bytes between the axes too.
  if (is_bytes) wide = to_dtype(b, to_bytes(b, wide), Dtype::FLOAT32);
  const ValueId out = resampled_axis(b, a, wide, 0, sampling);
  if (!a.error().empty()) return {};
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
  for (size_t i = 0; i < 3 && a.error().empty(); ++i) x = resampled_axis(b, a, x, i, Sampling::kLinear);
  if (!a.error().empty()) return {};
  return {x};
}

// Gathers the nearest elements: those at the corners of the output's elements, or "exact" at their centres.
template <size_t Rank, bool IsExact, class A>
Values nearest(Builder& b, const A& a) {
  if (a.input().spec().rank() != Rank) return {};
  ValueId x = a.input();
  for (size_t i = 0; i + 2 < Rank; ++i) {
    const AxisSizes sizes = sizes_of_axis(b, a, i, false);
    if (!a.error().empty()) return {};
    if (!is_static(sizes)) {
      x = AxisSampler(b, sizes, i + 2, Dtype::FLOAT32).nearest(x, IsExact);
      continue;
    }
    const Axis axis = known_axis(a, sizes);
    if (!a.error().empty()) return {};
    const std::vector<int64_t> nearest = nearest_elements(axis, IsExact);
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
  return resample(b, a, Sampling::kCubic);
}
Values smooth_bicubic(Builder& b, const ops::_upsample_bicubic2d_aa_vec<Call>& a) {
  return resample(b, a, Sampling::kSmoothCubic);
}
Values smooth_bilinear(Builder& b, const ops::_upsample_bilinear2d_aa_vec<Call>& a) {
  return resample(b, a, Sampling::kSmoothLinear);
}

// ---- The forms with one number per axis call those with lists (vec). Given scales determine the result alone.

template <class A>
Values as_lists(Builder& b, const A& a, const std::vector<infer::NumberArgument>& scales,
                std::optional<bool> aligns_corners) {
  ir::FloatList factors;
  for (const infer::NumberArgument& scale : scales)
    if (scale.has_value()) factors.push_back(scale.number());
  const bool has_scales = factors.size() == scales.size();
  std::string name = A::kName;
  name.replace(name.rfind('.'), std::string::npos, ".vec");
  std::vector<Argument> args = {a.self(),
                                has_scales ? Argument(Nothing{}) : Argument(a.output_size().dims())};
  if (aligns_corners) args.emplace_back(*aligns_corners);
  args.push_back(has_scales ? Argument(std::move(factors)) : Argument(Nothing{}));
  return {b.call(name, std::move(args))};
}
template <class A>
Values nearest1d(Builder& b, const A& a) {
  return as_lists(b, a, {a.scales()}, std::nullopt);
}
template <class A>
Values nearest2d(Builder& b, const A& a) {
  return as_lists(b, a, {a.scales_h(), a.scales_w()}, std::nullopt);
}
template <class A>
Values nearest3d(Builder& b, const A& a) {
  return as_lists(b, a, {a.scales_d(), a.scales_h(), a.scales_w()}, std::nullopt);
}
Values linear1d(Builder& b, const ops::upsample_linear1d_default<Call>& a) {
  return as_lists(b, a, {a.scales()}, a.align_corners());
}
template <class A>
Values filtered2d(Builder& b, const A& a) {
  return as_lists(b, a, {a.scales_h(), a.scales_w()}, a.align_corners());
}
Values linear3d(Builder& b, const ops::upsample_trilinear3d_default<Call>& a) {
  return as_lists(b, a, {a.scales_d(), a.scales_h(), a.scales_w()}, a.align_corners());
}

}  // namespace

std::span<const Decomposition> resampling_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_upsample_bicubic2d_aa_default, filtered2d>(),
      row<ops::_upsample_bicubic2d_aa_vec, smooth_bicubic>(),
      row<ops::_upsample_bilinear2d_aa_vec, smooth_bilinear>(),
      row<ops::_upsample_nearest_exact1d_default, nearest1d>(),
      row<ops::_upsample_nearest_exact1d_vec, nearest<3, true>>(),
      row<ops::_upsample_nearest_exact2d_default, nearest2d>(),
      row<ops::_upsample_nearest_exact2d_vec, nearest<4, true>>(),
      row<ops::_upsample_nearest_exact3d_default, nearest3d>(),
      row<ops::_upsample_nearest_exact3d_vec, nearest<5, true>>(),
      row<ops::affine_grid_generator_default, affine_grid>(),
      row<ops::grid_sampler_default, grid_sampler>(),
      row<ops::upsample_bicubic2d_default, filtered2d>(),
      row<ops::upsample_bicubic2d_vec, bicubic>(),
      row<ops::upsample_bilinear2d_default, filtered2d>(),
      row<ops::upsample_linear1d_default, linear1d>(),
      row<ops::upsample_nearest1d_default, nearest1d>(),
      row<ops::upsample_nearest2d_default, nearest2d>(),
      row<ops::upsample_nearest3d_default, nearest3d>(),
      row<ops::upsample_nearest3d_vec, nearest<5, false>>(),
      row<ops::upsample_trilinear3d_default, linear3d>(),
      row<ops::upsample_trilinear3d_vec, trilinear>(),
  };
  return kRows;
}

}  // namespace etb::passes
