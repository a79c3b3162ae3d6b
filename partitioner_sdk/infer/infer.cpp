// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/infer/infer.hpp"

#include <algorithm>

namespace etb::infer {

using ir::TensorSpec;

const Rule* find_rule(const ops::Schema* op) {
  const ops::ResultRule* results = op == nullptr ? nullptr : op->result_rule();
  if (results == nullptr) return nullptr;
  if (!results->broadcast.is_empty()) return &kElementwiseRule;
  for (const std::span<const Rule> rows :
       {fourier_rules(), gathering_rules(), linear_algebra_rules(), pointwise_rules(), reduction_rules(),
        view_rules(), window_rules()}) {
    const auto found =
        std::lower_bound(rows.begin(), rows.end(), op->name(),
                         [](const Rule& row, std::string_view name) { return row.name < name; });
    if (found != rows.end() && found->name == op->name()) return &*found;
  }
  return nullptr;
}

const Rule* find_rule(std::string_view op_name) { return find_rule(ops::find_schema(op_name)); }

Result<Specs> infer(ir::Module& module, const ir::Graph& graph, ir::OpId op,
                    std::span<const ir::Argument> args) {
  const std::string& name = module.op(op).name;
  const ops::Schema* schema = module.op(op).schema;
  const Rule* rule = find_rule(schema);
  if (rule == nullptr)
    return make_error(Code::NOT_IMPLEMENTED, name + ": no rule infers the results of this op");
  CallState state(module, graph, op, args);
  const Call call(state);
  Specs specs = rule->shape(call);
  set_dtypes(call, *schema->result_rule(), specs);
  if (rule->layout != ResultLayout::kOwn && call.error().empty()) {
    for (TensorSpec& spec : specs) spec.strides = result_strides(call, rule->layout, spec);
  }
  if (!call.error().empty()) return make_error(Code::INVALID_DATA, name + ": " + call.error());
  if (module.symbols.is_beyond_limits())
    return make_error(Code::INVALID_DATA,
                      name + ": a size or its formula exceeds the limits of the compiler");
  return specs;
}

void relayout(ir::Module& module, ir::Graph& graph) {
  for (const ir::Node& node : graph.nodes) {
    const Rule* rule = find_rule(module.op(node).schema);
    const ResultLayout layout = rule == nullptr ? ResultLayout::kContiguous : rule->layout;
    if (layout == ResultLayout::kOwn) continue;
    CallState state(module, graph, node.op, node.args);
    const Call call(state);
    for (const ir::ValueId id : node.outputs) {
      ir::Value& value = graph.values[id];
      if (value.kind == ir::ValueKind::kTensor) value.spec.strides = result_strides(call, layout, value.spec);
    }
  }
}

}  // namespace etb::infer
