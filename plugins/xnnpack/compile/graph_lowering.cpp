// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/compile/graph_lowering.hpp"

namespace etb::xnnpack {

namespace {

// Checks the sizes of an operand or result, for every op. XNNPACK has no empty tensors, and later arithmetic
// on sizes relies on it.
Status check_sizes(const Value& value) {
  const etb_graph_spec spec = value.spec();
  for (uint32_t i = 0; i < spec.rank; ++i) {
    if (spec.sizes[i] < 0 || spec.sizes[i] > INT32_MAX)
      return reject("dynamic", "'", value.name(), "': dimension ", i, " without an upper bound");
    if (spec.sizes[i] == 0)
      return reject("empty", "'", value.name(), "': dimension ", i, " is 0, expected elements");
  }
  return {};
}

Status check_values(const SourceGraph& graph, const Node& node) {
  for (const Value& made : node.results()) {
    if (!made.is_tensor()) return reject("op", "'", made.name(), "': result is no tensor");
    if (graph.use_count(made.id()) != 0 || node.output_count() == 1) ETB_TRY(check_sizes(made));
  }
  for (const Value& operand : node.operands()) {
    if (operand.is_tensor()) ETB_TRY(check_sizes(operand));
  }
  return {};
}

}  // namespace

Status GraphLowering::lower(const Node& node) {
  const Op* op = find_op(node.op_name());
  if (op == nullptr) return reject("op", node.op_name(), ": not in the op table");
  ETB_TRY(check_values(state_.graph, node));
  if (node.output_count() == 0) return reject("op", "no result");
  // Ops of one rank read sizes of the result before they create it.
  if (const size_t rank = state_.graph.rank(node.first_output());
      op->min_rank == op->max_rank && rank != op->min_rank)
    return reject("rank", "result of rank ", rank, ", expected ", op->min_rank);
  if (state_.graph.is_claiming()) fold_operands(node);
  state_.builder.set_debug_handle(node.debug_handle());
  ETB_TRY(lower_by(*op, node));
  return finish_results(node);
}

// A claim lowers one node, so operands that follow from constants are folded first. If that fails, they count as
// known only at run time.
void GraphLowering::fold_operands(const Node& node) {
  for (const Value& operand : node.operands()) {
    const uint32_t value = operand.id();
    const bool is_lowered =
        state_.values.find_floats(value) != nullptr || state_.values.find_integers(value) != nullptr;
    if (is_lowered || state_.graph.is_input(value) || !state_.graph.is_made_of_constants(value)) continue;
    if (const std::optional<Node> producer = state_.graph.find_producer(value)) (void)lower(*producer);
  }
}

// A node that computes with codes has the events of the dequantize nodes before it, which compute nothing.
void GraphLowering::join_dequantised(const Node& node) {
  for (const Value& operand : node.operands()) {
    const std::optional<Node> producer = state_.graph.find_producer(operand.id());
    if (!producer || !dequantises(*producer)) continue;
    for (const Value& made : node.results())
      if (const LoweredValue* const found = state_.values.find_integers(made.id()))
        state_.builder.add_source(found->id, producer->debug_handle());
  }
}

// Tries integers first if the graph quantises around the node.
Status GraphLowering::lower_by(const Op& op, const Node& node) {
  const QuantizationMatcher matcher(state_.graph, state_.builder, state_.values);
  if (const std::optional<QuantParams> params = matcher.match(node, op)) {
    if (lower_in_some_order(op, node, params)) {
      join_dequantised(node);
      return {};
    }
  }
  return lower_in_some_order(op, node, std::nullopt);
}

// Lowers with operands in their recorded dimension orders. If the op rejects those, transposes the operands to the orders
// that a claim sees: a claimed node must compile after any recorded transpose.
Status GraphLowering::lower_in_some_order(const Op& op, const Node& node,
                                          const std::optional<QuantParams>& params) {
  const auto lower_with = [&](OperandOrder order) {
    const size_t first_new = state_.builder.value_count();
    LoweringContext context(state_, node, params, order);
    Status lowered = op.lower(context);
    if (!lowered) state_.values.forget(node, first_new);
    return lowered;
  };
  Status lowered = lower_with(OperandOrder::kRecorded);
  if (lowered || !has_recorded_order(node)) return lowered;
  return lower_with(OperandOrder::kStored);
}

bool GraphLowering::has_recorded_order(const Node& node) const {
  const auto is_recorded = [&](uint32_t value) {
    for (const LoweredValue* found : {state_.values.find_floats(value), state_.values.find_integers(value)})
      if (found != nullptr && !state_.builder.constant(found->id) &&
          found->perm != state_.graph.storage_order(value))
        return true;
    return false;
  };
  for (const Value& operand : node.operands()) {
    if (!operand.is_tensor()) continue;
    if (is_recorded(operand.id())) return true;
    if (const auto source = state_.values.dynamic_source(operand.id()); source && is_recorded(*source))
      return true;
  }
  return false;
}

// Checks the ranks of the results. Nodes fused into another node share its events.
Status GraphLowering::finish_results(const Node& node) {
  for (const Value& made : node.results()) {
    for (const LoweredValue* found :
         {state_.values.find_floats(made.id()), state_.values.find_integers(made.id())}) {
      if (found == nullptr) continue;
      if (found->perm.size() != made.spec().rank)
        return reject("rank", "result of rank ", made.spec().rank, ", this op makes one of ",
                      found->perm.size());
      state_.builder.add_source(found->id);
    }
  }
  return {};
}

Status GraphLowering::add_inputs() {
  for (uint32_t i = 0; i < state_.graph.image().input_count(); ++i) {
    if (!state_.graph.find_constant(i)) ETB_TRY(state_.values.get_floats(i));
  }
  return {};
}

Status GraphLowering::add_outputs() {
  const Graph& graph = state_.graph.image();
  for (uint32_t i = 0; i < graph.output_count(); ++i) {
    const uint32_t value = graph.output(i).id();
    ETB_ASSIGN(const LoweredValue lowered, state_.values.get_floats(value));
    const Permutation order = order_between(lowered.perm, state_.graph.storage_order(value));
    state_.builder.end_joins();
    state_.join_moves(value, lowered.id);
    state_.builder.add_output(state_.builder.add_transpose(lowered.id, order));
  }
  return {};
}

Status GraphLowering::check_sizes(std::span<const uint32_t> positions) {
  std::vector<uint32_t> results;
  for (const uint32_t position : positions) {
    for (const Value& made : state_.graph.image().node(position).results()) {
      for (const LoweredValue* found :
           {state_.values.find_floats(made.id()), state_.values.find_integers(made.id())})
        if (found != nullptr) results.push_back(found->id);
    }
  }
  return state_.builder.check_sizes(std::move(results));
}

}  // namespace etb::xnnpack
