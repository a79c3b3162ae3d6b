// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/partition.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "partitioner_sdk/partition/dependencies.hpp"
#include "partitioner_sdk/partition/reader_copies.hpp"
#include "partitioner_sdk/partition/region_trials.hpp"

namespace etb::partition {

namespace {

// Returns why the host keeps a node that a plugin claims, or NULL.
const char* find_host_objection(const ir::Graph& graph, const ir::Node& node) {
  if (has_subgraphs(node)) return "the host runs control flow";
  if (node.outputs.empty()) return "has no result";
  for (const ir::ValueId id : node.outputs)
    if (graph.values[id].kind != ir::ValueKind::kTensor) return "returns a number; the host computes numbers";
  bool reads_number = false;
  const auto is_complex = [&](ir::ValueId id) { return ops::is_complex(graph.values[id].spec.dtype); };
  bool has_complex = std::any_of(node.outputs.begin(), node.outputs.end(), is_complex);
  for (const ir::Argument& argument : node.args)
    ir::for_each_value(argument, [&](ir::ValueId id) {
      reads_number |= graph.values[id].kind != ir::ValueKind::kTensor;
      has_complex |= is_complex(id);
    });
  if (has_complex) return "reads or returns complex numbers, which plugins do not receive";
  return reads_number ? "an argument is a number that is known only at run time" : nullptr;
}

bool has(const std::vector<uint32_t>& list, uint32_t item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// State of one graph during partitioning.
struct GraphState {
  GraphState(const ir::Module& module, uint32_t index)
      : facts(module, index),
        dag(static_cast<uint32_t>(module.graphs[index].nodes.size())),
        copies(module, facts),
        fixed(module.graphs[index].nodes.size(), kNoRegion),
        assignments(module.graphs[index].nodes.size()) {
    for_each_dependency(module, module.graphs[index],
                        [&](uint32_t from, uint32_t to) { dag.add_edge(from, to); });
  }

  GraphFacts facts;
  Dag dag;
  ReaderCopies copies;
  std::vector<uint32_t> fixed;  // regions so far, numbered within the graph
  uint32_t fixed_count = 0;
  GraphAssignments assignments;
};

struct MethodState {
  std::vector<GraphState> graphs;
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
    // A plugin that fails late may hold nodes that others could claim. So all are asked again without it, or
    // without the nodes that it cannot compile.
    for (;;) {
      const size_t error_count = plugin_errors_.size(), failure_count = failures_.size();
      ETB_ASSIGN(Partition out, attempt());
      if (plugin_errors_.size() == error_count && failures_.size() == failure_count) {
        out.plugin_errors = std::move(plugin_errors_);
        out.failed_claims = std::move(failed_claims_);
        return out;
      }
    }
  }

 private:
  Result<Partition> attempt() {
    methods_state_.clear();
    for (size_t method = 0; method < methods_.size(); ++method) {
      methods_state_.emplace_back();
      for (uint32_t graph_index = 0; graph_index < methods_[method].graphs.size(); ++graph_index)
        methods_state_[method].graphs.emplace_back(methods_[method], graph_index);
    }
    Partition out;
    for (uint32_t compiler = 0; compiler < compilers_.size(); ++compiler) {
      out.compilers.push_back(compilers_[compiler]->name());
      out.backend_ids.push_back(compilers_[compiler]->backend_id());
      if (is_excluded_.count(compiler) != 0) continue;
      if (const Status asked = ask(compiler, out); !asked) exclude(compiler, asked.error());
    }
    ETB_TRY(make_images(out));
    for (uint32_t compiler = 0; compiler < compilers_.size(); ++compiler) {
      if (is_excluded_.count(compiler) != 0) continue;
      if (const Status compiled = compile(compiler, out); !compiled) {
        ETB_ASSIGN(const bool is_partial, return_failures(compiler, out));
        if (!is_partial) exclude(compiler, compiled.error());
        return out;  // not used
      }
    }
    for (MethodState& method : methods_state_) {
      out.assignments.emplace_back();
      for (GraphState& graph : method.graphs) out.assignments.back().push_back(std::move(graph.assignments));
    }
    return out;
  }

  void exclude(uint32_t compiler, const Error& error) {
    is_excluded_.insert(compiler);
    plugin_errors_.push_back({compilers_[compiler]->name(), error.message});
  }

  // Asks one plugin about all methods. Changes nothing unless every answer is valid.
  Status ask(uint32_t compiler, Partition& out) {
    std::vector<std::vector<PluginPart>> parts;
    for (size_t method = 0; method < methods_.size(); ++method) {
      const auto context = [&](Error error) {
        return tl::make_unexpected(with_context(std::move(error), "method '" + methods_[method].name + "'"));
      };
      auto answers = compilers_[compiler]->partition(images_[method].image);
      if (!answers) return context(std::move(answers).error());
      auto node_answers = verify_answers(*answers, images_[method].nodes.size());
      if (!node_answers) return context(std::move(node_answers).error());
      parts.push_back(make_plugin_parts(
          compiler, methods_[method], images_[method], *answers, *node_answers,
          [&](NodeLocation location) { return find_rejection(compiler, method, location); }));
      for (size_t graph_index = 0; graph_index < parts[method].size(); ++graph_index) {
        GraphState& state = methods_state_[method].graphs[graph_index];
        PluginPart& part = parts[method][graph_index];
        do {
          part.grouping = state.copies.group(state.dag, state.fixed, part.claims);
          if (part.grouping.cyclic_unit) return context(cycle_error(method, graph_index, part));
        } while (return_undetermined(compiler, method, state, part));
      }
    }
    for (size_t method = 0; method < methods_.size(); ++method)
      for (size_t graph_index = 0; graph_index < parts[method].size(); ++graph_index)
        commit(compiler, method, graph_index, parts[method][graph_index], out);
    return {};
  }

  // Returns nodes to the host that need a symbolic size which none of the region's inputs determine. Returns
  // true if there were any.
  bool return_undetermined(uint32_t compiler, size_t method, const GraphState& state,
                           PluginPart& part) const {
    std::vector<std::vector<uint32_t>> regions(part.grouping.region_count);
    for (uint32_t i = 0; i < part.grouping.region.size(); ++i)
      if (part.grouping.region[i] != kNoRegion) regions[part.grouping.region[i]].push_back(i);
    bool has_some = false;
    for (const std::vector<uint32_t>& nodes : regions) {
      for (const uint32_t node : find_undetermined_nodes(methods_[method], state.facts, nodes)) {
        has_some = true;
        part.claims.unit[node] = ClaimSet::kNot;
        part.rejections.emplace_back(
            node, Rejection{compiler, "host.number",
                            "needs a symbolic size that none of the region's inputs determine"});
      }
    }
    return has_some;
  }

  Error cycle_error(size_t method, size_t graph_index, const PluginPart& part) const {
    const ir::Module& module = methods_[method];
    std::string nodes;
    uint32_t count = 0;
    for (uint32_t i = 0; i < part.claims.unit.size(); ++i) {
      if (part.claims.unit[i] != *part.grouping.cyclic_unit) continue;
      if (++count <= 3) nodes += (nodes.empty() ? "" : ", ") + describe(module, graph_index, i);
    }
    return Error{Code::INVALID_DATA,
                 "claims " + std::to_string(count) +
                     " nodes as one region, which would have to run before itself: " + nodes +
                     (count > 3 ? ", ..." : ""),
                 "", 0};
  }

  std::string describe(const ir::Module& module, size_t graph_index, uint32_t node) const {
    const ir::Node& row = module.graphs[graph_index].nodes[node];
    return module.op(row).name + " (node " + std::to_string(node) + ")";
  }

  std::optional<Rejection> find_rejection(uint32_t compiler, size_t method, NodeLocation location) const {
    const GraphState& state = methods_state_[method].graphs[location.graph];
    const ir::Module& module = methods_[method];
    const ir::Graph& graph = module.graphs[location.graph];
    const ir::Node& node = graph.nodes[location.node];
    if (state.fixed[location.node] != kNoRegion || state.assignments[location.node].is_replaced)
      return Rejection{compiler, "host.taken", "an earlier plugin claimed it"};
    const auto failed = failures_.find({compiler, method, location.graph, location.node});
    if (failed != failures_.end()) return Rejection{compiler, "host.compile", failed->second};
    if (const char* why = find_host_objection(graph, node)) return Rejection{compiler, "host.kept", why};
    if (options_.filters.is_empty()) return std::nullopt;
    FilteredNode row;
    row.op = module.op(node).name;
    if (node.source != ir::kNone) row.module_path = module.sources[node.source].module_path;
    for (const ir::ValueId id : node.outputs) row.names.push_back(state.facts.names[id]);
    if (auto why = find_objection(options_.filters, row)) return Rejection{compiler, "host.filter", *why};
    return std::nullopt;
  }

  void commit(uint32_t compiler, size_t method, size_t graph_index, PluginPart& part, Partition& out) {
    GraphState& state = methods_state_[method].graphs[graph_index];
    std::vector<std::vector<uint32_t>> nodes(part.grouping.region_count);
    for (uint32_t i = 0; i < part.grouping.region.size(); ++i)
      if (part.grouping.region[i] != kNoRegion) nodes[part.grouping.region[i]].push_back(i);
    for (auto& [node, rejection] : part.rejections)
      state.assignments[node].rejections.push_back(std::move(rejection));
    const size_t first_region = out.regions.size();
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      Region region;
      region.nodes = std::move(nodes[i]);
      state.copies.add_to(region.nodes, part.claims);
      if (region.nodes.size() < options_.min_region_nodes) {
        reject_small(compiler, state, region.nodes);
        continue;
      }
      region.method = static_cast<uint32_t>(method);
      region.graph = static_cast<uint32_t>(graph_index);
      region.compiler = compiler;
      for (const uint32_t node : region.nodes) {
        region.cost_ns += part.cost_ns[node];
        NodeAssignment& assignment = state.assignments[node];
        if (part.grouping.region[node] == i) {
          state.fixed[node] = state.fixed_count;
          assignment.region = static_cast<uint32_t>(out.regions.size());
        } else {
          assignment.copies.push_back(static_cast<uint32_t>(out.regions.size()));
        }
      }
      ++state.fixed_count;
      out.regions.push_back(std::move(region));
    }
    units_[{compiler, method, graph_index}] = part.claims.unit;
    replace_by_copies(state, first_region, out);
  }

  void reject_small(uint32_t compiler, GraphState& state, const std::vector<uint32_t>& nodes) const {
    for (const uint32_t node : nodes)
      state.assignments[node].rejections.push_back({compiler, "host.small",
                                                    "its region would have " + std::to_string(nodes.size()) +
                                                        " nodes, fewer than " +
                                                        std::to_string(options_.min_region_nodes)});
  }

  // Marks the copied nodes that nothing else reads. One with a single copy belongs to that region.
  static void replace_by_copies(GraphState& state, size_t first_region, const Partition& out) {
    for (uint32_t node = static_cast<uint32_t>(state.assignments.size()); node-- > 0;) {
      NodeAssignment& assignment = state.assignments[node];
      if (assignment.copies.empty() || assignment.copies[0] < first_region ||
          assignment.region != kNoRegion || state.copies.is_output(node))
        continue;
      const std::vector<uint32_t>& readers = state.copies.readers(node);
      const auto reads_copy = [&](uint32_t reader) {
        const NodeAssignment& other = state.assignments[reader];
        return other.is_replaced || has(assignment.copies, other.region);
      };
      if (!std::all_of(readers.begin(), readers.end(), reads_copy)) continue;
      if (assignment.copies.size() > 1) {
        assignment.is_replaced = true;
        continue;
      }
      assignment.region = assignment.copies[0];
      state.fixed[node] = state.fixed[out.regions[assignment.region].nodes.back()];
      assignment.copies.clear();
    }
  }

  Status make_images(Partition& out) {
    std::vector<std::vector<std::vector<bool>>> outside(methods_.size());
    for (size_t method = 0; method < methods_.size(); ++method) {
      for (size_t graph_index = 0; graph_index < methods_[method].graphs.size(); ++graph_index)
        outside[method].push_back(find_outside_uses(method, graph_index));
    }
    for (size_t i = 0; i < out.regions.size(); ++i) {
      Region& region = out.regions[i];
      const GraphState& state = methods_state_[region.method].graphs[region.graph];
      const std::vector<bool>& is_outside = outside[region.method][region.graph];
      auto image = make_region_image(
          methods_[region.method], state.facts, region.nodes,
          [&](ir::ValueId id) {
            return is_outside[id] && state.assignments[state.facts.definer[id]].region == i;
          },
          keys_, methods_[region.method].name + "_region_" + std::to_string(i));
      if (!image)
        return tl::make_unexpected(
            with_context(std::move(image).error(), "graph image of region " + std::to_string(i)));
      region.image = *std::move(image);
    }
    return {};
  }

  // True if each place that computes `reader` also computes `read`.
  static bool reads_inside(const NodeAssignment& reader, const NodeAssignment& read) {
    const auto computes = [&](uint32_t region) {
      return region != kNoRegion && (region == read.region || has(read.copies, region));
    };
    return (reader.is_replaced || computes(reader.region)) &&
           std::all_of(reader.copies.begin(), reader.copies.end(), computes);
  }

  // Returns by value: true if a node outside its region uses it.
  std::vector<bool> find_outside_uses(size_t method, size_t graph_index) const {
    const GraphState& state = methods_state_[method].graphs[graph_index];
    const ir::Graph& graph = methods_[method].graphs[graph_index];
    std::vector<bool> is_outside(graph.values.size(), false);
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
      for (const ir::Argument& argument : graph.nodes[i].args) {
        ir::for_each_value(argument, [&](ir::ValueId id) {
          const uint32_t definer = state.facts.definer[id];
          if (definer == ir::kNone || !reads_inside(state.assignments[i], state.assignments[definer]))
            is_outside[id] = true;
        });
      }
    }
    for (const ir::Output& output : graph.outputs)
      ir::for_each_value(output.value, [&](ir::ValueId id) { is_outside[id] = true; });
    return is_outside;
  }

  Status compile(uint32_t compiler, Partition& out) {
    std::vector<const graph::ImageBytes*> images;
    std::vector<Region*> regions;
    for (Region& region : out.regions) {
      if (region.compiler != compiler) continue;
      images.push_back(&region.image.image);
      regions.push_back(&region);
    }
    if (regions.empty()) return {};
    ETB_ASSIGN(Compiled compiled, compilers_[compiler]->compile(images, keys_));
    for (size_t i = 0; i < regions.size(); ++i) regions[i]->artifact = std::move(compiled.artifacts[i]);
    for (NamedBlob& blob : compiled.blobs) ETB_TRY(add_blob(std::move(blob), out));
    return {};
  }

  // Finds the nodes that keep regions of a plugin from compiling; the host gets them in the next attempt. Returns
  // false if there are none, or nothing of the plugin compiles.
  Result<bool> return_failures(uint32_t compiler, const Partition& out) {
    constexpr uint32_t kMaxSearches = 16;  // then whole regions are returned
    const bool is_searching = search_counts_[compiler]++ < kMaxSearches;
    RegionTrials trials(*compilers_[compiler], keys_);
    std::vector<std::pair<const Region*, RegionFailure>> found;
    for (size_t i = 0; i < out.regions.size(); ++i) {
      const Region& region = out.regions[i];
      if (region.compiler != compiler) continue;
      const std::vector<uint32_t> one_unit(region_node_count(region), 0);
      auto failure =
          trials.find_failure(region.image.image, region.nodes, is_searching ? units_of(region) : one_unit,
                              [&](const auto& nodes) { return make_trial_image(region, nodes); });
      if (failure) found.emplace_back(&region, *std::move(failure));
    }
    if (found.empty() || !trials.has_success()) return false;
    for (const auto& [region, failure] : found) note_failure(*region, failure);
    return true;
  }

  size_t region_node_count(const Region& region) const {
    return methods_[region.method].graphs[region.graph].nodes.size();
  }

  const std::vector<uint32_t>& units_of(const Region& region) const {
    return units_.at({region.compiler, region.method, region.graph});
  }

  // The trial needs no exact results: it is discarded.
  Result<RegionImage> make_trial_image(const Region& region, const std::vector<uint32_t>& nodes) {
    const GraphState& state = methods_state_[region.method].graphs[region.graph];
    const ir::Graph& graph = methods_[region.method].graphs[region.graph];
    std::set<ir::ValueId> read;
    for (const uint32_t node : nodes)
      for (const ir::Argument& argument : graph.nodes[node].args)
        ir::for_each_value(argument, [&](ir::ValueId id) { read.insert(id); });
    return make_region_image(
        methods_[region.method], state.facts, nodes, [&](ir::ValueId id) { return read.count(id) == 0; },
        keys_, methods_[region.method].name + "_trial");
  }

  void note_failure(const Region& region, const RegionFailure& failure) {
    std::string nodes;
    for (const uint32_t node : failure.nodes) {
      failures_.insert({{region.compiler, region.method, region.graph, node}, failure.error.message});
      nodes += (nodes.empty() ? "" : ", ") + describe(methods_[region.method], region.graph, node);
    }
    failed_claims_.push_back({compilers_[region.compiler]->name(), nodes, failure.error.message});
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
  std::vector<PluginError> plugin_errors_;
  using NodeKey = std::tuple<uint32_t, size_t, uint32_t, uint32_t>;  // compiler, method, graph, node
  std::map<NodeKey, std::string> failures_;                          // claimed nodes that do not compile
  std::vector<FailedClaim> failed_claims_;
  std::map<uint32_t, uint32_t> search_counts_;                                   // by compiler
  std::map<std::tuple<uint32_t, size_t, size_t>, std::vector<uint32_t>> units_;  // by compiler, method, graph
};

}  // namespace

Result<Partition> partition(std::span<ir::Module> methods,
                            std::span<const std::unique_ptr<Compiler>> compilers,
                            const PartitionOptions& options, ConstantKeys& keys) {
  return Partitioner(methods, compilers, options, keys).run();
}

}  // namespace etb::partition
