// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "plugins/dsp_stub/compile/lowering.hpp"

namespace etb::dsp_stub {

std::vector<int64_t> PatternLowering::result_sizes() const {
  return facts().sizes(facts().graph().node(node_).first_output());
}

// Clamps after the core limit its codes. Both quantising and clamping are monotonic, so their order does not
// matter.
Status PatternLowering::limit_result() {
  result_ = pattern_.params;
  for (const uint32_t index : pattern_.tail) {
    const Node node = facts().graph().node(index);
    const UnaryOp* op = find_unary(node.op_name());
    if (op == nullptr) continue;
    const Arguments args(node);
    const float low = op->compute(-HUGE_VALF, args), high = op->compute(HUGE_VALF, args);
    result_.low = std::max(result_.low, quantise(low, pattern_.params));
    result_.high = std::min(result_.high, quantise(high, pattern_.params));
    if (result_.low > result_.high) return reject("attribute", "limits that exclude every code");
  }
  return {};
}

Status PatternLowering::lower() {
  const Graph& graph = facts().graph();
  std::vector<uint32_t> handles;
  for (const uint32_t index : pattern_.nodes)
    if (const uint32_t handle = graph.node(index).debug_handle(); handle != 0) handles.push_back(handle);
  builder_.set_handles(std::move(handles));
  ETB_TRY(limit_result());
  if (pattern_.core == graph::kNone) {
    const Operand& operand = pattern_.operands[0];
    ETB_ASSIGN(current_, builder_.codes(operand.codes));
    current_.params = operand.params;
    ETB_TRY(apply_steps(operand.steps, pattern_.params, true));
  } else {
    node_ = pattern_.core;
    const Node core = graph.node(pattern_.core);
    ETB_TRY(find_core(core.op_name())->lower(*this, core));
    for (const uint32_t index : pattern_.tail)
      if (role_of(graph.node(index).op_name()) == Role::kMove) ETB_TRY(move(index));
  }
  builder_.set_codes(graph.node(pattern_.quantize).first_output(), current_);
  return {};
}

Status PatternLowering::move(uint32_t index) {
  node_ = index;
  const Node node = facts().graph().node(index);
  return find_move(node.op_name())->lower(*this, node);
}

// Moves change places, unary functions codes: all of them together are one layer, after the moves.
Status PatternLowering::apply_steps(const std::vector<uint32_t>& steps, const Params& final_params,
                                    bool is_tail) {
  std::vector<uint32_t> functions;
  for (const uint32_t index : steps) {
    if (role_of(facts().graph().node(index).op_name()) == Role::kMove) {
      ETB_TRY(move(index));
    } else {
      functions.push_back(index);
    }
  }
  const bool keeps_codes = current_.params.has_codes_of(final_params) && final_params.is_whole();
  if (functions.empty() && (keeps_codes || !is_tail)) return {};
  ETB_ASSIGN(current_, map_codes(builder_, current_, Functions(facts(), std::move(functions)), final_params));
  return {};
}

// Before a core only functions whose results are codes of the same scale: relu.
Result<Codes> PatternLowering::operand(size_t index) {
  const Operand& operand = pattern_.operands[index];
  const Graph& graph = facts().graph();
  if (graph.node(operand.dequantize).op_name() == kDequantizePerChannel)
    return reject("quant", "an operand with a scale for each channel, expected one scale");
  for (const uint32_t step : operand.steps)
    if (role_of(graph.node(step).op_name()) == Role::kUnary &&
        graph.node(step).op_name() != "aten.relu.default")
      return reject(kPatternReason, std::string(graph.node(step).op_name()) + " before " +
                                        std::string(graph.node(pattern_.core).op_name()) +
                                        ", expected quantize between them");
  const Codes kept = current_;
  ETB_ASSIGN(current_, builder_.codes(operand.codes));
  current_.params = operand.params.whole();
  const Params same = current_.params;
  ETB_TRY(apply_steps(operand.steps, same, false));
  node_ = pattern_.core;
  Codes out = std::move(current_);
  current_ = kept;
  return out;
}

}  // namespace etb::dsp_stub
