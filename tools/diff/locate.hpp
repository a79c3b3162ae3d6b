// SPDX-License-Identifier: Apache-2.0
// Finds the nodes that make two sides differ: compares values at the borders of regions, then halves a region that
// differs, again and again.
#pragma once

#include <functional>
#include <vector>

#include "tools/diff/compare.hpp"

namespace etb::diff {

// Nodes that are compared together, and their side's region.
struct Block {
  std::vector<uint32_t> nodes;  // ascending
  bool is_region = false;       // of a plugin
};

struct BlockOptions {
  bool has_single_nodes = false;  // each node is a block
};

// All nodes of the method in blocks, in order of execution: regions of the plugins, the rest in short runs.
[[nodiscard]] Result<std::vector<Block>> make_blocks(const Comparison& comparison,
                                                     const BlockOptions& options);

// A fault, narrowed down.
struct Location {
  std::vector<uint32_t> nodes;  // one; several if they are wrong only together
  NodesComparison comparison;   // of these nodes
  size_t trials = 0;            // comparisons that it took
};

// Narrows a block down whose comparison is wrong.
Location locate(const Comparison& comparison, const NodesComparison& wrong);

}  // namespace etb::diff
