// SPDX-License-Identifier: Apache-2.0
// A whole comparison of two sides: every block, and the first node that diverges.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tools/diff/locate.hpp"

namespace etb::diff {

struct SearchOptions {
  BlockOptions blocks;
  bool has_borders_only = false;  // no search inside of blocks whose results are right
  bool finds_all = false;         // a location for each block that is wrong, not only for the first node
};

struct SearchResult {
  // Regions and runs of nodes, the whole method, then single nodes that are wrong inside of right blocks.
  std::vector<NodesComparison> blocks;
  std::vector<bool> is_region;      // by block
  std::vector<Location> locations;  // in order of execution
  // Where a side knows only outputs: the comparison that located the nodes in its place, and why it is the right one.
  std::vector<std::unique_ptr<Side>> substitutes;
  std::unique_ptr<Comparison> substituted;
  size_t first_substituted = SIZE_MAX;  // index of the first block that it compared
  std::string reason_of_substitute;
  std::vector<std::string> notes;

  size_t node_count = 0;  // nodes that were compared alone, because all blocks were right

  bool has_divergence() const;
  // The comparison that located the nodes: `own` unless it was substituted.
  const Comparison& located_by(const Comparison& own) const { return substituted ? *substituted : own; }
  const Comparison& compared_by(size_t block, const Comparison& own) const {
    return block >= first_substituted ? *substituted : own;
  }
  // Takes the locations and the blocks of another search, by this comparison.
  void take(SearchResult inner, std::unique_ptr<Comparison> comparison, std::string reason);
};

// `on_block` is called before each block, with the numbers of blocks done and of all.
[[nodiscard]] Result<SearchResult> search(
    const Comparison& comparison, const SearchOptions& options,
    const std::function<void(size_t done, size_t count)>& on_block = {});

}  // namespace etb::diff
