// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/passes.hpp"

namespace etb::passes {

namespace {

struct Row {
  std::string_view op;
  std::string_view dim_order_op;
};
constexpr Row kRows[] = {{"aten._to_copy.default", "dim_order_ops._to_dim_order_copy.default"},
                         {"aten.clone.default", "dim_order_ops._clone_dim_order.default"},
                         {"aten.empty.memory_format", "dim_order_ops._empty_dim_order.default"}};

Status replace(ir::Module& module, const ir::Graph& graph, ir::Node& node, std::string_view op) {
  const auto order = ir::find_dim_order(module.symbols, graph.values[node.outputs.at(0)].spec);
  if (!order)
    return make_error(Code::INVALID_DATA, module.op(node).name +
                                              ": the strides of the result are not dense (" +
                                              ir::format_source(module, node.source) + ")");
  const ir::OpId id = module.op(op);
  const ops::Schema& from = *module.op(node).schema;
  const ops::Schema& to = *module.op(id).schema;
  std::vector<ir::Argument> args = module.op(id).defaults;
  for (uint32_t i = 0; i < from.argument_count(); ++i) {
    const int position = to.find_argument(from.argument(i).name);
    if (position >= 0) args[static_cast<size_t>(position)] = node.args[i];
  }
  ir::Dims dims;
  for (const uint8_t dim : *order) dims.emplace_back(dim);
  args[static_cast<size_t>(to.find_argument("dim_order"))] = std::move(dims);
  node.op = id;
  node.args = std::move(args);
  return {};
}

}  // namespace

Result<bool> use_dim_order_ops(ir::Module& module) {
  bool is_changed = false;
  for (const Row& row : kRows) {
    const auto op = module.find_op(row.op);
    if (!op) continue;
    for (ir::Graph& graph : module.graphs) {
      for (ir::Node& node : graph.nodes) {
        if (node.op != *op) continue;
        ETB_TRY(replace(module, graph, node, row.dim_order_op));
        is_changed = true;
      }
    }
  }
  return is_changed;
}

}  // namespace etb::passes
