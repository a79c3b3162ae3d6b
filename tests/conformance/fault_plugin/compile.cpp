// SPDX-License-Identifier: Apache-2.0
// Compiles a region into a payload.
#include <cmath>

#include "tests/conformance/fault_plugin/claims.hpp"
#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

etb::Status add_input(const etb::Region& region, uint32_t index, ValueInfo& value) {
  const etb::Graph& graph = region.graph();
  const etb_graph_input input = etb_graph_get_input(&graph.view(), &graph.c(), index);
  value.kind = Kind::kInput;
  if (input.constant == ETB_GRAPH_NONE) return {};
  value.kind = Kind::kConstant;
  const etb_graph_constant constant = etb_graph_get_constant(&graph.view(), input.constant);
  ETB_ASSIGN(const etb::Payload bytes, region.read_constant(constant.key));
  value.data.assign(bytes.bytes().begin(), bytes.bytes().end());
  return {};
}

Step to_step(const etb::Node& node) {
  Step step;
  step.op = find_op(node.op_name())->op;
  for (const etb::Value& operand : node.operands()) step.args.push_back(operand.id());
  step.result = node.first_output();
  if (step.op == Op::kClamp)
    step.numbers = {number_of(node, "min", -HUGE_VAL), number_of(node, "max", HUGE_VAL)};
  if (step.op == Op::kQuantize)
    step.numbers = {number_of(node, "scale", 1), number_of(node, "zero_point", 0),
                    number_of(node, "quant_min", 0), number_of(node, "quant_max", 0)};
  if (step.op == Op::kConvolution) {
    for (const char* name : {"stride", "padding", "dilation"}) {
      const auto ints = node.find_arg(name)->ints();
      for (uint32_t i = 0; i < 2; ++i)
        step.numbers.push_back(static_cast<double>(ints[ints.size() > 1 ? i : 0]));
    }
    step.numbers.push_back(number_of(node, "groups", 1));
  }
  return step;
}

}  // namespace

etb::Result<etb::Artifact> Plugin::compile(const etb::Region& region) const {
  if (has_fault(90) && region.graph().node(0).op_name() == "aten.clamp.default")
    return etb::make_error(etb::Code::NOT_SUPPORTED, "clamp is not in this release");
  Program program;
  const etb::Graph& graph = region.graph();
  for (uint32_t i = 0; i < graph.value_count(); ++i) {
    ValueInfo value;
    const etb_graph_spec spec = graph.value(i).spec();
    value.dtype = static_cast<etb_dtype>(spec.dtype);
    value.sizes.assign(spec.sizes, spec.sizes + spec.rank);
    value.order.assign(spec.dim_order, spec.dim_order + spec.rank);
    value.is_dynamic = spec.dynamic_dims != 0;
    if (i < graph.input_count()) ETB_TRY(add_input(region, i, value));
    program.values.push_back(std::move(value));
  }
  for (uint32_t i = 0; i < graph.node_count(); ++i) program.steps.push_back(to_step(graph.node(i)));
  for (uint32_t i = 0; i < graph.output_count(); ++i) program.outputs.push_back(graph.output(i).id());
  etb::Artifact artifact;
  artifact.payload = write_program(program);
  artifact.format_version = kFormat;
  return artifact;
}

}  // namespace faulty
