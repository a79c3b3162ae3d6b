// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/axis_sampler.hpp"

#include "partitioner_sdk/passes/arithmetic.hpp"

namespace etb::passes {

namespace {

// Keys' cubic kernel at distances of 0 to 1, and of 1 to 2.
ValueId cubic_near(Builder& b, ValueId x, double a) {
  Arithmetic m(b);
  const ValueId slope = m.plus(m.times(x, a + 2), -(a + 3));
  return m.plus(m.mul(m.mul(slope, x), x), 1);
}
ValueId cubic_far(Builder& b, ValueId x, double a) {
  Arithmetic m(b);
  const ValueId inner = m.plus(m.mul(m.plus(x, -5), x), 8);
  return m.times(m.plus(m.mul(inner, x), -4), a);
}

}  // namespace

ValueId AxisSampler::counted(Dim count, Dtype dtype) {
  const ValueId all = b_.call("aten.arange.start_step", {Dim(0), count}, {{"dtype", Dtype::INT64}});
  return to_dtype(b_, all, dtype);
}

// Input elements per output element, as a tensor of one element.
ValueId AxisSampler::step(Dtype dtype) {
  const auto ratio = [&](Dim top, Dim bottom) {
    const ValueId one = b_.call("aten.full.default", {Dims{Dim(1)}, 1.0}, {{"dtype", dtype}});
    const ValueId scaled = b_.call("aten.mul.Scalar", {ValueRef{one}, top});
    return b_.call("aten.div.Scalar", {ValueRef{scaled}, bottom});
  };
  ir::SymbolTable& symbols = b_.symbols();
  if (sizes_.aligns_corners)
    return ratio(symbols.sub(sizes_.in, 1), symbols.max(symbols.sub(sizes_.out, 1), 1));
  if (sizes_.scale > 0)
    return b_.call("aten.full.default", {Dims{Dim(1)}, 1 / sizes_.scale}, {{"dtype", dtype}});
  return ratio(sizes_.in, sizes_.out);
}

// The position of each output element among those of the input.
ValueId AxisSampler::positions() {
  Arithmetic m(b_);
  const ValueId all = counted(sizes_.out, dtype_);
  if (sizes_.aligns_corners) return m.mul(all, step(dtype_));
  return m.plus(m.mul(m.plus(all, 0.5), step(dtype_)), -0.5);
}

// Elements before the first and after the last one are those.
ValueId AxisSampler::gathered(ValueId x, ValueId place) {
  const ValueId whole = to_dtype(b_, place, Dtype::INT64);
  const ValueId inside =
      b_.call("aten.clamp.default", {ValueRef{whole}, Dim(0), b_.symbols().sub(sizes_.in, 1)});
  return b_.call("aten.index_select.default", {ValueRef{x}, Dim(dim_), ValueRef{inside}});
}

ValueId AxisSampler::weighted(ValueId x, ValueId weight) {
  const auto rank = static_cast<int64_t>(b_.spec(x).rank());
  Dims sizes(static_cast<size_t>(rank - dim_), Dim(1));
  sizes[0] = sizes_.out;
  return Arithmetic(b_).mul(x, reshape(b_, weight, std::move(sizes)));
}

// PyTorch computes these positions in float32 for all dtypes; those of centres in float64 before they are rounded.
ValueId AxisSampler::nearest(ValueId x, bool is_exact) {
  Arithmetic m(b_);
  ValueId at = 0;
  if (is_exact) {
    const ValueId wide = to_dtype(b_, step(Dtype::FLOAT32), Dtype::FLOAT64);
    at = to_dtype(b_, m.mul(m.plus(counted(sizes_.out, Dtype::FLOAT64), 0.5), wide), Dtype::FLOAT32);
  } else {
    at = m.mul(counted(sizes_.out, Dtype::FLOAT32), step(Dtype::FLOAT32));
  }
  return gathered(x, m.call("aten.floor.default", at));
}

ValueId AxisSampler::linear(ValueId x) {
  Arithmetic m(b_);
  const ValueId at = b_.call("aten.clamp.default", {ValueRef{positions()}, 0.0});
  const ValueId whole = m.call("aten.floor.default", at), rest = m.sub(at, whole);
  const ValueId first = weighted(gathered(x, whole), m.plus(m.times(rest, -1), 1));
  return m.add(first, weighted(gathered(x, m.plus(whole, 1)), rest));
}

ValueId AxisSampler::cubic(ValueId x) {
  constexpr double kA = -0.75;
  Arithmetic m(b_);
  const ValueId at = positions(), whole = m.call("aten.floor.default", at), rest = m.sub(at, whole);
  const ValueId other = m.plus(m.times(rest, -1), 1);
  const ValueId weights[] = {cubic_far(b_, m.plus(rest, 1), kA), cubic_near(b_, rest, kA),
                             cubic_near(b_, other, kA), cubic_far(b_, m.plus(other, 1), kA)};
  ValueId sum = 0;
  for (int tap = 0; tap < 4; ++tap) {
    const ValueId part = weighted(gathered(x, m.plus(whole, tap - 1)), weights[tap]);
    sum = tap == 0 ? part : m.add(sum, part);
  }
  return sum;
}

// The filter is a matrix [in, out]: the number of elements that it reads is known only at run time.
ValueId AxisSampler::smoothed(ValueId x, Filter filter) {
  constexpr double kA = -0.5;
  Arithmetic m(b_);
  const ValueId stride = step(dtype_);
  const ValueId width = b_.call("aten.clamp.default", {ValueRef{stride}, 1.0});
  const ValueId centers = m.mul(m.plus(counted(sizes_.out, dtype_), 0.5), stride);
  const ValueId elements = m.unsqueeze(m.plus(counted(sizes_.in, dtype_), 0.5), 1);
  const ValueId distance = m.call("aten.abs.default", m.div(m.sub(elements, centers), width));
  ValueId weights = 0;
  if (filter == Filter::kLinear) {
    weights = b_.call("aten.clamp.default", {ValueRef{m.plus(m.times(distance, -1), 1)}, 0.0});
  } else {
    const auto within = [&](double limit, ValueId inside, Argument outside) {
      const ValueId is_inside = b_.call("aten.lt.Scalar", {ValueRef{distance}, limit});
      const bool is_number = ir::get_if<ValueRef>(outside) == nullptr;
      return b_.call(is_number ? "aten.where.ScalarOther" : "aten.where.self",
                     {ValueRef{is_inside}, ValueRef{inside}, std::move(outside)});
    };
    weights = within(2, cubic_far(b_, distance, kA), 0.0);
    weights = within(1, cubic_near(b_, distance, kA), ValueRef{weights});
  }
  const ValueId shares = m.div(weights, m.sum(weights, {Dim(0)}, true));
  const auto last = static_cast<int64_t>(b_.spec(x).rank()) - 1;
  const ValueId line = dim_ == last ? x : transpose(b_, x, dim_, last);
  const ValueId made = matmul(b_, line, shares);
  return dim_ == last ? made : transpose(b_, made, dim_, last);
}

}  // namespace etb::passes
