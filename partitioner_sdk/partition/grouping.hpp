// SPDX-License-Identifier: Apache-2.0
// Groups the nodes of a graph into regions. Regions are convex, so that each can run as one call, and their
// number is minimal.
//
// The algorithm simulates execution in rounds. Each round first runs all ready nodes outside regions, then
// all ready nodes that may join a region; these form one region. A further round begins only when each
// remaining node waits for an outside node that waits for the region before. Two regions of one plugin can
// therefore never merge, so their number is minimal. Time is linear in nodes and edges.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace etb::partition {

inline constexpr uint32_t kNoRegion = UINT32_MAX;

// A graph without cycles. An edge leads from a node to one that needs it.
class Dag {
 public:
  explicit Dag(uint32_t node_count) : node_count_(node_count) {}
  void add_edge(uint32_t from, uint32_t to) { edges_.push_back({from, to}); }
  uint32_t node_count() const { return node_count_; }

  struct Edge {
    uint32_t from, to;
  };
  const std::vector<Edge>& edges() const { return edges_; }

 private:
  uint32_t node_count_;
  std::vector<Edge> edges_;
};

// The claims of one plugin.
struct ClaimSet {
  static constexpr uint32_t kNot = UINT32_MAX;       // not claimed
  static constexpr uint32_t kFree = UINT32_MAX - 1;  // claimed, may be merged with others
  // By node: kNot, kFree, or the index of a unit whose nodes belong to one region.
  std::vector<uint32_t> unit;
  // By unit: true if it must not be merged with others.
  std::vector<bool> is_own_region;
};

struct Grouping {
  std::vector<uint32_t>
      region;  // by node, kNoRegion outside regions; regions are numbered in an order of execution
  uint32_t region_count = 0;
  // A unit that would have to run before itself. If set, all other members are invalid.
  std::optional<uint32_t> cyclic_unit;
  uint64_t step_count = 0;  // nodes and edges visited, for tests
};

// `fixed[node]`: index of the vertex that the node already belongs to (a region of an earlier plugin), or
// kNoRegion.
Grouping group(const Dag& dag, const std::vector<uint32_t>& fixed, const ClaimSet& claims);

}  // namespace etb::partition
