// SPDX-License-Identifier: Apache-2.0
// Resampling with weights that are known at compile time: one product with a weight matrix per axis, which
// every matrix kernel and plugin runs. Also the grids of sampling positions.
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
#include "partitioner_sdk/passes/axis_weights.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

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
  set_step(a, axis, has_factor ? (*factors)[index] : 0);
  return axis;
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
  return resample(b, a, cubic_weights);
}
Values smooth_bicubic(Builder& b, const ops::_upsample_bicubic2d_aa_vec<Call>& a) {
  return resample(b, a, [](const Axis& axis) { return smoothing_weights(axis, Filter::kCubic); });
}
Values smooth_bilinear(Builder& b, const ops::_upsample_bilinear2d_aa_vec<Call>& a) {
  return resample(b, a, [](const Axis& axis) { return smoothing_weights(axis, Filter::kLinear); });
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
