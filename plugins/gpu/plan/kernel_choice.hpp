// SPDX-License-Identifier: Apache-2.0
// The family of kernels that computes the products and convolutions of a plan, and exceptions for single nodes.
#pragma once

#include <vector>

#include "plugins/gpu/graph/graph.hpp"
#include "plugins/gpu/kernels/kernel.hpp"

namespace etb::gpu {

// The tile of a workgroup or an invocation. A family that has no such tile for a node uses the one of its rule.
enum class Tile : uint8_t {
  kBySizes,  // the family's rule
  kWide,     // registers: 8 rows of 16 columns; tiles: 16 of 32; vectors: 8 of 32; groups: 64 of 32
  kNarrow,   // registers: 4 rows of 4 columns; tiles: 16 of 16; vectors: 8 of 16; groups: 16 of 32
  kThin,     // vectors: 1 row of 32 columns; groups: 16 of 32, by four slices of the depth
};

struct KernelChoice {
  KernelFamily family = KernelFamily::kRegisters;
  Tile tile = Tile::kBySizes;
  Shape result = {};  // sizes of the node's result for which the tile holds; for others the rule decides
};

struct KernelChoices {
  KernelFamily family = KernelFamily::kRegisters;  // of the nodes without a choice, and of attention
  std::vector<KernelChoice> of_node = {};          // empty: no node has one

  KernelChoice at(uint32_t node) const {
    return node < of_node.size() ? of_node[node] : KernelChoice{family};
  }
};

}  // namespace etb::gpu
