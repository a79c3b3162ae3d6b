// SPDX-License-Identifier: Apache-2.0
// The difference of two sequences: which items are in one only, and which belong together.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace etb::tools {

struct SequenceDiff {
  std::vector<std::pair<size_t, size_t>> equal;  // indices of items that belong together, ascending
  std::vector<size_t> only_in_a, only_in_b;      // ascending
};

// Finds the fewest items to remove and add (Myers' algorithm). Beyond `max_changes` of them the items between the
// common start and the common end count as changed, so that time and memory stay bounded.
SequenceDiff diff_sequences(std::span<const std::string> a, std::span<const std::string> b,
                            size_t max_changes = 2000);

}  // namespace etb::tools
