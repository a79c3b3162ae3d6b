// SPDX-License-Identifier: Apache-2.0
// aten::bincount, histc and histogram: numbers of elements that have a value, or belong to a bin.
#include <algorithm>
#include <cmath>

#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/bincount.hpp"
#include "ops/histc.hpp"
#include "ops/histogram.hpp"

namespace etb::host {
namespace {

constexpr int64_t kChunk = 256;

// Visits all elements of a tensor in row-major order, as T: visit(elements, begin, count).
template <class T, class Visit>
etb_status for_each_chunk(KernelContext& context, const Tensor& tensor, Visit visit) {
  if (tensor.numel() == 0) return ETB_OK;
  const RowWalk walk(tensor, DimSet().set());
  T items[kChunk];
  for (int64_t begin = 0; begin < tensor.numel(); begin += kChunk) {
    const int64_t count = std::min(kChunk, tensor.numel() - begin);
    if (context.should_stop(4 * count)) return context.stopped();
    walk.load(*vector_table(context).conversions, kComputeOf<T>, items, begin, count);
    ETB_CHECK(visit(static_cast<const T*>(items), begin, count));
  }
  return ETB_OK;
}

// Weights in row-major order; 1 where there are none.
template <class T>
class Weights {
 public:
  Weights(KernelContext& context, const Tensor* tensor)
      : loops_(*vector_table(context).conversions), tensor_(tensor) {}
  T operator[](int64_t index) const {
    return tensor_ == nullptr ? T(1) : load_element<T>(loops_, *tensor_, row_major_offset(*tensor_, index));
  }

 private:
  const ConvertLoops& loops_;
  const Tensor* tensor_;
};

template <class T>
etb_status store_all(KernelContext& context, const T* elements, const Tensor& out) {
  if (out.numel() == 0) return ETB_OK;
  RowWalk(out, DimSet().set())
      .store(context, *vector_table(context).conversions, kComputeOf<T>, elements, out.numel());
  return context.stopped();
}

etb_status find_largest(KernelContext& context, const Tensor& self, int64_t* out_largest) {
  *out_largest = -1;
  return for_each_chunk<int64_t>(context, self, [&](const int64_t* items, int64_t, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      if (items[i] < 0 || items[i] == INT64_MAX)
        return context.fail(ETB_INVALID_ARGUMENT, "the input has %lld, expected numbers of at least 0",
                            static_cast<long long>(items[i]));
      *out_largest = std::max(*out_largest, items[i]);
    }
    return static_cast<etb_status>(ETB_OK);
  });
}

template <class T>
etb_status count_values(KernelContext& context, const Tensor& self, const Tensor* weights, int64_t size,
                        const Tensor& out) {
  T* counts = context.allocate_array<T>(size);
  if (counts == nullptr) return context.fail_scratch(static_cast<uint64_t>(size) * sizeof(T) + 64);
  ETB_CHECK(clear_bytes(context, counts, static_cast<uint64_t>(size) * sizeof(T)));
  const Weights<T> weight(context, weights);
  ETB_CHECK(for_each_chunk<int64_t>(context, self, [&](const int64_t* items, int64_t begin, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      // The caller's memory may have changed since the largest element was found.
      if (items[i] < 0 || items[i] >= size)
        return context.fail(ETB_INVALID_STATE, "the input changed while it was read");
      counts[items[i]] += weight[begin + i];
    }
    return static_cast<etb_status>(ETB_OK);
  }));
  return store_all(context, counts, out);
}

// bincount(self, weights, minlength, out)
etb_status bincount_out(KernelContext& context, ops::bincount_out<KernelArguments> args) {
  const Tensor& self = args.self();
  const Tensor* weights = args.weights();
  Tensor& out = args.out();
  if (!is_arithmetic(self.dtype()) || is_floating(self.dtype()) || self.rank() != 1)
    return context.fail(ETB_INVALID_ARGUMENT, "the input is %s %s, expected a row of integers",
                        to_text(self.dtype()), SizesText(self.sizes()).text);
  if (weights != nullptr &&
      (!is_arithmetic(weights->dtype()) || weights->rank() != 1 || weights->size(0) != self.size(0)))
    return context.fail(ETB_INVALID_ARGUMENT, "weights %s %s for %lld elements", to_text(weights->dtype()),
                        SizesText(weights->sizes()).text, static_cast<long long>(self.size(0)));
  const Dtype wanted = weights == nullptr                   ? Dtype::INT64
                       : weights->dtype() == Dtype::FLOAT32 ? Dtype::FLOAT32
                                                            : Dtype::FLOAT64;
  if (out.dtype() != wanted || args.minlength() < 0)
    return context.fail(ETB_INVALID_ARGUMENT, "minlength %lld into %s, expected at least 0 into %s",
                        static_cast<long long>(args.minlength()), to_text(out.dtype()), to_text(wanted));
  int64_t largest = 0;
  ETB_CHECK(find_largest(context, self, &largest));
  const int64_t size = std::max(largest + 1, args.minlength());
  ETB_CHECK(resize_output(context, out, {&size, 1}));
  return with_compute(
      wanted, [&](auto type) { return count_values<decltype(type)>(context, self, weights, size, out); });
}

// The outer edges of the bins: those given, or the extremes of the data, moved apart by `margin` on both sides where they are equal.
template <class T>
etb_status find_range(KernelContext& context, const Tensor& self, double low, double high, T margin,
                      T* out_low, T* out_high) {
  *out_low = static_cast<T>(low);
  *out_high = static_cast<T>(high);
  if (*out_low == *out_high && self.numel() != 0) {
    bool is_first = true;
    ETB_CHECK(for_each_chunk<T>(context, self, [&](const T* items, int64_t, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        if (is_first || !(items[i] >= *out_low)) *out_low = items[i];
        if (is_first || !(items[i] <= *out_high)) *out_high = items[i];
        is_first = false;
      }
      return static_cast<etb_status>(ETB_OK);
    }));
  }
  if (*out_low == *out_high) *out_low -= margin, *out_high += margin;
  if (*out_low < *out_high && std::isfinite(*out_low) && std::isfinite(*out_high)) return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "bins from %g to %g, expected finite and rising edges",
                      static_cast<double>(*out_low), static_cast<double>(*out_high));
}

// Equal bins. The edges are those of PyTorch's linspace, from both ends to the middle.
template <class T>
class EqualBins {
 public:
  EqualBins(T low, T high, int64_t count) : low_(low), high_(high), count_(count) {
    step_ = (high - low) / static_cast<T>(count);
  }
  T edge(int64_t i) const {
    return i < (count_ + 1) / 2 ? low_ + step_ * static_cast<T>(i)
                                : high_ - step_ * static_cast<T>(count_ - i);
  }
  int64_t count() const { return count_; }
  // The bin of an element by division; -1 outside of all. The last bin has its right edge.
  int64_t find(T x) const {
    if (!(x >= low_ && x <= high_)) return -1;
    const auto bin = static_cast<int64_t>((x - low_) * static_cast<T>(count_) / (high_ - low_));
    return std::clamp<int64_t>(bin, 0, count_ - 1);
  }
  // The same, with the edges as they are rounded.
  int64_t find_by_edges(T x) const {
    int64_t bin = find(x);
    if (bin < 0) return bin;
    if (bin > 0 && x < edge(bin)) --bin;
    if (bin + 1 < count_ && x >= edge(bin + 1)) ++bin;
    return bin;
  }

 private:
  T low_, high_, step_;
  int64_t count_;
};

// Bins between given edges.
template <class T>
class GivenBins {
 public:
  GivenBins(const T* edges, int64_t count) : edges_(edges), count_(count) {}
  T edge(int64_t i) const { return edges_[i]; }
  int64_t count() const { return count_; }
  int64_t find_by_edges(T x) const {
    if (!(x >= edges_[0] && x <= edges_[count_])) return -1;
    const int64_t above = std::upper_bound(edges_, edges_ + count_ + 1, x) - edges_;
    return std::clamp<int64_t>(above - 1, 0, count_ - 1);
  }

 private:
  const T* edges_;
  int64_t count_;
};

// Adds up the weights of each bin; `find(x)` names the bin of an element, or -1.
template <class T, class Find>
etb_status count_bins(KernelContext& context, const Tensor& self, const Tensor* weights, T* counts,
                      int64_t bin_count, Find find) {
  ETB_CHECK(clear_bytes(context, counts, static_cast<uint64_t>(bin_count) * sizeof(T)));
  const Weights<T> weight(context, weights);
  return for_each_chunk<T>(context, self, [&](const T* items, int64_t begin, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t bin = find(items[i]);
      if (bin >= 0) counts[bin] += weight[begin + i];
    }
    return static_cast<etb_status>(ETB_OK);
  });
}

// Divides by the sum and by the widths of the bins.
template <class T, class Bins>
etb_status to_density(KernelContext& context, T* counts, const Bins& bins) {
  T sum = 0;
  for (int64_t i = 0; i < bins.count() && !context.should_stop(4); ++i) sum += counts[i];
  for (int64_t i = 0; i < bins.count() && !context.should_stop(4); ++i)
    counts[i] = counts[i] / sum / (bins.edge(i + 1) - bins.edge(i));
  return context.stopped();
}

etb_status check_bins(KernelContext& context, const Tensor& self, int64_t bins, const Tensor& out) {
  if (!is_floating(self.dtype()) || self.dtype() != out.dtype())
    return context.fail(ETB_INVALID_TYPE, "%s into %s, expected floats of one dtype", to_text(self.dtype()),
                        to_text(out.dtype()));
  if (bins > 0 && bins < INT32_MAX) return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "%lld bins, expected 1 to 2^31 - 2",
                      static_cast<long long>(bins));
}

// histc(self, bins, min, max, out)
etb_status histc_out(KernelContext& context, ops::histc_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  const int64_t bin_count = args.bins();
  ETB_CHECK(check_bins(context, self, bin_count, out));
  ETB_CHECK(resize_output(context, out, {&bin_count, 1}));
  const double low = args.min().to_double(), high = args.max().to_double();
  const auto run = [&](auto type) {
    using T = decltype(type);
    T first = 0, last = 0;
    ETB_CHECK(find_range<T>(context, self, low, high, T(1), &first, &last));
    const EqualBins<T> bins(first, last, bin_count);
    T* counts = context.allocate_array<T>(bin_count);
    if (counts == nullptr) return context.fail_scratch(static_cast<uint64_t>(bin_count) * sizeof(T) + 64);
    ETB_CHECK(count_bins(context, self, nullptr, counts, bin_count, [&](T x) { return bins.find(x); }));
    return store_all(context, counts, out);
  };
  return is_float64(self.dtype()) ? run(double{}) : run(float{});
}

// Outputs of a histogram, and what becomes of the counts.
struct Histogram {
  const Tensor &self, *weight;
  bool is_density;
  Tensor &counts, &edges;

  template <class T, class Bins>
  etb_status run(KernelContext& context, const Bins& bins) const {
    const int64_t edge_count = bins.count() + 1;
    T* values = context.allocate_array<T>(edge_count);
    if (values == nullptr) return context.fail_scratch(static_cast<uint64_t>(edge_count) * sizeof(T) + 64);
    for (int64_t i = 0; i < edge_count && !context.should_stop(4); ++i) values[i] = bins.edge(i);
    ETB_CHECK(context.stopped());
    ETB_CHECK(store_all(context, values, edges));
    ETB_CHECK(
        count_bins(context, self, weight, values, bins.count(), [&](T x) { return bins.find_by_edges(x); }));
    if (is_density) ETB_CHECK(to_density(context, values, bins));
    return store_all(context, values, counts);
  }
  etb_status prepare(KernelContext& context, int64_t bins) const {
    ETB_CHECK(check_bins(context, self, bins, counts));
    ETB_CHECK(expect_same_dtype(context, self, edges));
    if (weight != nullptr && (weight->dtype() != self.dtype() || weight->numel() != self.numel()))
      return context.fail(ETB_INVALID_ARGUMENT, "weights %s %s for %s %s", to_text(weight->dtype()),
                          SizesText(weight->sizes()).text, to_text(self.dtype()),
                          SizesText(self.sizes()).text);
    const int64_t edge_count = bins + 1;
    ETB_CHECK(resize_output(context, counts, {&bins, 1}));
    return resize_output(context, edges, {&edge_count, 1});
  }
};

// histogram(self, bins, range, weight, density, hist, bin_edges)
etb_status histogram_of_count(KernelContext& context, ops::histogram_bin_ct_out<KernelArguments> args) {
  const Histogram out{args.self(), args.weight(), args.density(), args.hist(), args.bin_edges()};
  const int64_t bin_count = args.bins();
  ETB_CHECK(out.prepare(context, bin_count));
  const auto range = args.range();
  if (range.has_value() && range->size() != 2)
    return context.fail(ETB_INVALID_ARGUMENT, "a range of %zu numbers, expected 2", range->size());
  const double low = range.has_value() ? (*range)[0] : 0, high = range.has_value() ? (*range)[1] : 0;
  // PyTorch's edges without data are 0 and 1. An empty range that is given is moved apart, and the data do not count.
  const bool is_chosen = !range.has_value() && out.self.numel() != 0;
  const auto run = [&](auto type) {
    using T = decltype(type);
    T first = static_cast<T>(low), last = range.has_value() ? static_cast<T>(high) : T(1);
    if (is_chosen) ETB_CHECK(find_range<T>(context, out.self, 0, 0, T(0.5), &first, &last));
    if (first == last) first -= T(0.5), last += T(0.5);
    if (!(first < last) || !std::isfinite(first) || !std::isfinite(last))
      return context.fail(ETB_INVALID_ARGUMENT, "bins from %g to %g, expected finite and rising edges",
                          static_cast<double>(first), static_cast<double>(last));
    return out.run<T>(context, EqualBins<T>(first, last, bin_count));
  };
  return is_float64(out.self.dtype()) ? run(double{}) : run(float{});
}

// histogram(self, bins, weight, density, hist, bin_edges)
etb_status histogram_of_edges(KernelContext& context, ops::histogram_bins_tensor_out<KernelArguments> args) {
  const Histogram out{args.self(), args.weight(), args.density(), args.hist(), args.bin_edges()};
  const Tensor& given = args.bins();
  if (given.rank() != 1 || given.dtype() != out.self.dtype())
    return context.fail(ETB_INVALID_ARGUMENT, "edges %s %s, expected a row of %s", to_text(given.dtype()),
                        SizesText(given.sizes()).text, to_text(out.self.dtype()));
  ETB_CHECK(out.prepare(context, given.size(0) - 1));
  const auto run = [&](auto type) {
    using T = decltype(type);
    T* edges = context.allocate_array<T>(given.numel());
    if (edges == nullptr) return context.fail_scratch(static_cast<uint64_t>(given.numel()) * sizeof(T) + 64);
    ETB_CHECK(for_each_chunk<T>(context, given, [&](const T* items, int64_t begin, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        edges[begin + i] = items[i];
        if (begin + i > 0 && !(edges[begin + i - 1] <= items[i]))
          return context.fail(ETB_INVALID_ARGUMENT, "edge %lld is less than the one before",
                              static_cast<long long>(begin + i));
      }
      return static_cast<etb_status>(ETB_OK);
    }));
    return out.run<T>(context, GivenBins<T>(edges, given.numel() - 1));
  };
  return is_float64(out.self.dtype()) ? run(double{}) : run(float{});
}

constexpr Kernel kRows[] = {
    kernel_row<ops::bincount_out, bincount_out>(),
    kernel_row<ops::histc_out, histc_out>(),
    kernel_row<ops::histogram_bin_ct_out, histogram_of_count>(),
    kernel_row<ops::histogram_bins_tensor_out, histogram_of_edges>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(counting, kRows);

}  // namespace etb::host
