// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/passes.hpp"

#include "partitioner_sdk/passes/builder.hpp"

namespace etb::passes {

namespace {

// Replaces the order by row-major in every op that names one.
bool rewrite_dim_orders(ir::Module& module, ir::Graph& graph) {
  bool is_changed = false;
  for (ir::Node& node : graph.nodes) {
    const ops::Schema* schema = module.op(node).schema;
    const int position = schema == nullptr ? -1 : schema->find_argument("dim_order");
    if (position < 0) continue;
    auto* order = std::get_if<Dims>(&node.args[static_cast<size_t>(position)]);
    if (order == nullptr) continue;
    Dims plain;
    for (size_t i = 0; i < order->size(); ++i) plain.emplace_back(static_cast<int64_t>(i));
    if (*order == plain) continue;
    *order = std::move(plain);
    is_changed = true;
  }
  return is_changed;
}

Dims plain_order(size_t rank) {
  Dims order;
  for (size_t i = 0; i < rank; ++i) order.emplace_back(static_cast<int64_t>(i));
  return order;
}

// Finds values with a reader that requires row-major order. Copies into another order accept every order, and a
// plugin compiled for the order that it was shown.
std::vector<bool> find_order_bound(const ir::Module& module, const ir::Graph& graph) {
  std::vector<bool> is_bound(graph.values.size(), false);
  for (const ir::Node& node : graph.nodes) {
    const std::string& name = module.op(node).name;
    if (name == "higher_order.executorch_call_delegate.default" || name.rfind("dim_order_ops.", 0) == 0)
      continue;
    for (const Argument& argument : node.args)
      ir::for_each_value(argument, [&](ValueId id) { is_bound[id] = true; });
  }
  for (const ir::Output& output : graph.outputs)
    ir::for_each_value(output.value, [&](ValueId id) { is_bound[id] = true; });
  return is_bound;
}

// Copies the caller's tensors of another order; other inputs of the graph only change their strides.
bool convert_inputs(Builder& b, const std::vector<bool>& is_bound, bool is_method) {
  bool is_changed = false;
  for (const ir::Input& input : b.graph().inputs) {
    ir::Value& value = b.graph().values[input.value];
    if (value.kind != ir::ValueKind::kTensor || ir::is_contiguous(b.symbols(), value.spec)) continue;
    const bool is_own_order = is_method && input.kind == ir::InputKind::kUser && !is_bound[input.value];
    if (is_own_order) continue;
    is_changed = true;
    if (!is_method || input.kind != ir::InputKind::kUser) {
      value.spec.strides = ir::contiguous_strides(b.symbols(), value.spec.sizes);
      continue;
    }
    const Dims order = plain_order(value.spec.rank());
    const ValueId copy =
        b.call("dim_order_ops._clone_dim_order.default", {ValueRef{input.value}}, {{"dim_order", order}});
    b.replace(input.value, copy);
  }
  return is_changed;
}

}  // namespace

Result<bool> make_row_major(ir::Module& module) {
  bool is_changed = false;
  for (size_t i = 0; i < module.graphs.size(); ++i) {
    ir::Graph& graph = module.graphs[i];
    const std::vector<bool> is_bound = find_order_bound(module, graph);  // the builder moves the nodes out
    PlainBuilder b(module, graph);
    const bool has_other_inputs = convert_inputs(b, is_bound, i == 0);
    for (ir::Node& node : b.take_old_nodes()) {
      b.substitute(node);
      b.keep(std::move(node));
    }
    ETB_TRY(b.finish());
    const bool has_other_orders = rewrite_dim_orders(module, graph);
    if (has_other_inputs || has_other_orders) infer::relayout(module, graph);
    is_changed |= has_other_inputs || has_other_orders;
  }
  return is_changed;
}

}  // namespace etb::passes
