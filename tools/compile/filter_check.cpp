// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/filter_check.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "partitioner_sdk/partition/method_image.hpp"
#include "tools/option_values.hpp"

namespace etb::tools {

namespace {

// The names of all nodes, as filters see them.
struct Names {
  std::set<std::string> ops, modules, nodes;
};

Names collect(std::span<const ir::Module> modules) {
  Names out;
  for (const ir::Module& module : modules)
    for (uint32_t g = 0; g < module.graphs.size(); ++g) {
      const partition::GraphFacts facts(module, g);
      for (const ir::Node& node : module.graphs[g].nodes) {
        out.ops.insert(module.op(node).name);
        if (node.source != ir::kNone) out.modules.insert(module.sources[node.source].module_path);
        for (const ir::ValueId id : node.outputs) out.nodes.insert(std::string(facts.names[id]));
      }
    }
  return out;
}

// True if a filter with this pattern alone accepts the name.
using Accepts = bool (*)(const std::string& pattern, const std::string& name);

Status expect_matches(const char* option, const std::vector<std::string>& patterns,
                      const std::set<std::string>& names, Accepts accepts) {
  for (const std::string& pattern : patterns) {
    const bool has_match = std::any_of(names.begin(), names.end(),
                                       [&](const std::string& name) { return accepts(pattern, name); });
    if (has_match) continue;
    std::vector<std::string> known(names.begin(), names.end());
    known.erase(std::remove(known.begin(), known.end(), ""), known.end());
    return tl::make_unexpected(
        unknown_value(std::string(option) + ": nothing in the model matches", pattern, known));
  }
  return {};
}

}  // namespace

Status expect_matches(const partition::Filters& filters, std::span<const ir::Module> modules) {
  if (filters.is_empty()) return {};
  const Names names = collect(modules);
  const Accepts is_match = [](const std::string& pattern, const std::string& name) {
    return partition::matches(pattern, name);
  };
  const Accepts holds_module = [](const std::string& pattern, const std::string& name) {
    partition::Filters filter;
    filter.only_modules = {pattern};
    return !partition::find_objection(filter, {"", name, {}});
  };
  ETB_TRY(expect_matches("--only-op", filters.only_ops, names.ops, is_match));
  ETB_TRY(expect_matches("--skip-op", filters.skip_ops, names.ops, is_match));
  ETB_TRY(expect_matches("--only-module", filters.only_modules, names.modules, holds_module));
  ETB_TRY(expect_matches("--skip-module", filters.skip_modules, names.modules, holds_module));
  ETB_TRY(expect_matches("--only-node", filters.only_nodes, names.nodes, is_match));
  return expect_matches("--skip-node", filters.skip_nodes, names.nodes, is_match);
}

}  // namespace etb::tools
