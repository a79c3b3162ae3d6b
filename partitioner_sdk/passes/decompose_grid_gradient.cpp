// SPDX-License-Identifier: Apache-2.0
// Gradients of grid_sampler_2d and grid_sampler_3d. Each output reads the pixels at the corners around its position. Its gradient
// is added to those pixels, and the difference of their values along an axis is the slope of the position.
#include "ops/grid_sampler_2d_backward.hpp"
#include "ops/grid_sampler_3d_backward.hpp"
#include "partitioner_sdk/passes/arithmetic.hpp"

namespace etb::passes {

namespace {

enum Interpolation : int64_t { kLinear = 0, kNearest = 1 };
enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

// The positions of all outputs along one axis of the image, [N, P].
struct Position {
  ValueId at;     // in pixels
  ValueId slope;  // by the coordinate of the grid
  double size;    // of the image
};

class GridGradient {
 public:
  GridGradient(Builder& b, size_t axes, int64_t padding, bool aligns_corners)
      : b_(b), m_(b), axes_(axes), padding_(padding), aligns_corners_(aligns_corners) {}

  // `grid` is [N, P, axes], x first; `sizes` are those of the image, outermost first.
  void place(ValueId grid, const std::vector<double>& sizes) {
    for (size_t i = 0; i < axes_; ++i) {
      const Dim component(static_cast<int64_t>(axes_ - 1 - i));
      const ValueId line = b_.call("aten.select.int", {ValueRef{grid}, Dim(-1), component});
      positions_.push_back(padded(line, sizes[i]));
    }
  }

  // Adds `grad`, [N, C, P], to the pixels of zeros, [N, C, ...] in one line.
  ValueId of_input(ValueId grad, ValueId zeros, bool is_nearest) {
    ValueId sum = zeros;
    for (size_t corner = 0; corner < (is_nearest ? 1 : size_t{1} << axes_); ++corner) {
      const Corner c = at_corner(corner, is_nearest);
      const ValueId weight = is_nearest ? c.is_inside : m_.mul(c.weight, c.is_inside);
      const ValueId share = m_.mul(grad, m_.unsqueeze(weight, 1));
      sum = b_.call("aten.scatter_add.default",
                    {ValueRef{sum}, Dim(2), ValueRef{spread(c.index, grad)}, ValueRef{share}});
    }
    return sum;
  }

  // The gradient of the grid, [N, P, axes], for pixels in one line, [N, C, ...].
  ValueId of_grid(ValueId grad, ValueId pixels) {
    std::vector<ValueId> slopes(axes_, ir::kNoValue);
    for (size_t corner = 0; corner < size_t{1} << axes_; ++corner) {
      const Corner c = at_corner(corner, false);
      const ValueId values =
          b_.call("aten.gather.default", {ValueRef{pixels}, Dim(2), ValueRef{spread(c.index, grad)}});
      const ValueId dot = m_.mul(m_.sum(m_.mul(grad, values), {Dim(1)}), c.is_inside);
      for (size_t i = 0; i < axes_; ++i) {
        ValueId part = dot;
        for (size_t other = 0; other < axes_; ++other)
          if (other != i) part = m_.mul(part, c.weights[other]);
        if ((corner >> i & 1) == 0) part = m_.times(part, -1);
        slopes[i] = slopes[i] == ir::kNoValue ? part : m_.add(slopes[i], part);
      }
    }
    ir::ValueList list;
    for (size_t i = axes_; i-- > 0;) list.ids.push_back(m_.mul(slopes[i], positions_[i].slope));
    return b_.call("aten.stack.default", {std::move(list), Dim(-1)});
  }

 private:
  struct Corner {
    ValueId index;                 // in the image as one line, [N, P]
    ValueId is_inside;             // 1 in the image, else 0
    ValueId weight;                // the product of `weights`
    std::vector<ValueId> weights;  // by axis
  };

  ValueId constant(ValueId like, double value) {
    return b_.call("aten.full_like.default", {ValueRef{like}, value});
  }
  ValueId compare(const char* op, ValueId x, double y) { return b_.call(op, {ValueRef{x}, y}); }
  ValueId choose(ValueId condition, ValueId x, ValueId y) {
    return b_.call("aten.where.self", {ValueRef{condition}, ValueRef{x}, ValueRef{y}});
  }

  Position padded(ValueId coordinate, double size) {
    const double factor = aligns_corners_ ? (size - 1) / 2 : size / 2;
    ValueId at = m_.times(m_.plus(coordinate, 1), factor);
    if (!aligns_corners_) at = m_.plus(at, -0.5);
    ValueId slope = constant(at, factor);
    if (padding_ == kReflection) reflect(at, slope, size);
    if (padding_ != kZeros) {
      const ValueId is_free = b_.call(
          "aten.logical_and.default",
          {ValueRef{compare("aten.gt.Scalar", at, 0)}, ValueRef{compare("aten.lt.Scalar", at, size - 1)}});
      slope = m_.mul(slope, is_free);
      at = b_.call("aten.clamp.default", {ValueRef{at}, 0.0, size - 1});
    }
    return {at, slope, size};
  }

  // Positions turn back at the ends: the pixels' centres with align_corners, else their borders.
  void reflect(ValueId& at, ValueId& slope, double size) {
    const double low = aligns_corners_ ? 0 : -0.5, span = aligns_corners_ ? size - 1 : size;
    if (span <= 0) {
      at = m_.times(at, 0);
      slope = m_.times(slope, 0);
      return;
    }
    const ValueId shifted = m_.plus(at, -low);
    const ValueId distance = m_.call("aten.abs.default", shifted);
    const ValueId turns = m_.call("aten.floor.default", m_.times(distance, 1 / span));
    const ValueId rest = m_.sub(distance, m_.times(turns, span));
    const ValueId half = m_.times(turns, 0.5);
    const ValueId is_odd =
        b_.call("aten.ne.Tensor", {ValueRef{half}, ValueRef{m_.call("aten.floor.default", half)}});
    at = m_.plus(choose(is_odd, m_.plus(m_.times(rest, -1), span), rest), low);
    const ValueId is_negative = compare("aten.lt.Scalar", shifted, 0);
    const ValueId turned = choose(is_odd, m_.times(slope, -1), slope);
    slope = choose(is_negative, m_.times(turned, -1), turned);
  }

  // Bit i of `corner` chooses the second of the two pixels along axis i.
  Corner at_corner(size_t corner, bool is_nearest) {
    Corner out{ir::kNoValue, ir::kNoValue, ir::kNoValue, {}};
    for (size_t i = 0; i < axes_; ++i) {
      const Position& p = positions_[i];
      const bool is_second = (corner >> i & 1) != 0;
      ValueId pixel = m_.call(is_nearest ? "aten.round.default" : "aten.floor.default", p.at);
      const ValueId rest = m_.sub(p.at, pixel);
      out.weights.push_back(is_second ? rest : m_.plus(m_.times(rest, -1), 1));
      if (is_second) pixel = m_.plus(pixel, 1);
      const ValueId is_inside =
          b_.call("aten.logical_and.default", {ValueRef{compare("aten.ge.Scalar", pixel, 0)},
                                               ValueRef{compare("aten.le.Scalar", pixel, p.size - 1)}});
      const ValueId inside = to_dtype(b_, is_inside, b_.spec(p.at).dtype);
      // Also a position that is not a number reads inside of the image.
      const ValueId safe = choose(is_inside, pixel, constant(pixel, 0));
      const ValueId index = to_dtype(b_, safe, Dtype::INT64);
      if (i == 0) {
        out.index = index;
        out.is_inside = inside;
        out.weight = out.weights[0];
        continue;
      }
      const ValueId before =
          b_.call("aten.mul.Scalar", {ValueRef{out.index}, Dim(static_cast<int64_t>(p.size))});
      out.index = m_.add(before, index);
      out.is_inside = m_.mul(out.is_inside, inside);
      out.weight = m_.mul(out.weight, out.weights[i]);
    }
    return out;
  }

  // Repeats an index for each channel.
  ValueId spread(ValueId index, ValueId grad) {
    return b_.call("aten.expand.default", {ValueRef{m_.unsqueeze(index, 1)}, sizes_of(b_, grad)});
  }

  Builder& b_;
  Arithmetic m_;
  size_t axes_;
  int64_t padding_;
  bool aligns_corners_;
  std::vector<Position> positions_;  // outermost axis first
};

template <size_t kAxes, class A>
bool is_supported(const A& a) {
  const TensorSpec &in = a.input().spec(), &grid = a.grid().spec(), &grad = a.grad_output().spec();
  const int64_t interpolation = a.interpolation_mode().integer(), padding = a.padding_mode().integer();
  if (in.rank() != kAxes + 2 || grid.rank() != kAxes + 2 || grad.rank() != kAxes + 2 ||
      !grid.sizes.back().is(kAxes)) {
    a.fail("input of rank " + std::to_string(in.rank()) + ", grid of rank " + std::to_string(grid.rank()) +
           ", expected images and positions of " + std::to_string(kAxes) + " axes");
  } else if (interpolation < kLinear || interpolation > kNearest || padding < kZeros ||
             padding > kReflection) {
    a.fail("interpolation_mode " + std::to_string(interpolation) + " and padding_mode " +
           std::to_string(padding) + ", expected bilinear (0) or nearest (1), and 0 to 2");
  }
  for (size_t i = 2; i < in.rank(); ++i)
    if (!in.sizes[i].is_static() || in.sizes[i].value() < 1)
      a.fail(
          "the size of the image is known only at run time\nhint: export the model with static image sizes");
  return a.error().empty();
}

template <int64_t kAxes, class A>
Values grid_gradient(Builder& b, const A& a) {
  if (!is_supported<kAxes>(a)) return {};
  Arithmetic m(b);
  const TensorSpec in = a.input().spec(), grid = a.grid().spec(), grad = a.grad_output().spec();
  const Dtype wide = wide_dtype(in.dtype);
  const bool is_nearest = a.interpolation_mode().integer() == kNearest;
  const Dims image(in.sizes.begin() + 2, in.sizes.end());
  const Dim outputs = ir::numel(b.symbols(), Dims(grad.sizes.begin() + 2, grad.sizes.end()));
  const Dims line = {in.sizes[0], in.sizes[1], ir::numel(b.symbols(), image)};
  std::vector<double> sizes;
  for (const Dim size : image) sizes.push_back(static_cast<double>(size.value()));
  GridGradient gradient(b, kAxes, a.padding_mode().integer(), a.align_corners());
  gradient.place(reshape(b, to_dtype(b, a.grid(), wide), {grid.sizes[0], outputs, Dim(kAxes)}), sizes);
  const ValueId flat =
      reshape(b, to_dtype(b, a.grad_output(), wide), {grad.sizes[0], grad.sizes[1], outputs});
  ValueId of_input = m.left_out(in.dtype), of_grid = m.zeros(grid.sizes, grid.dtype);
  if (a.output_mask().at(0)) {
    const ValueId sum = gradient.of_input(flat, m.zeros(line, wide), is_nearest);
    of_input = to_dtype(b, reshape(b, sum, in.sizes), in.dtype);
  }
  if (!is_nearest && a.output_mask().at(1)) {
    const ValueId slopes = gradient.of_grid(flat, reshape(b, to_dtype(b, a.input(), wide), line));
    of_grid = to_dtype(b, reshape(b, slopes, grid.sizes), grid.dtype);
  }
  return {of_input, a.output_mask().at(1) ? of_grid : m.left_out(grid.dtype)};
}

}  // namespace

std::span<const Decomposition> grid_gradient_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::grid_sampler_2d_backward_default, grid_gradient<2>>(),
      row<ops::grid_sampler_3d_backward_default, grid_gradient<3>>(),
  };
  return kRows;
}

}  // namespace etb::passes
