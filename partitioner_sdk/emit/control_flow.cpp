// SPDX-License-Identifier: Apache-2.0
// Emits branches and loops of a method: their graphs are written inline, between jumps.
#include <algorithm>

#include "partitioner_sdk/emit/method_emitter.hpp"

namespace etb::emit {

namespace {

// Instruction kinds of the file.
constexpr uint8_t kMove = 3, kJumpFalse = 4;

// Indices of the arguments of higher-order ops, which api/ops has no rows for.
struct Cond {
  static constexpr size_t kPredicate = 0, kTrueGraph = 1, kFalseGraph = 2, kOperands = 3, kCount = 4;
};
struct WhileLoop {
  static constexpr size_t kCondition = 0, kBody = 1, kInitial = 2, kCount = 4;
};
struct Scan {
  static constexpr size_t kBody = 0, kInitial = 1, kLists = 2, kCount = 4;
};
struct Map {
  static constexpr size_t kBody = 0, kLists = 1;
};

const ir::GraphRef* find_graph(const ir::Node& node, size_t argument) {
  return argument < node.args.size() ? ir::get_if<ir::GraphRef>(node.args[argument]) : nullptr;
}

}  // namespace

void MethodEmitter::emit_control_flow(Frame& frame, const ir::Node& node) {
  const std::string& name = module_.op(node).name;
  if (name == "higher_order.cond.default") return emit_cond(frame, node);
  if (name == "higher_order.while_loop.default") return emit_while_loop(frame, node);
  if (name == "higher_order.map_impl.default") return emit_scan(frame, node, 0);
  if (name == "higher_order.scan.default") {
    const auto* initial =
        node.args.size() == Scan::kCount ? ir::get_if<ir::ValueList>(node.args[Scan::kInitial]) : nullptr;
    if (initial == nullptr)
      return fault(node, "expected a graph, initial values, lists and operands as arguments");
    return emit_scan(frame, node, initial->ids.size());
  }
  fault(node, "this control flow is not supported, expected cond, while_loop, map or scan");
}

// Returns the values of the lists from an argument on, concatenated.
std::vector<MethodEmitter::ValueIndex> MethodEmitter::operands_of(const Frame& frame, const ir::Node& node,
                                                                  size_t first_argument) {
  std::vector<ValueIndex> out;
  for (size_t i = first_argument; i < node.args.size(); ++i) {
    if (const auto* list = ir::get_if<ir::ValueList>(node.args[i])) {
      for (const ir::ValueId id : list->ids) out.push_back(id == ir::kNoValue ? 0 : frame.indices[id]);
    }
  }
  return out;
}

// Writes a graph's nodes with the given values for its inputs, and returns its results. Numbers computed
// inside are not known outside.
std::vector<MethodEmitter::ValueIndex> MethodEmitter::emit_subgraph(const ir::Node& node, uint32_t graph,
                                                                    const std::vector<ValueIndex>& operands) {
  const auto known = known_;
  const auto binders = binders_;
  Frame inner{&module_.graphs[graph], std::vector<ValueIndex>(module_.graphs[graph].values.size(), -1)};
  size_t next = 0;
  for (const ir::Input& input : inner.graph->inputs) {
    const ir::Value& value = inner.graph->values[input.value];
    if (input.constant != ir::kNone) {
      // A number that became a constant inside the graph.
      const ValueIndex index = add_tensor(value.spec, "'" + input.target + "'");
      make_constant(index, module_.constants[input.constant]);
      inner.indices[input.value] = index;
    } else if (next < operands.size()) {
      inner.indices[input.value] = operands[next++];
      if (value.kind == ir::ValueKind::kTensor) {
        bind_symbols(value.spec, inner.indices[input.value]);
      } else {
        known_[value.dim] = inner.indices[input.value];
      }
    } else {
      fault(node, "a subgraph has more inputs than operands were passed to it");
      break;
    }
  }
  emit_nodes(inner);
  std::vector<ValueIndex> results;
  for (const ir::Output& output : inner.graph->outputs) {
    results.push_back(argument(inner, output.value, nullptr));
  }
  known_ = known;
  binders_ = binders;
  return results;
}

// Emits: jump to the other branch if false; one branch and moves of its results; jump to the end; the other
// branch.
void MethodEmitter::emit_cond(Frame& frame, const ir::Node& node) {
  const auto *taken = find_graph(node, Cond::kTrueGraph), *other = find_graph(node, Cond::kFalseGraph);
  if (node.args.size() != Cond::kCount || taken == nullptr || other == nullptr)
    return fault(node, "expected a condition, two graphs and operands as arguments");
  std::vector<ValueIndex> results;
  for (const ir::ValueId id : node.outputs) results.push_back(define(frame, id));
  const ValueIndex condition = argument(frame, node.args[Cond::kPredicate], nullptr);
  const std::vector<ValueIndex> operands = operands_of(frame, node, Cond::kOperands);
  use(condition);
  const size_t first_jump = method_.instructions.size();
  add_instruction(kJumpFalse, condition, 0, {});
  emit_branch(node, taken->index, operands, results);
  const size_t second_jump = method_.instructions.size();
  add_instruction(kJumpFalse, add_value(false), 0, {});
  method_.instructions[first_jump].b = static_cast<int32_t>(method_.instructions.size());
  emit_branch(node, other->index, operands, results);
  method_.instructions[second_jump].b = static_cast<int32_t>(method_.instructions.size());
}

void MethodEmitter::emit_branch(const ir::Node& node, uint32_t graph, const std::vector<ValueIndex>& operands,
                                const std::vector<ValueIndex>& results) {
  const std::vector<ValueIndex> given = emit_subgraph(node, graph, operands);
  for (size_t i = 0; i < given.size() && i < results.size(); ++i) {
    use(given[i]);
    use(results[i]);
    add_instruction(kMove, given[i], results[i], {});
    stands_for_[results[i]].push_back(given[i]);
  }
}

// clone copies the sizes of its input, so they may change between steps.
void MethodEmitter::copy_tensor(ValueIndex from, ValueIndex to) {
  call("aten::clone", "out", {from, add_value(std::monostate{}), to, to});
}

MethodEmitter::ValueIndex MethodEmitter::like(ValueIndex tensor) {
  auto spec = std::get<format::TensorSpec>(method_.values[static_cast<size_t>(tensor)]);
  const plan::Block block = blocks_[block_of_.at(tensor)];
  const ValueIndex index = add_value(std::move(spec));
  const auto step = static_cast<uint32_t>(method_.instructions.size());
  block_of_[index] = blocks_.size();
  blocks_.push_back({block.nbytes, step, step});
  block_values_.push_back(index);
  return index;
}

// The node's first results hold the carried values. They begin as copies.
std::vector<MethodEmitter::ValueIndex> MethodEmitter::copy_initial(Frame& frame, const ir::Node& node,
                                                                   size_t count,
                                                                   const std::vector<ValueIndex>& from) {
  std::vector<ValueIndex> carried;
  for (size_t i = 0; i < count && i < node.outputs.size() && i < from.size(); ++i) {
    if (frame.graph->values[node.outputs[i]].kind != ir::ValueKind::kTensor) {
      fault(node, "a carried value is a number, expected a tensor; carry a 0-d tensor instead");
      return {};
    }
    carried.push_back(define(frame, node.outputs[i]));
    copy_tensor(from[i], carried.back());
  }
  return carried;
}

// Copies one step's results to the carried values of the next. A carried value returned at another index is
// saved first.
void MethodEmitter::update_carried(const std::vector<ValueIndex>& carried, std::vector<ValueIndex> fresh) {
  for (size_t i = 0; i < carried.size() && i < fresh.size(); ++i) {
    const bool is_overwritten =
        fresh[i] != carried[i] && std::find(carried.begin(), carried.end(), fresh[i]) != carried.end();
    if (!is_overwritten) continue;
    const ValueIndex saved = like(fresh[i]);
    copy_tensor(fresh[i], saved);
    fresh[i] = saved;
  }
  for (size_t i = 0; i < carried.size() && i < fresh.size(); ++i) {
    if (fresh[i] != carried[i]) copy_tensor(fresh[i], carried[i]);
  }
}

// Extends the life of earlier values that the loop uses to the loop's end: the next step uses them again.
void MethodEmitter::keep_through_loop(size_t start) {
  const auto end = static_cast<uint32_t>(method_.instructions.size() - 1);
  for (plan::Block& block : blocks_) {
    if (block.first < start && block.last >= start) block.last = std::max(block.last, end);
  }
}

// carried = initial; while condition(carried): carried = body(carried)
void MethodEmitter::emit_while_loop(Frame& frame, const ir::Node& node) {
  const auto *condition = find_graph(node, WhileLoop::kCondition), *body = find_graph(node, WhileLoop::kBody);
  const auto* initial = node.args.size() == WhileLoop::kCount
                            ? ir::get_if<ir::ValueList>(node.args[WhileLoop::kInitial])
                            : nullptr;
  if (condition == nullptr || body == nullptr || initial == nullptr)
    return fault(node, "expected two graphs, initial values and operands as arguments");
  std::vector<ValueIndex> operands = operands_of(frame, node, WhileLoop::kInitial);
  const std::vector<ValueIndex> carried = copy_initial(frame, node, initial->ids.size(), operands);
  std::copy(carried.begin(), carried.end(), operands.begin());
  const size_t start = method_.instructions.size();
  const std::vector<ValueIndex> goes_on = emit_subgraph(node, condition->index, operands);
  if (goes_on.size() != 1)
    return fault(node, "its condition returns " + std::to_string(goes_on.size()) + " values, expected 1");
  use(goes_on[0]);
  const size_t jump = method_.instructions.size();
  add_instruction(kJumpFalse, goes_on[0], 0, {});
  update_carried(carried, emit_subgraph(node, body->index, operands));
  for (const ValueIndex value : carried) use(value);
  add_instruction(kJumpFalse, add_value(false), static_cast<int32_t>(start), {});
  keep_through_loop(start);
  method_.instructions[jump].b = static_cast<int32_t>(method_.instructions.size());
}

// For each slice of the lists along their first dimension: (carried, results) = body(carried, slice). The
// results are stacked. A map is a scan without carried values.
void MethodEmitter::emit_scan(Frame& frame, const ir::Node& node, size_t carry_count) {
  const bool is_map = module_.op(node).name == "higher_order.map_impl.default";
  const size_t lists_argument = is_map ? Map::kLists : Scan::kLists;
  const auto* body = find_graph(node, is_map ? Map::kBody : Scan::kBody);
  const auto* lists =
      lists_argument < node.args.size() ? ir::get_if<ir::ValueList>(node.args[lists_argument]) : nullptr;
  if (body == nullptr || lists == nullptr || lists->ids.empty())
    return fault(node, "expected a graph and at least one list to iterate over");
  const std::vector<ValueIndex> given = operands_of(frame, node, is_map ? Map::kLists : Scan::kInitial);
  const std::vector<ValueIndex> carried = copy_initial(frame, node, carry_count, given);
  std::vector<ValueIndex> stacked;
  for (size_t i = carry_count; i < node.outputs.size(); ++i) {
    stacked.push_back(define(frame, node.outputs[i]));
    // Grows by one slice per step.
    std::get<format::TensorSpec>(method_.values[static_cast<size_t>(stacked.back())]).dynamism = 1;
  }
  const ir::TensorSpec& first = frame.graph->values[lists->ids[0]].spec;
  if (first.rank() == 0) return fault(node, "iterates over a 0-d tensor, expected at least one dimension");
  const ValueIndex count = number(first.sizes[0]);
  const ValueIndex index = add_value(int64_t{0}), one = add_value(int64_t{1}), is_done = add_value(false);
  // The counter keeps its value from the last run, so it is reset.
  call("executorch_prim::sub", "Scalar", {index, index, index});
  const size_t start = method_.instructions.size();

  const ir::Graph& graph = module_.graphs[body->index];
  const ValueIndex axis = add_value(int64_t{0});
  std::vector<ValueIndex> operands = carried;
  for (size_t i = 0; i < lists->ids.size(); ++i) {
    if (carry_count + i >= graph.inputs.size())
      return fault(node, "its body has fewer inputs than values are passed to it");
    const ir::Value& slice = graph.values[graph.inputs[carry_count + i].value];
    operands.push_back(add_tensor(slice.spec, "'" + slice.name + "'"));
    call("aten::select_copy", "int_out",
         {given[carry_count + i], axis, index, operands.back(), operands.back()});
  }
  const auto rest = static_cast<std::ptrdiff_t>(carry_count + lists->ids.size());
  operands.insert(operands.end(), given.begin() + rest, given.end());
  std::vector<ValueIndex> fresh = emit_subgraph(node, body->index, operands);
  for (size_t i = 0; i < stacked.size() && carry_count + i < fresh.size(); ++i) {
    call("executorch_prim::et_copy_index", "tensor", {stacked[i], fresh[carry_count + i], index});
  }
  fresh.resize(std::min(fresh.size(), carry_count));
  update_carried(carried, std::move(fresh));
  call("executorch_prim::add", "Scalar", {index, one, index});
  call("executorch_prim::eq", "Scalar", {index, count, is_done});
  add_instruction(kJumpFalse, is_done, static_cast<int32_t>(start), {});
  for (const ValueIndex value : carried) use(value);
  keep_through_loop(start);
}

}  // namespace etb::emit
