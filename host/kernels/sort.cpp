// SPDX-License-Identifier: Apache-2.0
// aten::sort, topk and median: order along a dim. NaN counts as larger than anything.
#include <algorithm>

#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "host/kernels/long_sort.hpp"
#include "ops/median.hpp"
#include "ops/sort.hpp"
#include "ops/topk.hpp"

namespace etb::host {
namespace {

template <class T>
struct Entry {
  T value;
  int64_t index;
};

template <class T>
bool is_less(T a, T b) {
  return (b != b && a == a) || a < b;
}

// Ties keep their order, which makes every sort stable.
template <class T>
struct Ascending {
  bool operator()(const Entry<T>& a, const Entry<T>& b) const {
    return is_less(a.value, b.value) || (!is_less(b.value, a.value) && a.index < b.index);
  }
};
template <class T>
struct Descending {
  bool operator()(const Entry<T>& a, const Entry<T>& b) const {
    return is_less(b.value, a.value) || (!is_less(a.value, b.value) && a.index < b.index);
  }
};

// Calls order(entries, count, spare, &chosen) for every row and stores the first `kept` from the chosen entry on.
template <class Order>
etb_status order_rows(KernelContext& context, const Tensor& self, int dim, int64_t kept, Tensor& values,
                      Tensor& indices, Order order) {
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
    auto* entries = context.allocate_array<Entry<T>>(count);
    T* row = context.allocate_array<T>(count);
    int64_t* row_indices = context.allocate_array<int64_t>(count);
    auto* spare = context.allocate_array<Entry<T>>(needs_spare(context, count) ? count : 0);
    if (entries == nullptr || row == nullptr || row_indices == nullptr || spare == nullptr) {
      const size_t entry_count = needs_spare(context, count) ? 2 : 1;
      return context.fail_scratch(static_cast<uint64_t>(count) * (entry_count * sizeof(Entry<T>) + 16) + 256);
    }
    for (int64_t i = 0; i < from.row_count();
         ++i, from.advance(), to_values.advance(), to_indices.advance()) {
      from.load(context, loops, kComputeOf<T>, row, count);
      const etb_status numbered = for_each_piece(context, count, [&](int64_t begin, int64_t length) {
        for (int64_t k = begin; k < begin + length; ++k) entries[k] = {row[k], k};
      });
      if (numbered != ETB_OK) return numbered;
      const Entry<T>* chosen = entries;
      ETB_CHECK(order(entries, count, spare, &chosen));
      const etb_status taken = for_each_piece(context, kept, [&](int64_t begin, int64_t length) {
        for (int64_t k = begin; k < begin + length; ++k)
          row[k] = chosen[k].value, row_indices[k] = chosen[k].index;
      });
      if (taken != ETB_OK) return taken;
      to_values.store(context, loops, kComputeOf<T>, row, kept);
      to_indices.store(context, loops, Compute::kInt64, row_indices, kept);
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
  return order_rows(
      context, self, dim, count, values, indices,
      [&, is_descending]<class T>(Entry<T>* entries, int64_t length, Entry<T>* spare, const Entry<T>**) {
        return is_descending ? sort_long(context, entries, length, spare, Descending<T>())
                             : sort_long(context, entries, length, spare, Ascending<T>());
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
  const bool is_largest = args.largest();
  return order_rows(
      context, self, dim, k, values, indices,
      [&, k, is_largest]<class T>(Entry<T>* entries, int64_t length, Entry<T>* spare, const Entry<T>**) {
        return is_largest ? sort_first(context, entries, length, k, spare, Descending<T>())
                          : sort_first(context, entries, length, k, spare, Ascending<T>());
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
  return order_rows(
      context, self, dim, 1, kept_values, kept_indices,
      [&]<class T>(Entry<T>* entries, int64_t length, Entry<T>* spare, const Entry<T>** out_chosen) {
        for (int64_t i = 0; i < length; ++i) {
          if (context.should_stop(1)) return context.stopped();
          if (entries[i].value != entries[i].value) return *out_chosen = entries + i, context.stopped();
        }
        const int64_t middle = (length - 1) / 2;
        *out_chosen = entries + middle;
        return select_long(context, entries, length, middle, spare, Ascending<T>());
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
