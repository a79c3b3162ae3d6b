// SPDX-License-Identifier: Apache-2.0
// aten::sort, topk and median: order along a dim. NaN counts as larger than anything.
#include <algorithm>
#include <cstring>

#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "host/kernels/long_sort.hpp"
#include "ops/median.hpp"
#include "ops/sort.hpp"
#include "ops/topk.hpp"

namespace etb::host {
namespace {

template <class T>
bool is_less(T a, T b) {
  return (b != b && a == a) || a < b;
}

// An element of a row and its position. Ties keep their order, which makes every sort stable.
template <class T>
struct Entry {
  T value;
  int64_t position;

  static constexpr int64_t kMaxCount = INT64_MAX;
  static Entry make(T value, int64_t position, bool) { return {value, position}; }
  int64_t index() const { return position; }
};
template <class T>
struct EntryLess {
  bool is_descending;
  bool operator()(const Entry<T>& a, const Entry<T>& b) const {
    const T low = is_descending ? b.value : a.value, high = is_descending ? a.value : b.value;
    return is_less(low, high) || (!is_less(high, low) && a.position < b.position);
  }
};

// A float and its position as one integer, in the wanted order: comparisons cost no branches.
template <>
struct Entry<float> {
  uint64_t key;

  static constexpr int64_t kMaxCount = UINT32_MAX;
  static Entry make(float value, int64_t position, bool is_descending) {
    uint32_t bits = 0;
    if (value != value) {
      bits = UINT32_MAX;
    } else {
      if (value == 0) value = 0;  // not -0, which equals it
      std::memcpy(&bits, &value, sizeof(bits));
      bits = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
    }
    if (is_descending) bits = ~bits;
    return {static_cast<uint64_t>(bits) << 32 | static_cast<uint32_t>(position)};
  }
  int64_t index() const { return static_cast<uint32_t>(key); }
};
template <>
struct EntryLess<float> {
  bool is_descending;
  bool operator()(const Entry<float>& a, const Entry<float>& b) const { return a.key < b.key; }
};

// Memory for one row.
template <class T>
struct RowWork {
  T *row = nullptr, *sorted = nullptr;
  int64_t* indices = nullptr;
  Entry<T>*entries = nullptr, *spare = nullptr;

  etb_status allocate(KernelContext& context, int64_t count) {
    const int64_t entry_count = needs_spare(context, count) ? 2 * count : count;
    row = context.allocate_array<T>(count);
    sorted = context.allocate_array<T>(count);
    indices = context.allocate_array<int64_t>(count);
    entries = context.allocate_array<Entry<T>>(entry_count);
    if (entry_count > count && entries != nullptr) spare = entries + count;
    if (row != nullptr && sorted != nullptr && indices != nullptr && entries != nullptr) return ETB_OK;
    return context.fail_scratch(static_cast<uint64_t>(count) * (2 * sizeof(T) + sizeof(int64_t)) +
                                static_cast<uint64_t>(entry_count) * sizeof(Entry<T>) + 256);
  }
};

// Calls order(work, count, less, &first) for every row and stores `kept` entries from the first on.
template <class Order>
etb_status order_rows(KernelContext& context, const Tensor& self, int dim, bool is_descending, int64_t kept,
                      Tensor& values, Tensor& indices, Order order) {
  if (!is_arithmetic(self.dtype()) || values.dtype() != self.dtype() || indices.dtype() != Dtype::INT64) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s and %s", to_text(self.dtype()), to_text(values.dtype()),
                        to_text(indices.dtype()));
  }
  const DimSet dims = one_dim(self, dim);
  const ConvertLoops& loops = *vector_table(context).conversions;
  return with_compute(self.dtype(), [&](auto type) {
    using T = decltype(type);
    RowWalk from(self, dims), to_values(values, dims), to_indices(indices, dims);
    const int64_t count = from.row_numel();
    if (count > Entry<T>::kMaxCount)
      return context.fail(ETB_NOT_SUPPORTED, "a row of %lld elements", static_cast<long long>(count));
    RowWork<T> work;
    ETB_CHECK(work.allocate(context, count));
    for (int64_t i = 0; i < from.row_count();
         ++i, from.advance(), to_values.advance(), to_indices.advance()) {
      from.load(context, loops, kComputeOf<T>, work.row, count);
      ETB_CHECK(for_each_piece(context, count, [&](int64_t begin, int64_t length) {
        for (int64_t k = begin; k < begin + length; ++k)
          work.entries[k] = Entry<T>::make(work.row[k], k, is_descending);
      }));
      int64_t first = 0;
      ETB_CHECK(order(work, count, EntryLess<T>{is_descending}, &first));
      ETB_CHECK(for_each_piece(context, kept, [&](int64_t begin, int64_t length) {
        for (int64_t k = begin; k < begin + length; ++k) {
          work.indices[k] = work.entries[first + k].index();
          work.sorted[k] = work.row[work.indices[k]];
        }
      }));
      to_values.store(context, loops, kComputeOf<T>, work.sorted, kept);
      to_indices.store(context, loops, Compute::kInt64, work.indices, kept);
      if (context.should_stop(1)) return context.stopped();
    }
    return static_cast<etb_status>(ETB_OK);
  });
}

etb_status sort(KernelContext& context, const Tensor& self, int64_t wanted_dim, bool is_descending,
                Tensor& values, Tensor& indices) {
  int dim = 0;
  ETB_CHECK(wrap_dim(context, wanted_dim, self.rank(), &dim));
  ETB_CHECK(resize_output(context, values, self.sizes()));
  ETB_CHECK(resize_output(context, indices, self.sizes()));
  const int64_t count = self.rank() == 0 ? 1 : self.size(dim);
  if (self.numel() == 0) return ETB_OK;
  return order_rows(context, self, dim, is_descending, count, values, indices,
                    [&](auto& work, int64_t length, auto less, int64_t*) {
                      return sort_long(context, work.entries, length, work.spare, less);
                    });
}

etb_status topk_out(KernelContext& context, ops::topk_values<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor &values = args.values(), &indices = args.indices();
  const int64_t k = args.k();
  int dim = 0;
  ETB_CHECK(wrap_dim(context, args.dim(), self.rank(), &dim));
  const int64_t count = self.rank() == 0 ? 1 : self.size(dim);
  if (k < 0 || k > count)
    return context.fail(ETB_INVALID_ARGUMENT, "the first %lld of %lld", static_cast<long long>(k),
                        static_cast<long long>(count));
  int64_t sizes[kMaxRank];
  std::copy(self.sizes().begin(), self.sizes().end(), sizes);
  if (self.rank() > 0) sizes[dim] = k;
  const std::span<const int64_t> out_sizes(sizes, static_cast<size_t>(self.rank()));
  ETB_CHECK(resize_output(context, values, out_sizes));
  ETB_CHECK(resize_output(context, indices, out_sizes));
  if (values.numel() == 0) return ETB_OK;
  return order_rows(context, self, dim, args.largest(), k, values, indices,
                    [&, k](auto& work, int64_t length, auto less, int64_t*) {
                      return sort_first(context, work.entries, length, k, work.spare, less);
                    });
}

// median(self, dim, keepdim, values, indices): the lower of two middle values; the first NaN when there is one.
etb_status median_dim_out(KernelContext& context, ops::median_dim_values<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor &values = args.values(), &indices = args.indices();
  int dim = 0;
  ETB_CHECK(wrap_dim(context, args.dim(), self.rank(), &dim));
  const DimSet dims = one_dim(self, dim);
  int64_t sizes[kMaxRank];
  const size_t rank = reduced_sizes(self, dims, args.keepdim(), sizes);
  ETB_CHECK(resize_output(context, values, {sizes, rank}));
  ETB_CHECK(resize_output(context, indices, {sizes, rank}));
  if (values.numel() == 0) return ETB_OK;
  if (self.numel() == 0)
    return context.fail(ETB_INVALID_ARGUMENT, "%s has no elements to choose from",
                        SizesText(self.sizes()).text);
  // Results seen with the reduced dim in place, so that rows of one element can be walked along it.
  TensorStorage storages[2];
  int64_t kept_sizes[kMaxRank];
  reduced_sizes(self, dims, true, kept_sizes);
  const std::span<const int64_t> kept(kept_sizes, static_cast<size_t>(self.rank()));
  if (!values.is_contiguous() || !indices.is_contiguous())
    return context.fail(ETB_NOT_SUPPORTED, "outputs must be contiguous");
  Tensor kept_values = storages[0].make(values.dtype(), kept, values.data(), values.capacity_bytes());
  Tensor kept_indices = storages[1].make(indices.dtype(), kept, indices.data(), indices.capacity_bytes());
  return order_rows(context, self, dim, false, 1, kept_values, kept_indices,
                    [&](auto& work, int64_t length, auto less, int64_t* out_first) {
                      for (int64_t i = 0; i < length; ++i) {
                        if (context.should_stop(1)) return context.stopped();
                        if (work.row[i] != work.row[i])
                          return *out_first = i, static_cast<etb_status>(ETB_OK);
                      }
                      *out_first = (length - 1) / 2;
                      return select_long(context, work.entries, length, *out_first, work.spare, less);
                    });
}

etb_status sort_out(KernelContext& context, ops::sort_values<KernelArguments> args) {
  return sort(context, args.self(), args.dim(), args.descending(), args.values(), args.indices());
}

etb_status sort_stable_out(KernelContext& context, ops::sort_values_stable<KernelArguments> args) {
  return sort(context, args.self(), args.dim(), args.descending(), args.values(), args.indices());
}

constexpr Kernel kRows[] = {
    kernel_row<ops::sort_values, sort_out>(),
    kernel_row<ops::sort_values_stable, sort_stable_out>(),
    kernel_row<ops::topk_values, topk_out>(),
    kernel_row<ops::median_dim_values, median_dim_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(sort, kRows);

}  // namespace etb::host
