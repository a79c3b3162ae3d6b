// SPDX-License-Identifier: Apache-2.0
// Pools over volumes, as a pool over planes and one over depth: a maximum of maxima, or a mean of means, whose
// window is a product of ranges. Adaptive maximum pools gather their windows, whose ranges are constants.
#include <algorithm>

#include "ops/_adaptive_avg_pool3d.hpp"
#include "ops/adaptive_avg_pool3d.hpp"
#include "ops/adaptive_max_pool1d.hpp"
#include "ops/adaptive_max_pool2d.hpp"
#include "ops/adaptive_max_pool3d.hpp"
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

// The elements of each window along an axis of `in` elements, windows of equal length: a shorter window repeats its last
// element, which changes no maximum.
struct Windows {
  std::vector<int64_t> elements;  // [out, length]
  int64_t length = 0;
};
Windows adaptive_windows(int64_t in, int64_t out) {
  const auto begin = [&](int64_t o) { return o * in / out; };
  const auto end = [&](int64_t o) { return ((o + 1) * in + out - 1) / out; };
  Windows windows;
  for (int64_t o = 0; o < out; ++o) windows.length = std::max(windows.length, end(o) - begin(o));
  for (int64_t o = 0; o < out; ++o)
    for (int64_t i = 0; i < windows.length; ++i)
      windows.elements.push_back(std::min(begin(o) + i, end(o) - 1));
  return windows;
}

// The index in the image of each element of each window.
struct WindowTable {
  std::vector<int64_t> places = {0};  // [outputs, elements]
  int64_t outputs = 1, elements = 1;

  // Splits each output into the windows of a further axis, and each element into theirs.
  void add_axis(const Windows& axis, int64_t in) {
    const int64_t count = static_cast<int64_t>(axis.elements.size()) / axis.length;
    std::vector<int64_t> finer;
    for (int64_t o = 0; o < outputs * count; ++o)
      for (int64_t e = 0; e < elements * axis.length; ++e)
        finer.push_back(places[static_cast<size_t>(o / count * elements + e / axis.length)] * in +
                        axis.elements[static_cast<size_t>(o % count * axis.length + e % axis.length)]);
    places = std::move(finer);
    outputs *= count;
    elements *= axis.length;
  }
};

// Returns the maxima and the index of each in its image, as PyTorch counts: row-major over the pooled axes.
template <size_t kAxes, class A>
Values adaptive_max_pool(Builder& b, const A& a) {
  const TensorSpec in = a.self().spec();
  const Dims wanted = a.output_size().dims();
  constexpr int64_t kMaxElements = 1 << 24;
  if (in.rank() <= kAxes || wanted.size() != kAxes) return {};
  const size_t lead = in.rank() - kAxes;
  const Dims lead_sizes(in.sizes.begin(), in.sizes.begin() + static_cast<std::ptrdiff_t>(lead));
  ValueId x = a.self();
  WindowTable table;
  Dims split_sizes = lead_sizes, out_sizes = lead_sizes, lines = lead_sizes, order;
  for (size_t i = 0; i < kAxes; ++i) {
    const Dim from = in.sizes[lead + i];
    if (!from.is_static() || !wanted[i].is_static() || from.value() < 1 || wanted[i].value() < 1 ||
        from.value() > kMaxElements || wanted[i].value() > kMaxElements) {
      a.fail("the size of the image or of the result is known only at run time, or 0");
      return {};
    }
    const Windows axis = adaptive_windows(from.value(), wanted[i].value());
    const auto elements = static_cast<int64_t>(axis.elements.size());
    if (table.outputs * table.elements * elements > kMaxElements) {
      a.fail("windows of more than " + std::to_string(kMaxElements) + " elements together");
      return {};
    }
    const ValueId index = add_elements(b, Dtype::INT64, {elements}, axis.elements);
    x = b.call("aten.index_select.default",
               {ValueRef{x}, Dim(static_cast<int64_t>(lead + i)), ValueRef{index}});
    table.add_axis(axis, from.value());
    split_sizes.insert(split_sizes.end(), {wanted[i], Dim(axis.length)});
    out_sizes.push_back(wanted[i]);
  }
  for (size_t i = 0; i < lead; ++i) order.emplace_back(static_cast<int64_t>(i));
  for (const size_t part : {0, 1})
    for (size_t i = 0; i < kAxes; ++i) order.emplace_back(static_cast<int64_t>(lead + 2 * i + part));
  const ValueId cut = reshape(b, x, std::move(split_sizes));
  const ValueId turned = b.call("aten.permute.default", {ValueRef{cut}, std::move(order)});
  lines.insert(lines.end(), {Dim(table.outputs), Dim(table.elements)});
  const std::vector<ValueId> largest =
      b.call_all("aten.max.dim", {ValueRef{reshape(b, turned, lines)}, Dim(-1), true});
  const ValueId places = add_elements(b, Dtype::INT64, {table.outputs, table.elements}, table.places);
  const ValueId spread = b.call("aten.expand.default", {ValueRef{places}, Argument(lines)});
  const ValueId found = b.call("aten.gather.default", {ValueRef{spread}, Dim(-1), ValueRef{largest[1]}});
  return {reshape(b, largest[0], out_sizes), reshape(b, found, out_sizes)};
}

}  // namespace

std::span<const Decomposition> pool_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_adaptive_avg_pool3d_default, adaptive_avg_pool3d>(),
      row<ops::adaptive_avg_pool3d_default, adaptive_avg_pool3d>(),
      row<ops::adaptive_max_pool1d_default, adaptive_max_pool<1>>(),
      row<ops::adaptive_max_pool2d_default, adaptive_max_pool<2>>(),
      row<ops::adaptive_max_pool3d_default, adaptive_max_pool<3>>(),
      row<ops::avg_pool3d_default, avg_pool3d>(),
      row<ops::max_pool3d_default, max_pool3d>(),
      row<ops::max_pool3d_with_indices_default, max_pool3d>(),
  };
  return kRows;
}

}  // namespace etb::passes
