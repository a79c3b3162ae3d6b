// SPDX-License-Identifier: Apache-2.0
// Nodes that each region computes for itself: those that depend on constants alone, and dequantisations.
//
// A layer needs its weight as a constant of its own region, and its input as integers. Such a node is ready long
// before its readers, so the grouping would put it into the first region, and later regions would get floats that are
// known only at run time. Therefore each region that reads the node gets a copy of it, and waits for the operands of
// the node instead.
#pragma once

#include <vector>

#include "partitioner_sdk/partition/grouping.hpp"
#include "partitioner_sdk/partition/method_image.hpp"

namespace etb::partition {

class ReaderCopies {
 public:
  // Finds such nodes of a graph. A copied node is pure, and a plugin claims it outside of a unit.
  ReaderCopies(const ir::Module& module, const GraphFacts& facts);

  // Returns the grouping of the claims where claimed readers of a copied node wait for its operands instead. A
  // copied node that only regions read belongs to none.
  Grouping group(const Dag& dag, const std::vector<uint32_t>& fixed, const ClaimSet& claims) const;

  // Adds the copied nodes that a region needs and lacks. `nodes` of the region are ascending.
  void add_to(std::vector<uint32_t>& nodes, const ClaimSet& claims) const;
  const std::vector<uint32_t>& readers(uint32_t node) const { return readers_[node]; }
  // True if the graph returns a result of the node.
  bool is_output(uint32_t node) const { return is_output_[node]; }

 private:
  bool is_copied(uint32_t node, const ClaimSet& claims) const {
    return kind_[node] != Kind::kNone && claims.unit[node] == ClaimSet::kFree;
  }

  // True if the copies of regions replace the node, apart from a host that reads a node of constants.
  bool is_only_copied(uint32_t node, const ClaimSet& claims) const;

  enum class Kind : uint8_t { kNone, kOfConstants, kDequantised };
  // By node:
  std::vector<Kind> kind_;
  std::vector<std::vector<uint32_t>> needs_;  // nodes that compute its operands
  std::vector<std::vector<uint32_t>> readers_;
  std::vector<bool> is_output_;
};

}  // namespace etb::partition
