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

Values max_pool3d(Builder& b, const ops::max_pool3d_default<Call>& a) {
  const Dims kernel = a.kernel_size().dims();
  const Split size = split(kernel, kernel, 1), stride = split(a.stride().dims(), kernel, 1),
              padding = split(a.padding().dims(), Dims(3, Dim(0)), 0),
              dilation = split(a.dilation().dims(), Dims(3, Dim(1)), 1);
  const auto pool = [&](ValueId x, const Dims& k, const Dims& s, const Dims& p, const Dims& d) {
    return b.call("aten.max_pool2d_with_indices.default", {ValueRef{x}, k, s, p, d, a.ceil_mode()});
  };
  return pool_volume(
      b, a, a.self(),
      [&](ValueId x) { return pool(x, size.planes, stride.planes, padding.planes, dilation.planes); },
      [&](ValueId x) { return pool(x, size.depth, stride.depth, padding.depth, dilation.depth); });
}

Values avg_pool3d(Builder& b, const ops::avg_pool3d_default<Call>& a) {
  const Dims kernel = a.kernel_size().dims();
  const Split size = split(kernel, kernel, 1), stride = split(a.stride().dims(), kernel, 1),
              padding = split(a.padding().dims(), Dims(3, Dim(0)), 0);
  const bool has_divisor = a.divisor_override().has_value();
  const auto pool = [&](ValueId x, const Dims& k, const Dims& s, const Dims& p, const Argument& divisor) {
    return b.call("aten.avg_pool2d.default",
                  {ValueRef{x}, k, s, p, a.ceil_mode(), a.count_include_pad(), divisor});
  };
  return pool_volume(
      b, a, a.self(),
      [&](ValueId x) { return pool(x, size.planes, stride.planes, padding.planes, a.divisor_override()); },
      [&](ValueId x) {
        return pool(x, size.depth, stride.depth, padding.depth,
                    has_divisor ? Argument(Dim(1)) : Argument(Nothing{}));
      });
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

// Returns the maxima and the index of each in its image, as PyTorch counts: row-major over the pooled axes.
template <size_t kAxes, class A>
Values adaptive_max_pool(Builder& b, const A& a) {
  const TensorSpec in = a.self().spec();
  const Dims wanted = a.output_size().dims();
  constexpr int64_t kMaxElements = 1 << 24;
  if (in.rank() <= kAxes || wanted.size() != kAxes) return {};
  const size_t lead = in.rank() - kAxes;
  ValueId x = a.self();
  std::vector<int64_t> places = {0};  // of each element of each window, window by window
  int64_t outputs = 1, window = 1;
  Dims split_sizes(in.sizes.begin(), in.sizes.begin() + static_cast<std::ptrdiff_t>(lead)), order,
      out_sizes = split_sizes;
  for (size_t i = 0; i < kAxes; ++i) {
    const Dim from = in.sizes[lead + i];
    if (!from.is_static() || !wanted[i].is_static() || from.value() < 1 || wanted[i].value() < 1 ||
        from.value() > kMaxElements || wanted[i].value() > kMaxElements) {
      a.fail("the size of the image or of the result is known only at run time, or 0");
      return {};
    }
    const int64_t count = wanted[i].value();
    const Windows axis = adaptive_windows(from.value(), count);
    const auto elements = static_cast<int64_t>(axis.elements.size());
    if (outputs * window * elements > kMaxElements) {
      a.fail("windows of more than " + std::to_string(kMaxElements) + " elements together");
      return {};
    }
    const ValueId index = add_elements(b, Dtype::INT64, {elements}, axis.elements);
    x = b.call("aten.index_select.default",
               {ValueRef{x}, Dim(static_cast<int64_t>(lead + i)), ValueRef{index}});
    // Each output so far splits into `count` ones, each element of its window into `length` ones.
    std::vector<int64_t> finer;
    for (int64_t o = 0; o < outputs; ++o)
      for (int64_t c = 0; c < count; ++c)
        for (int64_t w = 0; w < window; ++w)
          for (int64_t l = 0; l < axis.length; ++l)
            finer.push_back(places[static_cast<size_t>(o * window + w)] * from.value() +
                            axis.elements[static_cast<size_t>(c * axis.length + l)]);
    places = std::move(finer);
    outputs *= count;
    window *= axis.length;
    split_sizes.insert(split_sizes.end(), {Dim(count), Dim(axis.length)});
    out_sizes.emplace_back(count);
  }
  for (size_t i = 0; i < lead; ++i) order.emplace_back(static_cast<int64_t>(i));
  for (const size_t part : {0, 1})
    for (size_t i = 0; i < kAxes; ++i) order.emplace_back(static_cast<int64_t>(lead + 2 * i + part));
  const ValueId cut = reshape(b, x, std::move(split_sizes));
  const ValueId turned = b.call("aten.permute.default", {ValueRef{cut}, std::move(order)});
  Dims lines(in.sizes.begin(), in.sizes.begin() + static_cast<std::ptrdiff_t>(lead));
  lines.insert(lines.end(), {Dim(outputs), Dim(window)});
  const std::vector<ValueId> largest =
      b.call_all("aten.max.dim", {ValueRef{reshape(b, turned, lines)}, Dim(-1), true});
  const ValueId table = add_elements(b, Dtype::INT64, {outputs, window}, places);
  const ValueId tables = b.call("aten.expand.default", {ValueRef{table}, Argument(lines)});
  const ValueId found = b.call("aten.gather.default", {ValueRef{tables}, Dim(-1), ValueRef{largest[1]}});
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
  };
  return kRows;
}

}  // namespace etb::passes
