// Groups the nodes of a graph into regions: convex, so that each can run as one call, and as few as there can be.
//
// The order of execution is played through in rounds: everything that no region takes, as far as it goes; then everything that
// may be in a region, as far as that goes. What one round takes is one region. A second round begins only when each node that is
// left waits for something outside which waits for the region before, so two regions of one plugin can never be one: their number
// is the least there is. Time is linear in nodes and edges.
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

// What one plugin takes.
struct Taken {
  static constexpr uint32_t kNot = UINT32_MAX;       // not taken
  static constexpr uint32_t kFree = UINT32_MAX - 1;  // taken, may be merged with others
  // By node: kNot, kFree, or the number of a unit whose nodes belong into one region.
  std::vector<uint32_t> unit;
  // By unit: merged with no other.
  std::vector<bool> is_own_region;
};

struct Grouping {
  std::vector<uint32_t>
      region;  // by node, kNoRegion where there is none; regions count from 0 in an order of execution
  uint32_t region_count = 0;
  // A unit that would have to run before itself; then nothing else here counts.
  std::optional<uint32_t> cyclic_unit;
  uint64_t step_count = 0;  // nodes and edges looked at, for tests
};

// `fixed[node]`: number of what is one thing already (a region of an earlier plugin), or kNoRegion.
Grouping group(const Dag& dag, const std::vector<uint32_t>& fixed, const Taken& taken);

}  // namespace etb::partition
