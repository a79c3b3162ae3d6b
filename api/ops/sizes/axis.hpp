// SPDX-License-Identifier: Apache-2.0
// Dimensions by number: counted from the end when negative, and reordered.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace etb::ops {

// Index of dimension `axis` of a tensor of that rank; nullopt if it has no such dimension. A tensor of rank 0 has the
// dimensions 0 and -1, as in PyTorch.
[[nodiscard]] constexpr std::optional<size_t> wrap_axis(int64_t axis, size_t rank) {
  const auto count = static_cast<int64_t>(std::max<size_t>(rank, 1));
  if (axis < -count || axis >= count) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

}  // namespace etb::ops
