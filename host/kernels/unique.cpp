// SPDX-License-Identifier: Apache-2.0
// aten::_unique2, unique_dim, unique_consecutive and unique_dim_consecutive: the distinct elements or slices, the place of each input among them, and their counts.
#include <algorithm>
#include <optional>

#include "host/kernels/kernel.hpp"
#include "host/kernels/long_sort.hpp"
#include "host/kernels/rows.hpp"
#include "ops/_unique2.hpp"
#include "ops/unique_consecutive.hpp"
#include "ops/unique_dim.hpp"
#include "ops/unique_dim_consecutive.hpp"

namespace etb::host {
namespace {

struct Outputs {
  Tensor &values, &inverse, &counts;
  bool has_inverse, has_counts;
};

// Items that are compared: elements, or slices along a dim.
template <class T>
struct Items {
  const T* elements = nullptr;  // item after item
  int64_t count = 0, item_numel = 1;

  bool equal(int64_t a, int64_t b) const {
    return std::equal(elements + a * item_numel, elements + (a + 1) * item_numel, elements + b * item_numel);
  }
  // Lexicographic, NaN last. Equal items keep their order.
  bool less(int64_t a, int64_t b) const {
    for (int64_t k = 0; k < item_numel; ++k) {
      const T x = elements[a * item_numel + k], y = elements[b * item_numel + k];
      if (x == y || (x != x && y != y)) continue;
      return y != y || x < y;
    }
    return a < b;
  }
};

etb_status check_outputs(KernelContext& context, const Tensor& self, const Outputs& out) {
  if (is_arithmetic(self.dtype()) && out.values.dtype() == self.dtype() &&
      out.inverse.dtype() == Dtype::INT64 && out.counts.dtype() == Dtype::INT64)
    return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "%s into %s, %s and %s, expected %s, int64 and int64",
                      to_text(self.dtype()), to_text(out.values.dtype()), to_text(out.inverse.dtype()),
                      to_text(out.counts.dtype()), to_text(self.dtype()));
}

// The dims of one item in a walk over rows: all, or all but `dim`.
DimSet item_dims(const Tensor& tensor, std::optional<int> dim) {
  DimSet dims;
  for (int i = 0; i < tensor.rank(); ++i)
    if (i != dim) dims.set(static_cast<size_t>(i));
  return dims;
}

// Finds the groups of equal neighbours in `order`: the first item of each, the group of each item, and the sizes of groups. Ends early
// when the run has to stop.
template <class T>
int64_t group(KernelContext& context, const Items<T>& items, const int64_t* order, int64_t* first,
              int64_t* inverse, int64_t* counts) {
  int64_t groups = 0;
  for (int64_t i = 0; i < items.count && !context.should_stop(items.item_numel); ++i) {
    if (i == 0 || !items.equal(order[i], order[i - 1])) {
      first[groups] = order[i];
      counts[groups++] = 0;
    }
    ++counts[groups - 1];
    inverse[order[i]] = groups - 1;
  }
  return groups;
}

// Writes dense elements to a tensor of any dim order, row by row of the walk.
template <class T>
void store_all(KernelContext& context, const Tensor& out, const DimSet& dims, const T* elements) {
  if (out.numel() == 0) return;
  RowWalk to(out, dims);
  for (int64_t row = 0; row < to.row_count(); ++row, to.advance(), elements += to.row_numel())
    to.store(context, *vector_table(context).conversions, kComputeOf<T>, elements, to.row_numel());
}

// Scratch memory of one call.
template <class T>
struct Work {
  T *elements, *chosen;  // the input; the distinct items
  int64_t *order, *spare, *first, *inverse, *counts;

  etb_status allocate(KernelContext& context, int64_t numel, int64_t count, bool is_sorted) {
    elements = context.allocate_array<T>(numel);
    chosen = context.allocate_array<T>(numel);
    spare = context.allocate_array<int64_t>(is_sorted && needs_spare(context, count) ? count : 0);
    bool fits = elements != nullptr && chosen != nullptr && spare != nullptr;
    for (int64_t** list : {&order, &first, &inverse, &counts}) {
      *list = context.allocate_array<int64_t>(count);
      fits = fits && *list != nullptr;
    }
    const uint64_t needed = static_cast<uint64_t>(numel) * 2 * sizeof(T) + static_cast<uint64_t>(count) * 40;
    return fits ? ETB_OK : context.fail_scratch(needed + 512);
  }
};

template <class T>
void load_all(KernelContext& context, const Tensor& self, const DimSet& dims, T* elements) {
  if (self.numel() == 0) return;
  RowWalk from(self, dims);
  for (int64_t row = 0; row < from.row_count(); ++row, from.advance(), elements += from.row_numel())
    from.load(context, *vector_table(context).conversions, kComputeOf<T>, elements, from.row_numel());
}

template <class T>
etb_status write_results(KernelContext& context, const Tensor& self, std::optional<int> dim,
                         const Work<T>& work, int64_t groups, int64_t count, const Outputs& out) {
  int64_t sizes[kMaxRank] = {groups};
  if (dim) {
    std::copy(self.sizes().begin(), self.sizes().end(), sizes);
    sizes[*dim] = groups;
  }
  const int64_t none = 0;
  std::span<const int64_t> inverse_sizes{&none, 1};
  if (out.has_inverse) inverse_sizes = dim ? std::span<const int64_t>{&count, 1} : self.sizes();
  ETB_CHECK(resize_output(context, out.values, {sizes, dim ? static_cast<size_t>(self.rank()) : 1}));
  ETB_CHECK(resize_output(context, out.inverse, inverse_sizes));
  ETB_CHECK(resize_output(context, out.counts, {out.has_counts ? &groups : &none, 1}));
  store_all(context, out.values, item_dims(out.values, dim), work.chosen);
  store_all(context, out.inverse, item_dims(out.inverse, std::nullopt), work.inverse);
  store_all(context, out.counts, item_dims(out.counts, std::nullopt), work.counts);
  return context.should_stop(1) ? context.stopped() : ETB_OK;
}

template <class T>
etb_status find_unique(KernelContext& context, const Tensor& self, std::optional<int> dim, bool is_sorted,
                       const Outputs& out) {
  const int64_t numel = self.numel(), count = dim ? self.size(*dim) : numel;
  Work<T> work;
  ETB_CHECK(work.allocate(context, numel, count, is_sorted));
  load_all(context, self, item_dims(self, dim), work.elements);
  const Items<T> items{work.elements, count, count == 0 ? 0 : numel / count};
  for (int64_t i = 0; i < count && !context.should_stop(1); ++i) work.order[i] = i;
  ETB_CHECK(context.stopped());
  const auto less = [&items](int64_t a, int64_t b) { return items.less(a, b); };
  if (is_sorted) ETB_CHECK(sort_long(context, work.order, count, work.spare, less));
  const int64_t groups = group(context, items, work.order, work.first, work.inverse, work.counts);
  for (int64_t i = 0; i < groups && !context.should_stop(items.item_numel); ++i)
    std::copy_n(work.elements + work.first[i] * items.item_numel, items.item_numel,
                work.chosen + i * items.item_numel);
  ETB_CHECK(context.stopped());
  return write_results(context, self, dim, work, groups, count, out);
}

etb_status run(KernelContext& context, const Tensor& self, std::optional<int64_t> wanted_dim, bool is_sorted,
               const Outputs& out) {
  ETB_CHECK(check_outputs(context, self, out));
  std::optional<int> dim;
  if (wanted_dim) {
    int wrapped = 0;
    ETB_CHECK(wrap_dim(context, *wanted_dim, self.rank(), &wrapped));
    if (self.rank() > 0) dim = wrapped;
  }
  return with_compute(self.dtype(), [&](auto type) {
    return find_unique<decltype(type)>(context, self, dim, is_sorted, out);
  });
}

// PyTorch sorts even where `sorted` is false.
etb_status unique_out(KernelContext& context, ops::_unique2_out<KernelArguments> args) {
  return run(context, args.self(), std::nullopt, true,
             {args.out0(), args.out1(), args.out2(), args.return_inverse(), args.return_counts()});
}

// Along a dim of several PyTorch returns all three results, also those that were not asked for.
etb_status unique_consecutive_out(KernelContext& context, ops::unique_consecutive_out<KernelArguments> args) {
  std::optional<int64_t> dim = args.dim();
  if (args.self().rank() == 1 && dim == 0) dim.reset();  // but not for -1
  return run(
      context, args.self(), dim, false,
      {args.out0(), args.out1(), args.out2(), dim || args.return_inverse(), dim || args.return_counts()});
}

// Along a dim all three results are returned, and always sorted.
etb_status unique_dim_out(KernelContext& context, ops::unique_dim_out<KernelArguments> args) {
  return run(context, args.self(), args.dim(), true, {args.out0(), args.out1(), args.out2(), true, true});
}
etb_status unique_dim_consecutive_out(KernelContext& context,
                                      ops::unique_dim_consecutive_out<KernelArguments> args) {
  return run(context, args.self(), args.dim(), false, {args.out0(), args.out1(), args.out2(), true, true});
}

constexpr Kernel kRows[] = {
    kernel_row<ops::_unique2_out, unique_out>(),
    kernel_row<ops::unique_consecutive_out, unique_consecutive_out>(),
    kernel_row<ops::unique_dim_out, unique_dim_out>(),
    kernel_row<ops::unique_dim_consecutive_out, unique_dim_consecutive_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(unique, kRows);

}  // namespace etb::host
