// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/compile/lowering_context.hpp"

namespace etb::xnnpack {

void LoweringState::join_moves(uint32_t value, uint32_t id) {
  if (builder.producer(id) != nullptr || builder.constant(id)) return;
  while (const std::optional<Node> node = graph.find_producer(value)) {
    builder.join_next(node->debug_handle());
    const std::vector<Value> operands = node->operands();
    if (operands.empty()) return;
    value = operands[0].id();
  }
}

Result<LoweredValue> LoweringContext::lowered(uint32_t value) {
  ETB_ASSIGN(LoweredValue found, recorded(value));
  // A claim folds constants, too, so it sees them in their recorded order.
  if (order_ == OperandOrder::kRecorded || state_.builder.constant(found.id)) return found;
  Permutation stored = graph().storage_order(value);
  const uint32_t id = state_.builder.add_transpose(found.id, order_between(found.perm, stored));
  return LoweredValue{id, std::move(stored)};
}

// Returns an operand in the order that the nodes before left it in.
Result<LoweredValue> LoweringContext::recorded(uint32_t value) {
  if (is_quantised()) {
    if (const LoweredValue* integers = state_.values.find_integers(value)) return *integers;
  }
  ETB_ASSIGN(LoweredValue floats, state_.values.get_floats(value));
  state_.join_moves(value, floats.id);
  // The conversion to float is made here, and belongs to the dequantize node.
  if (const std::optional<Node> producer = state_.graph.find_producer(value);
      producer && dequantises(*producer))
    state_.builder.add_source(floats.id, producer->debug_handle());
  return floats;
}

Result<uint32_t> LoweringContext::arranged(uint32_t value, const Permutation& perm) {
  ETB_ASSIGN(const LoweredValue now, lowered(value));
  return state_.builder.add_transpose(now.id, order_between(now.perm, perm));
}

Result<uint32_t> LoweringContext::natural(uint32_t value) {
  return arranged(value, identity(graph().rank(value)));
}

Result<ConstantPtr> LoweringContext::constant(const NodeArguments::Tensor& argument) {
  ETB_ASSIGN(const uint32_t value, argument.id());
  ETB_ASSIGN(const uint32_t id, natural(value));
  if (!state_.builder.constant(id))
    return reject("constant", argument.name(), ": known only at run time, expected a constant");
  return state_.builder.constant(id);
}

Status LoweringContext::check_zeros(const NodeArguments::Tensor& argument) {
  ETB_ASSIGN(const uint32_t value, argument.id());
  if (!graph().may_be_zeros(value)) return reject("quant", argument.name(), ": not 0, expected 0");
  ETB_ASSIGN(const ConstantPtr numbers, constant(argument));
  if (graph().is_claiming()) return {};
  ETB_ASSIGN(const std::vector<float> read, read_floats(*numbers));
  for (const float number : read)
    if (number != 0) return reject("quant", argument.name(), ": ", number, ", expected 0");
  return {};
}

Result<XnnDatatype> LoweringContext::result_datatype(uint32_t index) const {
  ETB_ASSIGN(const XnnDatatype floats, datatype_of(graph().dtype(result(index))));
  return is_quantised() ? XnnDatatype::kQint8 : floats;
}

Result<uint32_t> LoweringContext::add_result(uint32_t index, const Permutation& perm) {
  const uint32_t value = result(index);
  if (graph().rank(value) != perm.size())
    return reject("rank", "result of rank ", graph().rank(value), ", this op makes one of ", perm.size());
  ETB_ASSIGN(const XnnDatatype datatype, result_datatype(index));
  const uint32_t id = state_.builder.add_value(datatype, arrange(graph().extents(value), perm));
  adopt_result_params(id);
  define(value, {id, perm});
  return id;
}

void LoweringContext::adopt_result_params(uint32_t id) {
  if (result_params_) set_params(state_.builder.value(id), *result_params_);
}

}  // namespace etb::xnnpack
