// SPDX-License-Identifier: Apache-2.0
// Pools over volumes, as a pool over planes and one over depth: a maximum of maxima, or a mean of means, whose
// window is a product of ranges.
#include <algorithm>

#include "ops/_adaptive_avg_pool3d.hpp"
#include "ops/adaptive_avg_pool3d.hpp"
#include "ops/adaptive_max_pool1d.hpp"
#include "ops/avg_pool3d.hpp"
#include "ops/max_pool3d.hpp"
#include "ops/max_pool3d_with_indices.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

// Pools the last two dimensions of [lead..., depth, height, width], then depth. `planes` and `depth` pool the last two
// dimensions of a tensor of rank 4.
template <class Planes, class Depth>
Values pool_volume(Builder& b, const Call& a, ValueId x, Planes planes, Depth depth) {
  const TensorSpec in = b.spec(x);
  if (in.rank() < 4) {
    a.fail("input of rank " + std::to_string(in.rank()) + ", expected volumes (rank 4 or 5)");
    return {};
  }
  const auto lead_end = in.sizes.end() - 3;
  Dim count = 1;
  for (auto size = in.sizes.begin(); size != lead_end; ++size) count = b.symbols().mul(count, *size);
  const ValueId volumes = reshape(b, x, {count, lead_end[0], lead_end[1], lead_end[2]});
  const ValueId pooled = planes(volumes);
  const Dims flat = sizes_of(b, pooled);
  const Dim area = b.symbols().mul(flat[2], flat[3]);
  const ValueId columns = reshape(b, pooled, {count, Dim(1), flat[1], area});
  const ValueId out = depth(columns);
  Dims sizes(in.sizes.begin(), lead_end);
  sizes.insert(sizes.end(), {sizes_of(b, out).at(2), flat[2], flat[3]});
  return {reshape(b, out, std::move(sizes))};
}

// The argument of a volume as the arguments of its planes and of its depth. One number is that of all three axes.
struct Split {
  Dims planes, depth;
};
Split split(const Dims& list, const Dims& absent, int64_t across) {
  const Dims all = list.empty() ? absent : list.size() == 1 ? Dims(3, list[0]) : list;
  if (all.size() != 3) return {};
  return {{all[1], all[2]}, {all[0], Dim(across)}};
}

// The index in its volume of each maximum. The second pool chose a plane, and a place in it, for which the first pool
// chose the place in the whole plane.
ValueId volume_indices(Builder& b, const TensorSpec& in, ValueId in_planes, ValueId in_columns, Dims sizes) {
  ir::SymbolTable& symbols = b.symbols();
  const Dims planes = sizes_of(b, in_planes), columns = sizes_of(b, in_columns);
  const Dim area = columns[3], plane = symbols.mul(in.sizes.end()[-2], in.sizes.end()[-1]);
  const ValueId places = reshape(b, in_planes, {planes[0], symbols.mul(planes[1], area)});
  const ValueId chosen = reshape(b, in_columns, {columns[0], symbols.mul(columns[2], area)});
  const ValueId in_plane = b.call("aten.gather.default", {ValueRef{places}, Dim(1), ValueRef{chosen}});
  const ValueId depth =
      b.call("aten.div.Tensor_mode", {ValueRef{chosen}, area}, {{"rounding_mode", std::string("floor")}});
  const ValueId before = b.call("aten.mul.Tensor", {ValueRef{depth}, plane});
  const ValueId index = b.call("aten.add.Tensor", {ValueRef{before}, ValueRef{in_plane}});
  return reshape(b, index, std::move(sizes));
}

// Returns the maxima, and the index of each in its volume.
template <class A>
Values max_pool3d(Builder& b, const A& a) {
  const Dims kernel = a.kernel_size().dims();
  const Split size = split(kernel, kernel, 1), stride = split(a.stride().dims(), kernel, 1),
              padding = split(a.padding().dims(), Dims(3, Dim(0)), 0),
              dilation = split(a.dilation().dims(), Dims(3, Dim(1)), 1);
  const auto pool = [&](ValueId x, const Dims& k, const Dims& s, const Dims& p, const Dims& d) {
    return b.call_all("aten.max_pool2d_with_indices.default", {ValueRef{x}, k, s, p, d, a.ceil_mode()});
  };
  Values in_planes, in_columns;
  Values out = pool_volume(
      b, a, a.self(),
      [&](ValueId x) {
        in_planes = pool(x, size.planes, stride.planes, padding.planes, dilation.planes);
        return in_planes.at(0);
      },
      [&](ValueId x) {
        in_columns = pool(x, size.depth, stride.depth, padding.depth, dilation.depth);
        return in_columns.at(0);
      });
  if (out.empty()) return {};
  out.push_back(volume_indices(b, a.self().spec(), in_planes.at(1), in_columns.at(1), sizes_of(b, out[0])));
  return out;
}

// Integers are summed and divided once, because a mean of means truncates twice. All windows then have one divisor.
Values avg_pool3d(Builder& b, const ops::avg_pool3d_default<Call>& a) {
  const Dims kernel = a.kernel_size().dims();
  const Split size = split(kernel, kernel, 1), stride = split(a.stride().dims(), kernel, 1),
              padding = split(a.padding().dims(), Dims(3, Dim(0)), 0);
  const Dims pads = a.padding().dims();
  const bool is_integer = !ops::is_floating(a.self().spec().dtype),
             has_divisor = a.divisor_override().has_value();
  const bool has_padding = std::any_of(pads.begin(), pads.end(), [](Dim pad) { return !pad.is(0); });
  if (is_integer && !has_divisor && (a.ceil_mode() || (has_padding && !a.count_include_pad()))) {
    a.fail("windows of integers with different divisors\nhint: convert the input to float32");
    return {};
  }
  const Argument own = has_divisor || is_integer ? Argument(Dim(1)) : Argument(Nothing{});
  const Argument first = is_integer ? own : Argument(a.divisor_override());
  const auto pool = [&](ValueId x, const Dims& k, const Dims& s, const Dims& p, const Argument& divisor) {
    return b.call("aten.avg_pool2d.default",
                  {ValueRef{x}, k, s, p, a.ceil_mode(), a.count_include_pad(), divisor});
  };
  Values out = pool_volume(
      b, a, a.self(), [&](ValueId x) { return pool(x, size.planes, stride.planes, padding.planes, first); },
      [&](ValueId x) { return pool(x, size.depth, stride.depth, padding.depth, own); });
  if (!is_integer || out.empty()) return out;
  ir::SymbolTable& symbols = b.symbols();
  const Dim count = symbols.mul(symbols.mul(size.planes.at(0), size.planes.at(1)), size.depth.at(0));
  const Dim divisor = has_divisor ? a.divisor_override().dim() : count;
  return {
      b.call("aten.div.Tensor_mode", {ValueRef{out[0]}, divisor}, {{"rounding_mode", std::string("trunc")}})};
}

template <class A>
Values adaptive_avg_pool3d(Builder& b, const A& a) {
  const Dims sizes = a.output_size().dims();
  if (sizes.size() != 3) return {};
  const auto pool = [&](ValueId x, Dims to) {
    return b.call("aten.adaptive_avg_pool2d.default", {ValueRef{x}, std::move(to)});
  };
  return pool_volume(
      b, a, a.self(),
      [&](ValueId x) {
        return pool(x, {sizes[1], sizes[2]});
      },
      [&](ValueId x) {
        return pool(x, {sizes[0], sizes_of(b, x).at(3)});
      });
}

Values adaptive_max_pool1d(Builder& b, const ops::adaptive_max_pool1d_default<Call>& a) {
  const Dims sizes = a.output_size().dims();
  if (sizes.size() != 1) return {};
  const ValueId image = b.call("aten.unsqueeze.default", {a.self(), Dim(-2)});
  Values out = b.call_all("aten.adaptive_max_pool2d.default", {ValueRef{image}, Dims{Dim(1), sizes[0]}});
  for (ValueId& value : out) value = b.call("aten.squeeze.dims", {ValueRef{value}, Dims{-2}});
  return out;
}

}  // namespace

std::span<const Decomposition> pool_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_adaptive_avg_pool3d_default, adaptive_avg_pool3d>(),
      row<ops::adaptive_avg_pool3d_default, adaptive_avg_pool3d>(),
      row<ops::adaptive_max_pool1d_default, adaptive_max_pool1d>(),
      row<ops::avg_pool3d_default, avg_pool3d>(),
      row<ops::max_pool3d_default, max_pool3d>(),
      row<ops::max_pool3d_with_indices_default, max_pool3d>(),
  };
  return kRows;
}

}  // namespace etb::passes
