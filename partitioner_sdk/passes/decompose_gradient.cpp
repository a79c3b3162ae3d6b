// SPDX-License-Identifier: Apache-2.0
// torch.gradient: central differences along dimensions, and one-sided differences at the edges.
#include "ops/gradient.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

// The gradient along one dimension of one tensor.
class Slope {
 public:
  Slope(Builder& b, ValueId in, int64_t dim, int64_t edge_order)
      : b_(b), in_(in), dim_(dim), edge_order_(edge_order) {}

  // Points at equal distances.
  ValueId evenly(const Argument& spacing) {
    const auto over_spacing = [&](ValueId value) {
      return b_.call("aten.div.Scalar", {ValueRef{value}, spacing});
    };
    const ValueId middle = over_spacing(sub(from(2), part(0, -2)));
    const auto edge = [&](ValueId near, ValueId next, ValueId far, double sign) {
      if (edge_order_ == 1) return over_spacing(sign > 0 ? sub(near, next) : sub(next, near));
      const ValueId a = times(near, 1.5 * sign), c = times(far, 0.5 * sign);
      return over_spacing(add(add(a, times(next, -2 * sign)), c));
    };
    const ValueId first = edge(part(0, 1), part(1, 2), far_of(part(1, 2), 2, 3), -1);
    const ValueId last = edge(from(-1), part(-2, -1), far_of(part(-2, -1), -3, -2), 1);
    return join(first, b_.call("aten.div.Scalar", {ValueRef{middle}, Dim(2)}), last);
  }

  // Points whose coordinates are a 1-d tensor. Each slope is that of the parabola through three neighbours.
  ValueId at(ValueId places) {
    const Dim count = b_.spec(places).sizes.at(0);
    const auto piece = [&](ValueId value, Dim begin, Argument end) {
      return b_.call("aten.slice.Tensor", {ValueRef{value}, Dim(0), begin, std::move(end)});
    };
    const ValueId steps = sub(piece(places, 1, count), piece(places, 0, b_.symbols().add(count, Dim(-1))));
    const ValueId before = piece(steps, 0, Dim(-1)), after = piece(steps, 1, Nothing{});
    Dims sizes(b_.spec(in_).rank(), Dim(1));
    sizes[static_cast<size_t>(dim_)] = Dim(-1);
    const auto wide = [&](ValueId value) { return reshape(b_, value, sizes); };
    const ValueId both = add(before, after);
    const ValueId a = wide(div(negative(after), mul(before, both)));
    const ValueId b = wide(div(sub(after, before), mul(before, after)));
    const ValueId c = wide(div(before, mul(after, both)));
    const ValueId middle = add(add(mul(a, part(0, -2)), mul(b, part(1, -1))), mul(c, from(2)));
    return join(edge_at(steps, true), middle, edge_at(steps, false));
  }

 private:
  ValueId slice(Argument begin, Argument end) {
    return b_.call("aten.slice.Tensor", {ValueRef{in_}, Dim(dim_), std::move(begin), std::move(end)});
  }
  ValueId part(int64_t begin, int64_t end) { return slice(Dim(begin), Dim(end)); }
  ValueId from(int64_t begin) { return slice(Dim(begin), Nothing{}); }
  // The third neighbour; an edge of first order does not need it.
  ValueId far_of(ValueId unused, int64_t begin, int64_t end) {
    return edge_order_ == 1 ? unused : part(begin, end);
  }
  ValueId two(const char* op, ValueId x, ValueId y) { return b_.call(op, {ValueRef{x}, ValueRef{y}}); }
  ValueId add(ValueId x, ValueId y) { return two("aten.add.Tensor", x, y); }
  ValueId sub(ValueId x, ValueId y) { return two("aten.sub.Tensor", x, y); }
  ValueId mul(ValueId x, ValueId y) { return two("aten.mul.Tensor", x, y); }
  ValueId div(ValueId x, ValueId y) { return two("aten.div.Tensor", x, y); }
  ValueId times(ValueId x, double by) { return b_.call("aten.mul.Scalar", {ValueRef{x}, by}); }
  ValueId negative(ValueId x) { return b_.call("aten.neg.default", {ValueRef{x}}); }
  ValueId join(ValueId first, ValueId middle, ValueId last) {
    return b_.call("aten.cat.default", {ir::ValueList{{first, middle, last}}, Dim(dim_)});
  }

  ValueId edge_at(ValueId steps, bool is_first) {
    const auto step = [&](int64_t first, int64_t last) {
      return b_.call("aten.select.int", {ValueRef{steps}, Dim(0), Dim(is_first ? first : last)});
    };
    const ValueId near = is_first ? part(0, 1) : from(-1), next = is_first ? part(1, 2) : part(-2, -1);
    if (edge_order_ == 1) return div(is_first ? sub(next, near) : sub(near, next), step(0, -1));
    const ValueId far = is_first ? part(2, 3) : part(-3, -2);
    const ValueId h = step(0, -1), k = step(1, -2), both = add(h, k);
    const ValueId a = div(add(times(h, 2), k), mul(h, both));
    const ValueId b = div(both, mul(h, k));
    const ValueId c = div(h, mul(k, both));
    // The parabola at the last edge mirrors the one at the first edge.
    const ValueId slope = add(sub(mul(a, near), mul(b, next)), mul(c, far));
    return is_first ? negative(slope) : slope;
  }

  Builder& b_;
  ValueId in_;
  int64_t dim_;
  int64_t edge_order_;
};

// Returns the dimensions that an argument names; all when it is none, as in PyTorch.
template <class Dimensions>
std::vector<int64_t> axes_of(const Call& a, const Dimensions& named, size_t rank) {
  std::vector<int64_t> axes;
  if (!named.has_value()) {
    for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
    return axes;
  }
  for (const Dim dim : named.dims()) {
    if (dim.is_static()) axes.push_back(static_cast<int64_t>(a.axis(dim.value(), rank)));
  }
  return axes;
}

// Returns one number for each of `count` dimensions; a single number applies to all.
std::vector<Argument> spacings(const Call& a, const infer::AnyArgument& spacing, size_t count) {
  const Argument& given = spacing;
  std::vector<Argument> out;
  if (const auto* numbers = ir::get_if<ir::FloatList>(given)) {
    for (const double number : *numbers) out.emplace_back(number);
  } else if (const auto* dims = ir::get_if<Dims>(given)) {
    for (const Dim dim : *dims) out.emplace_back(dim);
  } else {
    out.assign(count, spacing.has_value() ? given : Argument(1.0));
  }
  if (out.size() != count)
    a.fail(std::to_string(out.size()) + " spacings for " + std::to_string(count) +
           " dimensions, expected one each");
  return out;
}

Values even_gradient(Builder& b, ValueId self, const std::vector<int64_t>& axes,
                     const std::vector<Argument>& steps, int64_t edge_order) {
  Values out;
  for (size_t i = 0; i < axes.size() && i < steps.size(); ++i)
    out.push_back(Slope(b, self, axes[i], edge_order).evenly(steps[i]));
  return out;
}

Values gradient(Builder& b, const ops::gradient_array<Call>& a) {
  const std::vector<int64_t> axes = axes_of(a, a.dim(), a.self().spec().rank());
  return even_gradient(b, a.self(), axes, std::vector<Argument>(axes.size(), 1.0), a.edge_order().integer());
}
template <class A>
Values spaced_gradient(Builder& b, const A& a) {
  const std::vector<int64_t> axes = axes_of(a, a.dim(), a.self().spec().rank());
  return even_gradient(b, a.self(), axes, spacings(a, a.spacing(), axes.size()), a.edge_order().integer());
}
template <class A>
Values placed_gradient(Builder& b, const A& a) {
  const std::vector<int64_t> axes = axes_of(a, a.dim(), a.self().spec().rank());
  const std::vector<ValueId> places = a.spacing().ids();
  if (places.size() != axes.size())
    a.fail(std::to_string(places.size()) + " tensors of coordinates for " + std::to_string(axes.size()) +
           " dimensions, expected one each");
  Values out;
  for (size_t i = 0; i < axes.size() && i < places.size(); ++i)
    out.push_back(Slope(b, a.self(), axes[i], a.edge_order().integer()).at(places[i]));
  return out;
}

}  // namespace

std::span<const Decomposition> gradient_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::gradient_array, gradient>(),
      row<ops::gradient_scalararray, spaced_gradient>(),
      row<ops::gradient_scalarint, spaced_gradient>(),
      row<ops::gradient_scalarrayarray, spaced_gradient>(),
      row<ops::gradient_scalarrayint, spaced_gradient>(),
      row<ops::gradient_tensorarray, placed_gradient>(),
      row<ops::gradient_tensorarrayint, placed_gradient>(),
  };
  return kRows;
}

}  // namespace etb::passes
