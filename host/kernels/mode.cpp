// SPDX-License-Identifier: Apache-2.0
// aten::mode: the most frequent element of each row along a dim, and the last place where it is. It is the smallest of equally
// frequent ones; each NaN counts for itself.
#include "ops/mode.hpp"
#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "host/kernels/long_sort.hpp"
#include "host/kernels/rows.hpp"

namespace etb::host {
namespace {

template <class T>
struct Entry {
  T value;
  int64_t index;
};

// A total order: NaN last, equal elements by their place.
template <class T>
bool is_before(const Entry<T>& a, const Entry<T>& b) {
  if (a.value < b.value || b.value < a.value) return a.value < b.value;
  const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
  if (a_is_nan != b_is_nan) return b_is_nan;
  return a.index < b.index;
}

// The last entry of the longest run of equal ones.
template <class T>
Entry<T> most_frequent(KernelContext& context, const Entry<T>* entries, int64_t count) {
  Entry<T> best = entries[0];
  int64_t length = 0, longest = 0;
  for (int64_t i = 0; i < count && !context.should_stop(1); ++i) {
    ++length;
    if (i + 1 < count && entries[i].value == entries[i + 1].value) continue;
    if (length > longest) {
      longest = length;
      best = entries[i];
    }
    length = 0;
  }
  return best;
}

template <class T>
etb_status find_modes(KernelContext& context, const Tensor& self, const DimSet& dims, Tensor& values,
                      Tensor& indices) {
  const ConvertLoops& loops = *vector_table(context).conversions;
  RowWalk from(self, dims);
  const int64_t count = from.row_numel();
  T* row = context.allocate_array<T>(count);
  auto* entries = context.allocate_array<Entry<T>>(count);
  auto* spare = context.allocate_array<Entry<T>>(needs_spare(context, count) ? count : 0);
  if (row == nullptr || entries == nullptr || spare == nullptr)
    return context.fail_scratch(static_cast<uint64_t>(count) * (sizeof(T) + 2 * sizeof(Entry<T>)) + 192);
  for (int64_t i = 0; i < from.row_count(); ++i, from.advance()) {
    from.load(context, loops, kComputeOf<T>, row, count);
    for (int64_t k = 0; k < count && !context.should_stop(1); ++k) entries[k] = {row[k], k};
    ETB_CHECK(context.stopped());
    ETB_CHECK(sort_long(context, entries, count, spare, is_before<T>));
    const Entry<T> mode = most_frequent(context, entries, count);
    store_element(loops, values, row_major_offset(values, i), mode.value);
    store_element(loops, indices, row_major_offset(indices, i), mode.index);
  }
  return context.stopped();
}

// mode(self, dim, keepdim, values, indices)
etb_status mode_out(KernelContext& context, ops::mode_values<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor &values = args.values(), &indices = args.indices();
  if (!is_arithmetic(self.dtype()) || values.dtype() != self.dtype() || indices.dtype() != Dtype::INT64)
    return context.fail(ETB_INVALID_TYPE, "%s into %s and %s, expected %s and int64", to_text(self.dtype()),
                        to_text(values.dtype()), to_text(indices.dtype()), to_text(self.dtype()));
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
  return with_compute(self.dtype(), [&](auto type) {
    return find_modes<decltype(type)>(context, self, dims, values, indices);
  });
}

constexpr Kernel kRows[] = {kernel_row<ops::mode_values, mode_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(mode, kRows);

}  // namespace etb::host
