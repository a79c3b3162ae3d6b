// SPDX-License-Identifier: Apache-2.0
// Sorting and selecting in long rows, in steps between which the run may stop. `Less` is a total order without ties, so every way of
// sorting gives the same result; where nothing watches the run, or the row is short, the standard library does it at once.
//
// When the run has to stop, the entries are left in any order: each is still one of those that were there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "host/kernels/long_loops.hpp"

namespace etb::host {

// Merges two sorted halves into `to`.
template <class T, class Less>
etb_status merge_halves(KernelContext& context, const T* first, const T* middle, const T* end, T* to,
                        Less less) {
  const T *left = first, *right = middle;
  for (const T* done = first; done != end; ++done, ++to) {
    if (context.should_stop(1)) return context.stopped();
    const bool takes_right = left == middle || (right != end && less(*right, *left));
    *to = takes_right ? *right++ : *left++;
  }
  return ETB_OK;
}

// Runs of a piece each are sorted and then merged, from one array into the other and back. `spare` has room for `count` entries where
// needs_spare() says so, else it may be null.
inline bool needs_spare(const KernelContext& context, int64_t count) {
  return context.piece_of(count) != count;
}

template <class T, class Less>
etb_status sort_long(KernelContext& context, T* entries, int64_t count, T* spare, Less less) {
  const int64_t piece = context.piece_of(count);
  for (int64_t begin = 0; begin < count; begin += piece) {
    const int64_t length = std::min(piece, count - begin);
    if (context.should_stop(length)) return context.stopped();
    std::sort(entries + begin, entries + begin + length, less);
  }
  T *from = entries, *to = spare;
  for (int64_t width = piece; width < count; width *= 2) {
    for (int64_t begin = 0; begin < count; begin += 2 * width) {
      const int64_t middle = std::min(begin + width, count), end = std::min(begin + 2 * width, count);
      if (const etb_status status =
              merge_halves(context, from + begin, from + middle, from + end, to + begin, less);
          status != ETB_OK)
        return status;
    }
    std::swap(from, to);
  }
  if (from == entries) return ETB_OK;
  return for_each_piece(context, count, [&](int64_t begin, int64_t length) {
    std::copy_n(from + begin, length, entries + begin);
  });
}

// The first `kept` of the sorted entries, in order, at the front. `spare` as for sort_long.
template <class T, class Less>
etb_status sort_first(KernelContext& context, T* entries, int64_t count, int64_t kept, T* spare, Less less) {
  if (!needs_spare(context, count)) {
    constexpr int64_t kFew = 64;  // a heap is quick only while most entries stay outside of it
    if (kept < count && kept > count / kFew) {
      std::nth_element(entries, entries + kept, entries + count, less);
      std::sort(entries, entries + kept, less);
    } else {
      std::partial_sort(entries, entries + kept, entries + count, less);
    }
    return ETB_OK;
  }
  if (kept > KernelContext::kPiece) return sort_long(context, entries, count, spare, less);
  if (kept == 0) return ETB_OK;
  // A heap of the best so far, its worst on top.
  std::make_heap(entries, entries + kept, less);
  for (int64_t i = kept; i < count; ++i) {
    if (context.should_stop(1)) return context.stopped();
    if (!less(entries[i], entries[0])) continue;
    std::pop_heap(entries, entries + kept, less);
    std::swap(entries[kept - 1], entries[i]);
    std::push_heap(entries, entries + kept, less);
  }
  std::sort(entries, entries + kept, less);
  return ETB_OK;
}

// Puts the entry there that sorting would put at `index`.
template <class T, class Less>
etb_status select_long(KernelContext& context, T* entries, int64_t count, int64_t index, T* spare,
                       Less less) {
  // Rounds halve what is left, or nearly so, unless the values were chosen against it; then sorting is the sure way.
  for (int round = 0; needs_spare(context, count); ++round) {
    if (round == 64) return sort_long(context, entries, count, spare, less);
    T& middle = entries[count / 2];
    if (less(middle, entries[0])) std::swap(middle, entries[0]);
    if (less(entries[count - 1], middle)) std::swap(entries[count - 1], middle);
    if (less(middle, entries[0])) std::swap(middle, entries[0]);
    std::swap(middle, entries[0]);  // the median of three in front
    int64_t below = 0;              // entries[1 .. below] are less than it
    for (int64_t i = 1; i < count; ++i) {
      if (context.should_stop(1)) return context.stopped();
      if (less(entries[i], entries[0])) std::swap(entries[++below], entries[i]);
    }
    std::swap(entries[0], entries[below]);
    if (index == below) return ETB_OK;
    if (index < below) {
      count = below;
      continue;
    }
    entries += below + 1;
    count -= below + 1;
    index -= below + 1;
  }
  std::nth_element(entries, entries + index, entries + count, less);
  return ETB_OK;
}

}  // namespace etb::host
