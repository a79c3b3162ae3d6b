// SPDX-License-Identifier: Apache-2.0
// Histograms of points: each dimension of the last axis has bins of its own. A search finds the bin of a coordinate, and the
// weights of points are added to the cell that their bins name.
#include <algorithm>

#include "ops/_histogramdd_bin_edges.hpp"
#include "ops/_histogramdd_from_bin_cts.hpp"
#include "ops/_histogramdd_from_bin_tensors.hpp"
#include "ops/histogramdd.hpp"
#include "partitioner_sdk/passes/arithmetic.hpp"

namespace etb::passes {

namespace {

constexpr int64_t kMostCells = int64_t{1} << 31;

// The points as [count, dimensions], and the edges of the bins of each dimension.
struct Points {
  ValueId x;
  std::vector<ValueId> edges;
  bool is_valid = true;

  int64_t bins(const Builder& b, size_t dim) const { return b.spec(edges[dim]).sizes[0].value() - 1; }
  ValueId column(Builder& b, size_t dim) const {
    return b.call("aten.select.int", {ValueRef{x}, Dim(1), Dim(static_cast<int64_t>(dim))});
  }
};

// Fails for points without dimensions. `wanted` is the number of lists of bins.
template <class A>
Points points_of(Builder& b, const A& a, size_t wanted) {
  const TensorSpec in = a.self().spec();
  const bool is_known = in.rank() >= 2 && in.sizes.back().is_static();
  if (!is_known || !ops::is_floating(in.dtype) || !in.sizes.back().is(static_cast<int64_t>(wanted)) ||
      wanted == 0) {
    a.fail("bins for " + std::to_string(wanted) + " dimensions and points of rank " +
           std::to_string(in.rank()) +
           ", expected floats of rank 2 at least, whose last size is that number");
    return {0, {}, false};
  }
  Dim count = 1;
  for (size_t i = 0; i + 1 < in.rank(); ++i) count = b.symbols().mul(count, in.sizes[i]);
  return {reshape(b, a.self(), {count, in.sizes.back()}), {}};
}

// The outer edges of a dimension: those given; else the extremes of the data; without data 0 and 1.
template <class A>
std::pair<ValueId, ValueId> outer_edges(Builder& b, const A& a, const Points& points, size_t dim) {
  const TensorSpec in = b.spec(points.x);
  const auto scalar = [&](double value) {
    return b.call("aten.scalar_tensor.default", {value}, {{"dtype", in.dtype}});
  };
  if (const ir::FloatList* range = a.range().find_list()) {
    if (range->size() > 2 * dim + 1) return {scalar((*range)[2 * dim]), scalar((*range)[2 * dim + 1])};
    a.fail("a range of " + std::to_string(range->size()) + " numbers, expected two for each dimension");
  }
  if (in.sizes[0].is(0)) return {scalar(0), scalar(1)};
  const ValueId line = points.column(b, dim);
  return {b.call("aten.amin.default", {ValueRef{line}}), b.call("aten.amax.default", {ValueRef{line}})};
}

// Equal bins. Equal outer edges move apart by one half each.
template <class A>
void add_equal_bins(Builder& b, const A& a, Points& points, const Dims& counts) {
  Arithmetic m(b);
  int64_t cells = 1;
  for (const Dim count : counts) {
    const int64_t most = std::min<int64_t>(kMostCells / cells, (1 << 24) - 1);
    if (!count.is_static() || count.value() < 1 || count.value() > most) {
      a.fail(b.symbols().format(count) + " bins, expected 1 to 2^24 - 1, and at most 2^31 cells");
      points.is_valid = false;
      return;
    }
    cells *= count.value();
  }
  for (size_t dim = 0; dim < counts.size(); ++dim) {
    const auto [low, high] = outer_edges(b, a, points, dim);
    const ValueId is_empty = b.call("aten.eq.Tensor", {ValueRef{low}, ValueRef{high}});
    const ValueId margin = m.times(to_dtype(b, is_empty, b.spec(points.x).dtype), 0.5);
    points.edges.push_back(
        b.call("aten.linspace.Tensor_Tensor",
               {ValueRef{m.sub(low, margin)}, ValueRef{m.add(high, margin)}, Dim(counts[dim].value() + 1)},
               {{"dtype", b.spec(points.x).dtype}}));
  }
}

// The cell of each point in the row-major histogram; `cells` for points outside of the edges, and for NaN.
ValueId cells_of(Builder& b, const Points& points, int64_t cells) {
  Arithmetic m(b);
  ValueId cell = 0, is_inside = 0;
  for (size_t dim = 0; dim < points.edges.size(); ++dim) {
    const ValueId line = b.call("aten.contiguous.default", {ValueRef{points.column(b, dim)}});
    const ValueId edges = points.edges[dim];
    const int64_t bins = points.bins(b, dim);
    const auto edge = [&](int64_t i) { return b.call("aten.select.int", {ValueRef{edges}, Dim(0), Dim(i)}); };
    const ValueId first = edge(0), last = edge(bins);
    const ValueId is_above = b.call("aten.ge.Tensor", {ValueRef{line}, ValueRef{first}});
    const ValueId is_below = b.call("aten.le.Tensor", {ValueRef{line}, ValueRef{last}});
    const ValueId here = b.call("aten.logical_and.default", {ValueRef{is_above}, ValueRef{is_below}});
    const ValueId above =
        b.call("aten.searchsorted.Tensor", {ValueRef{edges}, ValueRef{line}}, {{"right", true}});
    const ValueId lower = b.call("aten.add.Scalar", {ValueRef{above}, Dim(-1)});
    // The last bin has its right edge.
    const ValueId bin = b.call("aten.clamp.default", {ValueRef{lower}, Dim(0), Dim(bins - 1)});
    cell = dim == 0 ? bin : m.add(b.call("aten.mul.Scalar", {ValueRef{cell}, Dim(bins)}), bin);
    is_inside = dim == 0 ? here : b.call("aten.logical_and.default", {ValueRef{is_inside}, ValueRef{here}});
  }
  return b.call("aten.where.ScalarOther", {ValueRef{is_inside}, ValueRef{cell}, Dim(cells)});
}

// Divides by the sum, and by the widths of the bins.
ValueId to_density(Builder& b, const Points& points, ValueId histogram) {
  Arithmetic m(b);
  ValueId out = m.div(histogram, b.call("aten.sum.default", {ValueRef{histogram}}));
  for (size_t dim = 0; dim < points.edges.size(); ++dim) {
    const int64_t bins = points.bins(b, dim);
    const auto part = [&](int64_t begin) {
      return b.call("aten.slice.Tensor",
                    {ValueRef{points.edges[dim]}, Dim(0), Dim(begin), Dim(begin + bins)});
    };
    const ValueId upper = part(1), lower = part(0);
    Dims sizes(points.edges.size(), Dim(1));
    sizes[dim] = Dim(bins);
    out = m.div(out, reshape(b, m.sub(upper, lower), std::move(sizes)));
  }
  return out;
}

template <class A>
ValueId count(Builder& b, const A& a, const Points& points) {
  Arithmetic m(b);
  Dims sizes;
  int64_t cells = 1;
  for (size_t dim = 0; dim < points.edges.size(); ++dim) {
    const TensorSpec edges = b.spec(points.edges[dim]);
    if (edges.rank() != 1 || !edges.sizes[0].is_static() || edges.sizes[0].value() < 2 ||
        edges.sizes[0].value() > kMostCells / cells) {
      a.fail("the edges of dimension " + std::to_string(dim) +
             " are no vector of a known size, or the histogram has more than 2^31 cells");
      return 0;
    }
    cells *= edges.sizes[0].value() - 1;
    sizes.emplace_back(edges.sizes[0].value() - 1);
  }
  const TensorSpec in = b.spec(points.x);
  const ValueId cell = cells_of(b, points, cells);
  const ValueId weight = a.weight().has_value() ? reshape(b, a.weight(), {in.sizes[0]})
                                                : b.call("aten.full.default", {Dims{in.sizes[0]}, Dim(1)},
                                                         {{"dtype", in.dtype}});
  // Points outside are added to one more cell.
  const ValueId zeros = m.zeros({Dim(cells + 1)}, in.dtype);
  const ValueId sums =
      b.call("aten.scatter_add.default", {ValueRef{zeros}, Dim(0), ValueRef{cell}, ValueRef{weight}});
  const ValueId inner = b.call("aten.slice.Tensor", {ValueRef{sums}, Dim(0), Dim(0), Dim(cells)});
  const ValueId histogram = reshape(b, inner, std::move(sizes));
  return a.density() ? to_density(b, points, histogram) : histogram;
}

template <class A>
Points with_counts(Builder& b, const A& a, Dims counts) {
  Points points = points_of(b, a, counts.size());
  if (points.is_valid) add_equal_bins(b, a, points, counts);
  return points;
}
template <class A>
Points with_edges(Builder& b, const A& a) {
  std::vector<ValueId> edges = a.bins().ids();
  Points points = points_of(b, a, edges.size());
  for (const ValueId edge : edges) points.edges.push_back(to_dtype(b, edge, a.self().spec().dtype));
  return points;
}

template <class A>
Values histogram_and_edges(Builder& b, const A& a, const Points& points) {
  if (!points.is_valid) return {};
  Values out{count(b, a, points)};
  if (!a.error().empty()) return {};
  out.insert(out.end(), points.edges.begin(), points.edges.end());
  return out;
}

Values of_counts(Builder& b, const ops::histogramdd_default<Call>& a) {
  return histogram_and_edges(b, a, with_counts(b, a, a.bins().dims()));
}
Values of_one_count(Builder& b, const ops::histogramdd_int_bins<Call>& a) {
  const TensorSpec in = a.self().spec();
  const bool is_known = in.rank() > 0 && in.sizes.back().is_static() && in.sizes.back().value() <= 64;
  const auto dims = static_cast<size_t>(is_known ? in.sizes.back().value() : 0);
  return histogram_and_edges(b, a, with_counts(b, a, Dims(dims, a.bins().dim())));
}
Values of_edges(Builder& b, const ops::histogramdd_TensorList_bins<Call>& a) {
  return histogram_and_edges(b, a, with_edges(b, a));
}

// The steps of the op in PyTorch's core set.
Values edges_alone(Builder& b, const ops::_histogramdd_bin_edges_default<Call>& a) {
  return with_counts(b, a, a.bins().dims()).edges;
}
Values counts_alone(Builder& b, const ops::_histogramdd_from_bin_cts_default<Call>& a) {
  const Points points = with_counts(b, a, a.bins().dims());
  return points.is_valid ? Values{count(b, a, points)} : Values{};
}
Values counts_between(Builder& b, const ops::_histogramdd_from_bin_tensors_default<Call>& a) {
  const Points points = with_edges(b, a);
  return points.is_valid ? Values{count(b, a, points)} : Values{};
}

}  // namespace

std::span<const Decomposition> histogram_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_histogramdd_bin_edges_default, edges_alone>(),
      row<ops::_histogramdd_from_bin_cts_default, counts_alone>(),
      row<ops::_histogramdd_from_bin_tensors_default, counts_between>(),
      row<ops::histogramdd_TensorList_bins, of_edges>(),
      row<ops::histogramdd_default, of_counts>(),
      row<ops::histogramdd_int_bins, of_one_count>(),
  };
  return kRows;
}

}  // namespace etb::passes
