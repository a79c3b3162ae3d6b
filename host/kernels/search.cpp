// SPDX-License-Identifier: Apache-2.0
// aten::searchsorted: places in sorted rows, by binary search.
#include <algorithm>

#include "host/kernels/kernel.hpp"
#include "host/kernels/rows.hpp"
#include "ops/searchsorted.hpp"

namespace etb::host {
namespace {

using Arguments = ops::searchsorted_Tensor_out<KernelArguments>;

DimSet last_dim(const Tensor& tensor) { return one_dim(tensor, tensor.rank() - 1); }

// Rows are searched by the rows of self at the same place; one row alone is searched by all.
etb_status check_arguments(KernelContext& context, const Arguments& args) {
  const Tensor &rows = args.sorted_sequence(), &self = args.self();
  if (rows.dtype() != self.dtype() || !is_arithmetic(self.dtype()))
    return context.fail(ETB_INVALID_TYPE, "self is %s, expected %s as sorted_sequence", to_text(self.dtype()),
                        to_text(rows.dtype()));
  if (args.out().dtype() != (args.out_int32() ? Dtype::INT32 : Dtype::INT64))
    return context.fail(ETB_INVALID_TYPE, "out is %s, expected %s", to_text(args.out().dtype()),
                        args.out_int32() ? "int32" : "int64");
  bool fits = rows.rank() == 1 || (rows.rank() > 1 && rows.rank() == self.rank());
  for (int dim = 0; fits && rows.rank() > 1 && dim + 1 < rows.rank(); ++dim)
    fits = rows.size(dim) == self.size(dim);
  if (!fits)
    return context.fail(
        ETB_INVALID_ARGUMENT,
        "sorted_sequence of rank %d and self of rank %d, expected equal sizes but the last, or rank 1",
        rows.rank(), self.rank());
  const Tensor* sorter = args.sorter();
  if (sorter == nullptr) return ETB_OK;
  if (sorter->dtype() != Dtype::INT64 || !std::ranges::equal(sorter->sizes(), rows.sizes()))
    return context.fail(ETB_INVALID_ARGUMENT,
                        "sorter differs in sizes from sorted_sequence, or is not int64");
  return ETB_OK;
}

// Loads a row in ascending order; `sorter` names the elements in that order.
template <class T>
etb_status load_row(KernelContext& context, const RowWalk& from, const RowWalk* sorter, T* row, T* unsorted,
                    int64_t* order) {
  const ConvertLoops& loops = *vector_table(context).conversions;
  const int64_t count = from.row_numel();
  from.load(context, loops, kComputeOf<T>, sorter == nullptr ? row : unsorted, count);
  if (sorter == nullptr) return ETB_OK;
  sorter->load(context, loops, Compute::kInt64, order, count);
  for (int64_t i = 0; i < count; ++i) {
    if (context.should_stop(1)) return context.stopped();
    if (order[i] < 0 || order[i] >= count)
      return context.fail(ETB_INVALID_ARGUMENT, "sorter has index %lld in a row of %lld elements",
                          static_cast<long long>(order[i]), static_cast<long long>(count));
    row[i] = unsorted[order[i]];
  }
  return ETB_OK;
}

// Number of elements below `x` (right: not above it). NaN is above everything.
template <class T>
int64_t place_of(const T* row, int64_t count, T x, bool is_right) {
  int64_t low = 0;
  for (int64_t high = count; low < high;) {
    const int64_t middle = low + (high - low) / 2;
    const bool stays_left = is_right ? row[middle] > x : row[middle] >= x;
    (stays_left ? high : low) = stays_left ? middle : middle + 1;
  }
  return low;
}

template <class T>
etb_status search_rows(KernelContext& context, const Arguments& args, bool is_right) {
  const Tensor &rows = args.sorted_sequence(), &self = args.self();
  const DimSet row_dims = last_dim(rows);
  RowWalk from(rows, row_dims), wanted(self, last_dim(self)), to(args.out(), last_dim(args.out()));
  const Tensor* sorter = args.sorter();
  RowWalk orders(sorter == nullptr ? rows : *sorter, row_dims);
  const int64_t count = from.row_numel();
  constexpr int64_t kChunk = 512;
  T* row = context.allocate_array<T>(count);
  T* unsorted = context.allocate_array<T>(sorter == nullptr ? 0 : count);
  int64_t* order = context.allocate_array<int64_t>(sorter == nullptr ? 0 : count);
  if (row == nullptr || unsorted == nullptr || order == nullptr)
    return context.fail_scratch(static_cast<uint64_t>(count) * 24 + 256);
  const bool is_shared = rows.rank() == 1;
  for (int64_t i = 0; i < wanted.row_count(); ++i, wanted.advance(), to.advance()) {
    if (i == 0 || !is_shared)
      ETB_CHECK(load_row(context, from, sorter == nullptr ? nullptr : &orders, row, unsorted, order));
    if (!is_shared) from.advance(), orders.advance();
    for (int64_t begin = 0; begin < wanted.row_numel(); begin += kChunk) {
      const int64_t length = std::min(kChunk, wanted.row_numel() - begin);
      if (context.should_stop(length)) return context.stopped();
      T items[kChunk];
      int64_t places[kChunk];
      wanted.load(*vector_table(context).conversions, kComputeOf<T>, items, begin, length);
      for (int64_t k = 0; k < length; ++k) places[k] = place_of(row, count, items[k], is_right);
      to.store(*vector_table(context).conversions, Compute::kInt64, places, begin, length);
    }
  }
  return ETB_OK;
}

etb_status searchsorted_out(KernelContext& context, Arguments args) {
  ETB_CHECK(check_arguments(context, args));
  ETB_CHECK(resize_output(context, args.out(), args.self().sizes()));
  const bool has_side = args.side().has_value();
  if (has_side && *args.side() != "left" && *args.side() != "right")
    return context.fail(ETB_INVALID_ARGUMENT, "side '%.*s', expected left or right",
                        static_cast<int>(args.side()->size()), args.side()->data());
  if (args.out().numel() == 0) return ETB_OK;
  const bool is_right = args.right() || (has_side && *args.side() == "right");
  return with_compute(args.self().dtype(),
                      [&](auto type) { return search_rows<decltype(type)>(context, args, is_right); });
}

constexpr Kernel kRows[] = {kernel_row<ops::searchsorted_Tensor_out, searchsorted_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(search, kRows);

}  // namespace etb::host
