// SPDX-License-Identifier: Apache-2.0
// Replaces regions by calls of delegates.
#include <algorithm>
#include <map>
#include <queue>

#include "partitioner_sdk/partition/dependencies.hpp"
#include "partitioner_sdk/partition/partition.hpp"
#include "partitioner_sdk/passes/passes.hpp"

namespace etb::partition {

namespace {

// Sorts the nodes of one graph into an order of execution, with each region as one unit.
class GraphLowering {
 public:
  GraphLowering(ir::Module& module, ir::Graph& graph, const std::vector<NodeAssignment>& assignments,
                const std::vector<Region>& regions)
      : module_(module), graph_(graph), assignments_(assignments), regions_(regions) {}

  Status run() {
    make_units();
    link();
    return place();
  }

 private:
  // One node, or one region. Ready units run in the order of their last node, so that the host's nodes keep
  // their order.
  struct Unit {
    uint32_t last_node = 0;
    uint32_t region = kNoRegion;
    uint32_t wait_count = 0;
    std::vector<uint32_t> next;
  };

  void make_units() {
    std::map<uint32_t, uint32_t> unit_of_region;
    unit_of_node_.resize(graph_.nodes.size());
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (assignments_[i].is_replaced) continue;
      const uint32_t region = assignments_[i].region;
      uint32_t unit = static_cast<uint32_t>(units_.size());
      if (region != kNoRegion) unit = unit_of_region.emplace(region, unit).first->second;
      if (unit == units_.size()) units_.push_back({i, region, 0, {}});
      units_[unit].last_node = i;
      unit_of_node_[i] = unit;
    }
  }

  void link() {
    for_each_dependency(module_, graph_, [&](uint32_t from, uint32_t to) {
      if (!assignments_[from].is_replaced && !assignments_[to].is_replaced)
        link(unit_of_node_[from], unit_of_node_[to]);
    });
    // A region waits for the operands of its copies, too.
    std::vector<uint32_t> definer(graph_.values.size(), ir::kNone);
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i)
      for (const ir::ValueId id : graph_.nodes[i].outputs) definer[id] = i;
    for (uint32_t unit = 0; unit < units_.size(); ++unit) {
      if (units_[unit].region == kNoRegion) continue;
      for (const ir::ValueId id : regions_[units_[unit].region].image.operands)
        if (definer[id] != ir::kNone) link(unit_of_node_[definer[id]], unit);
    }
  }

  void link(uint32_t from, uint32_t to) {
    if (from == to) return;
    units_[from].next.push_back(to);
    ++units_[to].wait_count;
  }

  Status place() {
    std::vector<ir::Node> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    const auto is_later = [&](uint32_t a, uint32_t b) { return units_[a].last_node > units_[b].last_node; };
    std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(is_later)> ready(is_later);
    for (uint32_t unit = 0; unit < units_.size(); ++unit)
      if (units_[unit].wait_count == 0) ready.push(unit);
    size_t placed = 0;
    for (; !ready.empty(); ++placed) {
      const Unit& unit = units_[ready.top()];
      ready.pop();
      graph_.nodes.push_back(unit.region == kNoRegion ? std::move(old[unit.last_node])
                                                      : make_call(unit.region, old));
      for (const uint32_t next : unit.next)
        if (--units_[next].wait_count == 0) ready.push(next);
    }
    if (placed == units_.size()) return {};
    return make_error(Code::INTERNAL, "@" + graph_.name + ": a region would have to run before itself");
  }

  ir::Node make_call(uint32_t number, const std::vector<ir::Node>& old) {
    const Region& region = regions_[number];
    ir::Node call;
    call.op = module_.op(kCallDelegate);
    call.args = {ir::Dim(static_cast<int64_t>(number)), ir::ValueList{region.image.operands}};
    call.outputs = region.image.results;
    call.source = old[region.nodes.front()].source;
    return call;
  }

  ir::Module& module_;
  ir::Graph& graph_;
  const std::vector<NodeAssignment>& assignments_;
  const std::vector<Region>& regions_;
  std::vector<Unit> units_;
  std::vector<uint32_t> unit_of_node_;
};

}  // namespace

Status lower(std::span<ir::Module> methods, const Partition& partition) {
  for (size_t m = 0; m < methods.size(); ++m) {
    for (size_t g = 0; g < methods[m].graphs.size(); ++g) {
      GraphLowering lowering(methods[m], methods[m].graphs[g], partition.assignments[m][g],
                             partition.regions);
      ETB_TRY(lowering.run());
    }
    // Constants that moved into payloads no longer belong to the method.
    ETB_TRY(passes::remove_dead_code(methods[m]));
  }
  return {};
}

}  // namespace etb::partition
