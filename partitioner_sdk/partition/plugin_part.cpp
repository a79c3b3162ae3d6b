// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/plugin_part.hpp"

#include <map>
#include <set>

#include "etb/aot.h"

namespace etb::partition {

namespace {

bool is_whole_group(const ClaimItem& claim) {
  return claim.group != 0 && (claim.flags & ETB_CLAIM_WHOLE_GROUP) != 0;
}

class PartBuilder {
 public:
  PartBuilder(uint32_t compiler, const MethodImage& image, const Answers& answers,
              const std::vector<NodeAnswer>& nodes)
      : compiler_(compiler), image_(image), answers_(answers), nodes_(nodes) {}

  std::vector<PluginPart> build(const ir::Module& module, const FindRejection& find_rejection) {
    parts_.resize(module.graphs.size());
    for (size_t graph = 0; graph < parts_.size(); ++graph) {
      parts_[graph].claims.unit.assign(module.graphs[graph].nodes.size(), ClaimSet::kNot);
      parts_[graph].cost_ns.assign(module.graphs[graph].nodes.size(), 0);
    }
    for (uint32_t id = 0; id < nodes_.size(); ++id) {
      const NodeLocation location = image_.nodes[id];
      if (location.node == ir::kNone) continue;  // computes a number
      if (nodes_[id].is_claimed) {
        add_claim(location, answers_.claims[nodes_[id].item], find_rejection(location));
      } else {
        const RejectItem& reject = answers_.rejects[nodes_[id].item];
        add_rejection(location, {compiler_, reject.reason, reject.text});
      }
    }
    if (!broken_groups_.empty()) reject_broken_groups();
    return std::move(parts_);
  }

 private:
  void add_rejection(NodeLocation location, Rejection rejection) {
    parts_[location.graph].rejections.emplace_back(location.node, std::move(rejection));
  }

  void add_claim(NodeLocation location, const ClaimItem& claim, std::optional<Rejection> rejection) {
    if (rejection) {
      add_rejection(location, *std::move(rejection));
      if (is_whole_group(claim)) broken_groups_.insert(claim.group);
      return;
    }
    if (is_whole_group(claim)) {
      const uint32_t graph = graph_of_group_.emplace(claim.group, location.graph).first->second;
      if (graph != location.graph) broken_groups_.insert(claim.group);
    }
    PluginPart& part = parts_[location.graph];
    part.cost_ns[location.node] = claim.cost_ns / static_cast<double>(claim.nodes.size());
    part.claims.unit[location.node] = unit_of(claim, location.graph);
  }

  // Returns the unit of a claimed node. Creates it if the claim is the first of its group.
  uint32_t unit_of(const ClaimItem& claim, uint32_t graph) {
    const bool is_own_region = (claim.flags & ETB_CLAIM_OWN_REGION) != 0;
    if (!is_own_region && !is_whole_group(claim)) return ClaimSet::kFree;
    ClaimSet& claims = parts_[graph].claims;
    const auto next = static_cast<uint32_t>(claims.is_own_region.size());
    if (claim.group != 0) {
      const auto [unit, is_new] = units_.emplace(std::pair{graph, claim.group}, next);
      if (!is_new) return unit->second;
    }
    claims.is_own_region.push_back(is_own_region);
    return next;
  }

  void reject_broken_groups() {
    for (uint32_t id = 0; id < nodes_.size(); ++id) {
      const NodeLocation location = image_.nodes[id];
      if (location.node == ir::kNone || !nodes_[id].is_claimed) continue;
      const uint32_t group = answers_.claims[nodes_[id].item].group;
      uint32_t& unit = parts_[location.graph].claims.unit[location.node];
      if (broken_groups_.count(group) == 0 || unit == ClaimSet::kNot) continue;
      unit = ClaimSet::kNot;
      add_rejection(location, {compiler_, "host.group",
                               "other nodes of its group " + std::to_string(group) + " cannot be delegated"});
    }
  }

  const uint32_t compiler_;
  const MethodImage& image_;
  const Answers& answers_;
  const std::vector<NodeAnswer>& nodes_;
  std::vector<PluginPart> parts_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> units_;  // by graph and group
  std::map<uint32_t, uint32_t> graph_of_group_;
  std::set<uint32_t> broken_groups_;  // groups that the plugin requires whole and that cannot be kept whole
};

}  // namespace

std::vector<PluginPart> make_plugin_parts(uint32_t compiler, const ir::Module& module,
                                          const MethodImage& image, const Answers& answers,
                                          const std::vector<NodeAnswer>& nodes,
                                          const FindRejection& find_rejection) {
  return PartBuilder(compiler, image, answers, nodes).build(module, find_rejection);
}

}  // namespace etb::partition
