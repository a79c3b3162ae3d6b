// SPDX-License-Identifier: Apache-2.0
// Sizes of operands that broadcast: dimensions are matched from the last on, and a size of 1 is repeated.
#pragma once

#include <cstddef>
#include <optional>

namespace etb::ops {

// Size of the result along one dimension; nullopt if both are known, differ and neither is 1. With a formula and a number, the
// number counts: the exporter checked that they agree.
template <class Arithmetic>
[[nodiscard]] std::optional<typename Arithmetic::Size> broadcast_size(const Arithmetic& sizes,
                                                                      typename Arithmetic::Size a,
                                                                      typename Arithmetic::Size b) {
  if (sizes.is(a, 1)) return b;
  if (sizes.is(b, 1) || a == b) return a;
  if (sizes.known(a) && sizes.known(b)) return std::nullopt;
  return sizes.known(a) ? a : b;
}

// Merges the sizes of one more operand into `result`, which has at least as many dimensions and begins as ones. False if they
// do not broadcast; dimensions before the one that fails are merged by then.
template <class Arithmetic, class List>
[[nodiscard]] bool broadcast_into(const Arithmetic& sizes, const List& operand,
                                  typename Arithmetic::Size* result, size_t result_rank) {
  for (size_t i = 0; i < operand.size(); ++i) {
    typename Arithmetic::Size& size = result[result_rank - operand.size() + i];
    const auto merged = broadcast_size(sizes, size, static_cast<typename Arithmetic::Size>(operand[i]));
    if (!merged) return false;
    size = *merged;
  }
  return true;
}

// True if every size of `operand` is 1 or that of `result`, which has at least as many dimensions.
template <class Arithmetic, class Operand, class Result>
[[nodiscard]] bool broadcasts_to(const Arithmetic& sizes, const Operand& operand, const Result& result) {
  for (size_t i = 0; i < operand.size(); ++i)
    if (!sizes.is(operand[i], 1) && operand[i] != result[result.size() - operand.size() + i]) return false;
  return true;
}

}  // namespace etb::ops
