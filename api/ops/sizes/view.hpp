// SPDX-License-Identifier: Apache-2.0
// Sizes of views and of the ops that copy instead: reshape, expand, slice, squeeze, permute, cat and pad.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "api/ops/sizes/axis.hpp"

namespace etb::ops {

template <class Arithmetic, class Item>
bool is_known(const Arithmetic& sizes, const Item& item) {
  return sizes.known(static_cast<typename Arithmetic::Size>(item)).has_value();
}

enum class ReshapeError : uint8_t {
  kNone,
  kSize,           // a size below 0 that is not the open one, or a product beyond int64
  kDoesNotDivide,  // the elements do not fill the open size
  kDiffers         // all sizes are given and hold another number of elements
};

// Fills the size of -1 in `wanted`, so that it holds `numel` elements. `out_index` receives the index of the size at fault.
template <class Arithmetic, class List>
[[nodiscard]] ReshapeError fill_open_size(Arithmetic& sizes, typename Arithmetic::Size numel, List& wanted,
                                          size_t* out_index) {
  typename Arithmetic::Size product = 1;
  std::optional<size_t> open;
  for (size_t i = 0; i < wanted.size(); ++i) {
    *out_index = i;
    if (sizes.is(wanted[i], -1) && !open) {
      open = i;
      continue;
    }
    const auto number = sizes.known(wanted[i]);
    if (number && *number < 0) return ReshapeError::kSize;
    product = sizes.mul(product, wanted[i]);
    if (sizes.has_overflowed()) return ReshapeError::kSize;
  }
  const auto have = sizes.known(numel), need = sizes.known(product);
  if (!open) return have && need && *have != *need ? ReshapeError::kDiffers : ReshapeError::kNone;
  *out_index = *open;
  if (sizes.is(product, 0) || (have && need && *have % *need != 0)) return ReshapeError::kDoesNotDivide;
  wanted[*open] = sizes.floor_div(numel, product);
  return ReshapeError::kNone;
}

template <class Size>
struct ExpandedSize {
  Size size;
  bool is_kept;  // the dimension as it is; else one element, repeated
};

// A dimension of size `own` expanded to `wanted`, where -1 keeps it; nullopt if it cannot be.
template <class Arithmetic, class Size = typename Arithmetic::Size>
[[nodiscard]] std::optional<ExpandedSize<Size>> expand_size(const Arithmetic& sizes, Size own, Size wanted) {
  if (sizes.is(wanted, -1) || wanted == own) return ExpandedSize<Size>{own, true};
  const auto number = sizes.known(wanted);
  if (number && *number < 0) return std::nullopt;
  if (sizes.is(own, 1)) return ExpandedSize<Size>{wanted, false};
  // A formula may be that number.
  if (number && sizes.known(own)) return std::nullopt;
  return ExpandedSize<Size>{wanted, true};
}

// A dimension that expand adds in front of the others; nullopt for a size below 0.
template <class Arithmetic, class Size = typename Arithmetic::Size>
[[nodiscard]] std::optional<ExpandedSize<Size>> expand_new_size(const Arithmetic& sizes, Size wanted) {
  const auto number = sizes.known(wanted);
  if (number && *number < 0) return std::nullopt;
  return ExpandedSize<Size>{wanted, false};
}

// Index that a bound of a slice means along a dimension of `size`: counted from the end when negative, and clamped to
// [0, size] as in Python.
template <class Arithmetic, class Size = typename Arithmetic::Size>
Size slice_bound(Arithmetic& sizes, Size size, Size bound) {
  if (sizes.highest(bound) < 0) bound = sizes.add(bound, size);
  if (sizes.known(bound) && *sizes.known(bound) >= sizes.highest(size)) return size;
  return sizes.min(sizes.max(bound, 0), size);
}

// Elements from `start` to `end`, `step` apart. `end` is not below `start`, `step` is at least 1.
template <class Arithmetic, class Size = typename Arithmetic::Size>
Size slice_count(Arithmetic& sizes, Size start, Size end, int64_t step) {
  return sizes.ceil_div(sizes.sub(end, start), step);
}

// Offset that index `index` means along a dimension of `size`, counted from the end when negative; nullopt if it has none.
[[nodiscard]] constexpr std::optional<int64_t> wrap_index(int64_t index, int64_t size) {
  if (index < -size || index >= size) return std::nullopt;
  return index < 0 ? index + size : index;
}

// Elements of the diagonal of a matrix, `offset` columns to the right of the main diagonal or -offset rows below it.
template <class Arithmetic, class Size = typename Arithmetic::Size>
Size diagonal_size(Arithmetic& sizes, Size rows, Size columns, int64_t offset) {
  const Size below = sizes.add(rows, std::min<int64_t>(offset, 0));
  return sizes.max(sizes.min(below, sizes.sub(columns, std::max<int64_t>(offset, 0))), 0);
}

// True if squeeze removes a dimension of `size`: it was named and has one element.
template <class Arithmetic>
bool is_squeezed(const Arithmetic& sizes, typename Arithmetic::Size size, bool is_named) {
  return is_named && sizes.is(size, 1);
}

// Calls emit(size) for every size of `in` with `added` put in as dimension `axis`, as unsqueeze and stack do.
template <class List, class Size, class Emit>
void insert_size(const List& in, size_t axis, Size added, Emit emit) {
  for (size_t i = 0; i <= in.size(); ++i) {
    if (i == axis) emit(added);
    if (i < in.size()) emit(Size(in[i]));
  }
}

enum class PermutationError : uint8_t { kNone, kCount, kAxis, kTwice };

// Reads a permutation of the dimensions of a tensor of that rank; order[i] is the dimension that becomes dimension i.
// `out_index` receives the index of the entry at fault.
template <class List, class Order>
[[nodiscard]] PermutationError read_permutation(const List& dims, size_t rank, Order* order,
                                                size_t* out_index) {
  if (dims.size() != rank) return PermutationError::kCount;
  for (size_t i = 0; i < rank; ++i) {
    *out_index = i;
    const auto axis = wrap_axis(dims[i], rank);
    if (!axis) return PermutationError::kAxis;
    order[i] = static_cast<Order>(*axis);
    for (size_t k = 0; k < i; ++k)
      if (order[k] == order[i]) return PermutationError::kTwice;
  }
  return PermutationError::kNone;
}

// True for a tensor of sizes [0], which cat skips for any sizes of the others, as PyTorch does.
template <class Arithmetic, class List>
bool is_skipped_by_cat(const Arithmetic& sizes, const List& in) {
  return in.size() == 1 && sizes.is(in[0], 0);
}

// True if tensors of these sizes can follow each other along `axis`: all other sizes are equal, as far as they are known.
template <class Arithmetic, class List>
[[nodiscard]] bool can_join(const Arithmetic& sizes, const List& a, const List& b, size_t axis) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (i != axis && a[i] != b[i] && is_known(sizes, a[i]) && is_known(sizes, b[i])) return false;
  return true;
}

// Size of a dimension with elements added on both sides, or cut off where they are negative.
template <class Arithmetic, class Size = typename Arithmetic::Size>
Size padded_size(Arithmetic& sizes, Size size, Size before, Size after) {
  return sizes.add(size, sizes.add(before, after));
}

}  // namespace etb::ops
