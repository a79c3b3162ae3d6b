// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/partition.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "etb/aot.h"
#include "partitioner_sdk/partition/dependencies.hpp"

namespace etb::partition {

namespace {

bool holds_subgraphs(const ir::Node& node) {
  return std::any_of(node.args.begin(), node.args.end(), [](const ir::Argument& argument) {
    return ir::get_if<ir::GraphRef>(argument) != nullptr;
  });
}

// Returns why the host keeps a node that a plugin claims, or NULL.
const char* find_host_objection(const ir::Graph& graph, const ir::Node& node) {
  if (holds_subgraphs(node)) return "the host runs control flow";
  if (node.outputs.empty()) return "has no result";
  for (const ir::ValueId id : node.outputs)
    if (graph.values[id].kind != ir::ValueKind::kTensor) return "returns a number; the host computes numbers";
  bool takes_number = false;
  for (const ir::Argument& argument : node.args)
    ir::for_each_value(
        argument, [&](ir::ValueId id) { takes_number |= graph.values[id].kind != ir::ValueKind::kTensor; });
  return takes_number ? "an argument is a number that is known only at run time" : nullptr;
}

// State of one graph during partitioning.
struct GraphState {
  GraphState(const ir::Module& module, uint32_t index)
      : facts(module, index),
        dag(static_cast<uint32_t>(module.graphs[index].nodes.size())),
        fixed(module.graphs[index].nodes.size(), kNoRegion),
        fates(module.graphs[index].nodes.size()) {
    for_each_dependency(module, module.graphs[index],
                        [&](uint32_t from, uint32_t to) { dag.add_edge(from, to); });
  }

  GraphFacts facts;
  Dag dag;
  std::vector<uint32_t> fixed;  // regions so far, numbered within the graph
  uint32_t fixed_count = 0;
  std::vector<NodeFate> fates;
};

struct MethodState {
  MethodImage image;
  std::vector<GraphState> graphs;
};

// A plugin's part of one graph.
struct Share {
  Taken taken;
  std::vector<double> cost_ns;  // by node
  std::vector<std::pair<uint32_t, Refusal>> refusals;
  Grouping grouping;
};

class Partitioner {
 public:
  Partitioner(std::span<ir::Module> methods, std::span<const std::unique_ptr<Compiler>> compilers,
              const PartitionOptions& options, ConstantKeys& keys)
      : methods_(methods), compilers_(compilers), options_(options), keys_(keys) {}

  Result<Partition> run() {
    std::vector<MethodImage> images;
    for (ir::Module& module : methods_) {
      ETB_ASSIGN(MethodImage image, make_method_image(module, keys_));
      images.push_back(std::move(image));
    }
    images_ = std::move(images);
    // A plugin that fails late may hold nodes that others could claim. So all are asked again without it.
    for (;;) {
      const size_t fault_count = faults_.size();
      ETB_ASSIGN(Partition out, attempt());
      if (faults_.size() == fault_count) {
        out.faults = std::move(faults_);
        return out;
      }
    }
  }

 private:
  Result<Partition> attempt() {
    methods_state_.clear();
    for (size_t m = 0; m < methods_.size(); ++m) {
      methods_state_.emplace_back();
      for (uint32_t g = 0; g < methods_[m].graphs.size(); ++g)
        methods_state_[m].graphs.emplace_back(methods_[m], g);
    }
    Partition out;
    for (uint32_t c = 0; c < compilers_.size(); ++c) {
      out.compilers.push_back(compilers_[c]->name());
      out.backend_ids.push_back(compilers_[c]->backend_id());
      if (is_excluded_.count(c) != 0) continue;
      if (const Status asked = ask(c, out); !asked) exclude(c, asked.error());
    }
    ETB_TRY(make_images(out));
    for (uint32_t c = 0; c < compilers_.size(); ++c) {
      if (is_excluded_.count(c) != 0) continue;
      if (const Status compiled = compile(c, out); !compiled) {
        exclude(c, compiled.error());
        return out;  // not used
      }
    }
    for (MethodState& method : methods_state_) {
      out.fates.emplace_back();
      for (GraphState& graph : method.graphs) out.fates.back().push_back(std::move(graph.fates));
    }
    return out;
  }

  void exclude(uint32_t compiler, const Error& error) {
    is_excluded_.insert(compiler);
    faults_.push_back({compilers_[compiler]->name(), error.message});
  }

  // Asks one plugin about all methods. Changes nothing unless every answer is valid.
  Status ask(uint32_t c, Partition& out) {
    std::vector<std::vector<Share>> shares;
    for (size_t m = 0; m < methods_.size(); ++m) {
      const auto context = [&](Error error) {
        return tl::make_unexpected(with_context(std::move(error), "method '" + methods_[m].name + "'"));
      };
      auto answers = compilers_[c]->partition(images_[m].image);
      if (!answers) return context(std::move(answers).error());
      auto node_answers = verify_answers(*answers, images_[m].nodes.size());
      if (!node_answers) return context(std::move(node_answers).error());
      shares.push_back(share_out(c, m, *answers, *node_answers));
      for (size_t g = 0; g < shares[m].size(); ++g) {
        GraphState& state = methods_state_[m].graphs[g];
        Share& share = shares[m][g];
        do {
          share.grouping = group(state.dag, state.fixed, share.taken);
          if (share.grouping.cyclic_unit) return context(cycle_error(m, g, share));
        } while (give_back_untold(c, m, state, share));
      }
    }
    for (size_t m = 0; m < methods_.size(); ++m)
      for (size_t g = 0; g < shares[m].size(); ++g) commit(c, m, g, shares[m][g], out);
    return {};
  }

  // Returns nodes to the host that need a symbolic size which none of the region's inputs determine. Returns
  // true if there were any.
  bool give_back_untold(uint32_t c, size_t m, const GraphState& state, Share& share) const {
    std::vector<std::vector<uint32_t>> regions(share.grouping.region_count);
    for (uint32_t i = 0; i < share.grouping.region.size(); ++i)
      if (share.grouping.region[i] != kNoRegion) regions[share.grouping.region[i]].push_back(i);
    bool has_some = false;
    for (const std::vector<uint32_t>& nodes : regions) {
      for (const uint32_t node : find_untold_nodes(methods_[m], state.facts, nodes)) {
        has_some = true;
        share.taken.unit[node] = Taken::kNot;
        share.refusals.emplace_back(
            node,
            Refusal{c, "host.number", "needs a symbolic size that none of the region's inputs determine"});
      }
    }
    return has_some;
  }

  Error cycle_error(size_t m, size_t g, const Share& share) const {
    const ir::Module& module = methods_[m];
    std::string nodes;
    uint32_t count = 0;
    for (uint32_t i = 0; i < share.taken.unit.size(); ++i) {
      if (share.taken.unit[i] != *share.grouping.cyclic_unit) continue;
      if (++count <= 3) nodes += (nodes.empty() ? "" : ", ") + describe(module, g, i);
    }
    return Error{Code::INVALID_DATA,
                 "claims " + std::to_string(count) +
                     " nodes as one region, which would have to run before itself: " + nodes +
                     (count > 3 ? ", ..." : ""),
                 "", 0};
  }

  std::string describe(const ir::Module& module, size_t g, uint32_t node) const {
    const ir::Node& row = module.graphs[g].nodes[node];
    return module.op(row).name + " (node " + std::to_string(node) + ")";
  }

  std::vector<Share> share_out(uint32_t c, size_t m, const Answers& answers,
                               const std::vector<NodeAnswer>& node_answers) {
    const ir::Module& module = methods_[m];
    std::vector<Share> shares(module.graphs.size());
    for (size_t g = 0; g < shares.size(); ++g) {
      shares[g].taken.unit.assign(module.graphs[g].nodes.size(), Taken::kNot);
      shares[g].cost_ns.assign(module.graphs[g].nodes.size(), 0);
    }
    std::map<std::pair<size_t, uint32_t>, uint32_t> units;  // by graph and group
    std::set<uint32_t> torn;                                // groups that cannot be kept whole
    std::map<uint32_t, size_t> graph_of_group;
    const auto is_whole = [](const ClaimItem& claim) {
      return claim.group != 0 && (claim.flags & ETB_CLAIM_WHOLE_GROUP) != 0;
    };
    for (uint32_t id = 0; id < node_answers.size(); ++id) {
      const NodePlace place = images_[m].nodes[id];
      if (place.node == ir::kNone) continue;  // computes a number
      Share& share = shares[place.graph];
      if (!node_answers[id].is_claimed) {
        const RejectItem& reject = answers.rejects[node_answers[id].item];
        share.refusals.emplace_back(place.node, Refusal{c, reject.reason, reject.text});
        continue;
      }
      const ClaimItem& claim = answers.claims[node_answers[id].item];
      if (auto refusal = find_refusal(c, m, place, claim)) {
        share.refusals.emplace_back(place.node, std::move(*refusal));
        if (is_whole(claim)) torn.insert(claim.group);
        continue;
      }
      if (is_whole(claim) && graph_of_group.emplace(claim.group, place.graph).first->second != place.graph)
        torn.insert(claim.group);
      share.cost_ns[place.node] = claim.cost_ns / static_cast<double>(claim.nodes.size());
      share.taken.unit[place.node] = unit_of(claim, place.graph, units, share.taken);
    }
    if (!torn.empty()) drop_groups(c, m, answers, node_answers, torn, shares);
    return shares;
  }

  static uint32_t unit_of(const ClaimItem& claim, size_t graph,
                          std::map<std::pair<size_t, uint32_t>, uint32_t>& units, Taken& taken) {
    const bool is_own = (claim.flags & ETB_CLAIM_OWN_REGION) != 0;
    const bool is_unit = is_own || (claim.group != 0 && (claim.flags & ETB_CLAIM_WHOLE_GROUP) != 0);
    if (!is_unit) return Taken::kFree;
    const auto next = static_cast<uint32_t>(taken.is_own_region.size());
    if (claim.group != 0) {
      const auto [unit, is_new] = units.emplace(std::pair{graph, claim.group}, next);
      if (!is_new) return unit->second;
    }
    taken.is_own_region.push_back(is_own);
    return next;
  }

  // Drops incomplete groups whose plugin requires them whole.
  void drop_groups(uint32_t c, size_t m, const Answers& answers, const std::vector<NodeAnswer>& node_answers,
                   const std::set<uint32_t>& torn, std::vector<Share>& shares) {
    for (uint32_t id = 0; id < node_answers.size(); ++id) {
      const NodePlace place = images_[m].nodes[id];
      if (place.node == ir::kNone || !node_answers[id].is_claimed) continue;
      const ClaimItem& claim = answers.claims[node_answers[id].item];
      uint32_t& unit = shares[place.graph].taken.unit[place.node];
      if (torn.count(claim.group) == 0 || unit == Taken::kNot) continue;
      unit = Taken::kNot;
      shares[place.graph].refusals.emplace_back(
          place.node,
          Refusal{c, "host.group",
                  "other nodes of its group " + std::to_string(claim.group) + " cannot be delegated"});
    }
  }

  std::optional<Refusal> find_refusal(uint32_t c, size_t m, NodePlace place, const ClaimItem&) const {
    const GraphState& state = methods_state_[m].graphs[place.graph];
    const ir::Module& module = methods_[m];
    const ir::Graph& graph = module.graphs[place.graph];
    const ir::Node& node = graph.nodes[place.node];
    if (state.fixed[place.node] != kNoRegion) return Refusal{c, "host.taken", "an earlier plugin claimed it"};
    if (const char* why = find_host_objection(graph, node)) return Refusal{c, "host.kept", why};
    if (options_.filters.is_empty()) return std::nullopt;
    FilteredNode row;
    row.op = module.op(node).name;
    if (node.source != ir::kNone) row.module_path = module.sources[node.source].module_path;
    for (const ir::ValueId id : node.outputs) row.names.push_back(state.facts.names[id]);
    if (auto why = find_objection(options_.filters, row)) return Refusal{c, "host.filter", *why};
    return std::nullopt;
  }

  void commit(uint32_t c, size_t m, size_t g, Share& share, Partition& out) {
    GraphState& state = methods_state_[m].graphs[g];
    std::vector<Region> regions(share.grouping.region_count);
    for (uint32_t i = 0; i < share.grouping.region.size(); ++i) {
      if (share.grouping.region[i] == kNoRegion) continue;
      regions[share.grouping.region[i]].nodes.push_back(i);
      regions[share.grouping.region[i]].cost_ns += share.cost_ns[i];
    }
    for (auto& [node, refusal] : share.refusals) state.fates[node].refusals.push_back(std::move(refusal));
    for (Region& region : regions) {
      if (region.nodes.size() < options_.min_region_nodes) {
        for (const uint32_t node : region.nodes)
          state.fates[node].refusals.push_back(
              {c, "host.small",
               "its region would have " + std::to_string(region.nodes.size()) + " nodes, fewer than " +
                   std::to_string(options_.min_region_nodes)});
        continue;
      }
      region.method = static_cast<uint32_t>(m);
      region.graph = static_cast<uint32_t>(g);
      region.compiler = c;
      for (const uint32_t node : region.nodes) {
        state.fixed[node] = state.fixed_count;
        state.fates[node].region = static_cast<uint32_t>(out.regions.size());
      }
      ++state.fixed_count;
      out.regions.push_back(std::move(region));
    }
  }

  Status make_images(Partition& out) {
    std::vector<std::vector<std::vector<bool>>> outside(methods_.size());
    for (size_t m = 0; m < methods_.size(); ++m) {
      for (size_t g = 0; g < methods_[m].graphs.size(); ++g) outside[m].push_back(find_outside_uses(m, g));
    }
    for (size_t i = 0; i < out.regions.size(); ++i) {
      Region& region = out.regions[i];
      const GraphState& state = methods_state_[region.method].graphs[region.graph];
      const std::vector<bool>& is_outside = outside[region.method][region.graph];
      auto image = make_region_image(
          methods_[region.method], state.facts, region.nodes,
          [&](ir::ValueId id) { return static_cast<bool>(is_outside[id]); }, keys_,
          methods_[region.method].name + "_region_" + std::to_string(i));
      if (!image)
        return tl::make_unexpected(
            with_context(std::move(image).error(), "graph image of region " + std::to_string(i)));
      region.image = *std::move(image);
    }
    return {};
  }

  // Returns by value: true if a node outside its region uses it.
  std::vector<bool> find_outside_uses(size_t m, size_t g) const {
    const GraphState& state = methods_state_[m].graphs[g];
    const ir::Graph& graph = methods_[m].graphs[g];
    std::vector<bool> is_outside(graph.values.size(), false);
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
      for (const ir::Argument& argument : graph.nodes[i].args) {
        ir::for_each_value(argument, [&](ir::ValueId id) {
          const uint32_t definer = state.facts.definer[id];
          const bool is_inside = definer != ir::kNone && state.fates[i].region != kNoRegion &&
                                 state.fates[definer].region == state.fates[i].region;
          if (!is_inside) is_outside[id] = true;
        });
      }
    }
    for (const ir::Output& output : graph.outputs)
      ir::for_each_value(output.value, [&](ir::ValueId id) { is_outside[id] = true; });
    return is_outside;
  }

  Status compile(uint32_t c, Partition& out) {
    std::vector<const graph::ImageBytes*> images;
    std::vector<Region*> regions;
    for (Region& region : out.regions) {
      if (region.compiler != c) continue;
      images.push_back(&region.image.image);
      regions.push_back(&region);
    }
    if (regions.empty()) return {};
    ETB_ASSIGN(Compiled compiled, compilers_[c]->compile(images, keys_));
    for (size_t i = 0; i < regions.size(); ++i) regions[i]->artifact = std::move(compiled.artifacts[i]);
    for (NamedBlob& blob : compiled.blobs) ETB_TRY(add_blob(std::move(blob), out));
    return {};
  }

  // Keys are shared by the program, so two plugins must not use one key for different bytes.
  static Status add_blob(NamedBlob blob, Partition& out) {
    for (NamedBlob& other : out.blobs) {
      if (other.key != blob.key) continue;
      if (other.bytes != blob.bytes || other.constant_key != blob.constant_key)
        return make_error(
            Code::INVALID_DATA,
            "named blob '" + blob.key + "' differs from the blob of another plugin with the same key");
      other.alignment = std::max(other.alignment, blob.alignment);
      return {};
    }
    out.blobs.push_back(std::move(blob));
    return {};
  }

  std::span<ir::Module> methods_;
  std::span<const std::unique_ptr<Compiler>> compilers_;
  const PartitionOptions& options_;
  ConstantKeys& keys_;
  std::vector<MethodImage> images_;
  std::vector<MethodState> methods_state_;
  std::set<uint32_t> is_excluded_;
  std::vector<PluginFault> faults_;
};

}  // namespace

Result<Partition> partition(std::span<ir::Module> methods,
                            std::span<const std::unique_ptr<Compiler>> compilers,
                            const PartitionOptions& options, ConstantKeys& keys) {
  return Partitioner(methods, compilers, options, keys).run();
}

}  // namespace etb::partition
