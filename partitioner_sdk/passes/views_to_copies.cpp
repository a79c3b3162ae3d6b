// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/passes.hpp"

#include "partitioner_sdk/infer/infer.hpp"

namespace etb::passes {

Result<bool> views_to_copies(ir::Module& module) {
  bool is_changed = false;
  for (ir::Graph& graph : module.graphs) {
    for (ir::Node& node : graph.nodes) {
      const ops::Schema* schema = module.op(node).schema;
      if (schema == nullptr || !schema->is_view()) continue;
      if (schema->copy_variant() == nullptr) {
        return make_error(Code::NOT_SUPPORTED, std::string(schema->name()) +
                                                   " is a view op without a copying variant (" +
                                                   ir::format_source(module, node.source) + ")");
      }
      node.op = module.op(schema->copy_variant()->name());
      is_changed = true;
    }
    infer::relayout(module, graph);
  }
  return is_changed;
}

}  // namespace etb::passes
