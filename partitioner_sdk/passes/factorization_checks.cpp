// SPDX-License-Identifier: Apache-2.0
// Exporters write the check of a factorisation as a node of its own, which reads the result `info`. The kernels can do that
// themselves.
#include <string_view>
#include <vector>

#include "partitioner_sdk/passes/passes.hpp"

namespace etb::passes {

namespace {

constexpr std::string_view kCheck = "aten._linalg_check_errors.default";

// Sets the argument check_errors of the node that computes `info`.
Status set_check(ir::Module& module, ir::Graph& graph, const std::vector<uint32_t>& producers,
                 const ir::Node& check) {
  const ir::ValueRef* info = check.args.empty() ? nullptr : ir::get_if<ir::ValueRef>(check.args[0]);
  const uint32_t producer = info == nullptr ? ir::kNone : producers[info->id];
  if (producer != ir::kNone) {
    ir::Node& node = graph.nodes[producer];
    const ops::Schema* schema = module.op(node).schema;
    const int position = schema == nullptr ? -1 : schema->find_argument("check_errors");
    if (position >= 0 && static_cast<size_t>(position) < node.args.size()) {
      node.args[static_cast<size_t>(position)] = true;
      return {};
    }
  }
  return make_error(Code::NOT_SUPPORTED,
                    std::string(kCheck) + " (" + ir::format_source(module, check.source) +
                        "): info comes from no factorisation of this graph, expected a result of one");
}

Result<bool> absorb_checks(ir::Module& module, ir::Graph& graph) {
  std::vector<uint32_t> producers(graph.values.size(), ir::kNone);
  size_t kept = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (module.op(graph.nodes[i]).name == kCheck) {
      ETB_TRY(set_check(module, graph, producers, graph.nodes[i]));
      continue;
    }
    if (kept != i) graph.nodes[kept] = std::move(graph.nodes[i]);
    for (const ir::ValueId id : graph.nodes[kept].outputs) producers[id] = static_cast<uint32_t>(kept);
    ++kept;
  }
  const bool is_changed = kept != graph.nodes.size();
  graph.nodes.resize(kept);
  return is_changed;
}

}  // namespace

Result<bool> absorb_factorization_checks(ir::Module& module) {
  bool is_changed = false;
  for (ir::Graph& graph : module.graphs) {
    ETB_ASSIGN(const bool here, absorb_checks(module, graph));
    is_changed |= here;
  }
  return is_changed;
}

}  // namespace etb::passes
