// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/testing/mutator/graph_mutator.hpp"

#include <algorithm>

#include "plugins/gpu/testing/mutator/node_generator.hpp"

namespace etb::gpu {

namespace {

// How many integers and floats a node of an operator has.
struct OperatorRow {
  Operator op;
  uint32_t min_inputs, max_inputs, min_ints, max_ints, floats;
};
constexpr OperatorRow kOperators[] = {
#define ETB_GPU_OPERATOR(name, code, ...) {Operator::k##name, __VA_ARGS__},
#include "plugins/gpu/graph/operators.def"
#undef ETB_GPU_OPERATOR
};

// Inline values have a number for each element.
void fit_floats(GpuValue& value) {
  constexpr uint64_t kMost = 4096;
  if (value.role == ValueRole::kInline) value.floats.resize(std::min(value.shape.numel(), kMost), 0.5f);
}

// Adds `first` to the index of each value that a graph has.
void move_values(GpuGraph& graph, uint32_t first) {
  const auto move = [&](uint32_t& id) { id += id == kNoValue ? 0 : first; };
  for (GpuValue& value : graph.values) {
    if (value.codes.bits == 0) continue;
    move(value.codes.scales);
    move(value.codes.zero_points);
  }
  for (GpuNode& node : graph.nodes) {
    for (uint32_t& input : node.inputs) move(input);
    move(node.output);
  }
  for (auto* ids : {&graph.inputs, &graph.outputs})
    for (uint32_t& id : *ids) move(id);
}

// Leaves out a value. Nodes that read it then read another one.
void remove_value(GpuGraph& graph, uint32_t removed) {
  const auto close_gap = [&](uint32_t& id) {
    if (id != kNoValue && id >= removed && id != 0) --id;
  };
  graph.values.erase(graph.values.begin() + removed);
  for (GpuValue& value : graph.values) {
    if (value.codes.bits == 0) continue;
    close_gap(value.codes.scales);
    close_gap(value.codes.zero_points);
  }
  for (GpuNode& node : graph.nodes) {
    for (uint32_t& input : node.inputs) close_gap(input);
    close_gap(node.output);
  }
  for (auto* ids : {&graph.inputs, &graph.outputs}) {
    ids->erase(std::remove(ids->begin(), ids->end(), removed), ids->end());
    for (uint32_t& id : *ids) close_gap(id);
  }
}

}  // namespace

void GraphMutator::mutate(GpuGraph& graph) {
  using Edit = void (GraphMutator::*)(GpuGraph&);
  // Nodes that suit the graph are a third of the changes.
  static constexpr Edit kEdits[] = {
      &GraphMutator::append_node,    &GraphMutator::append_node,     &GraphMutator::append_node,
      &GraphMutator::append_node,    &GraphMutator::append_node,     &GraphMutator::append_node,
      &GraphMutator::change_sizes,   &GraphMutator::change_size,     &GraphMutator::change_rank,
      &GraphMutator::change_value,   &GraphMutator::change_role,     &GraphMutator::change_codes,
      &GraphMutator::change_integer, &GraphMutator::change_operator, &GraphMutator::change_float,
      &GraphMutator::change_edge,    &GraphMutator::change_outputs,  &GraphMutator::remove_node};
  if (graph.values.empty()) return append_node(graph);
  (this->*random_.pick(kEdits))(graph);
}

void GraphMutator::append_node(GpuGraph& graph) { NodeGenerator(random_, graph).append(); }

// Replaces one size everywhere, so that sizes that fitted still fit.
void GraphMutator::change_sizes(GpuGraph& graph) {
  const Shape& like = random_.pick(graph.values).shape;
  if (like.rank == 0) return;
  const uint32_t from = like.sizes[random_.below(like.rank)], to = random_.size();
  for (GpuValue& value : graph.values) {
    std::replace(value.shape.sizes.begin(), value.shape.sizes.begin() + value.shape.rank, from, to);
    fit_floats(value);
  }
  for (GpuNode& node : graph.nodes)
    if (node.op == Operator::kReshape || node.op == Operator::kExpand)
      std::replace(node.ints.begin(), node.ints.end(), static_cast<int32_t>(from), static_cast<int32_t>(to));
}

void GraphMutator::change_size(GpuGraph& graph) {
  GpuValue& value = random_.pick(graph.values);
  if (value.shape.rank == 0) return;
  value.shape.sizes[random_.below(value.shape.rank)] = random_.size();
  fit_floats(value);
}

void GraphMutator::change_rank(GpuGraph& graph) {
  GpuValue& value = random_.pick(graph.values);
  auto& [rank, sizes] = value.shape;
  const uint32_t at = random_.below(rank);
  if (rank > 0 && random_.one_in(2)) {
    std::rotate(sizes.begin() + at, sizes.begin() + at + 1, sizes.end());
    sizes[--rank] = 0;
  } else if (rank < kMaxRank) {
    std::rotate(sizes.begin() + at, sizes.end() - 1, sizes.end());
    sizes[at] = random_.size();
    ++rank;
  }
  fit_floats(value);
}

void GraphMutator::change_value(GpuGraph& graph) {
  GpuValue& value = random_.pick(graph.values);
  constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kInt32, DataType::kInt64};
  constexpr HostNumbers kHosts[] = {HostNumbers::kSame, HostNumbers::kHalves, HostNumbers::kBools,
                                    HostNumbers::kIntegers};
  switch (random_.below(4)) {
    case 0:
      value.type = random_.pick(kTypes);
      break;
    case 1:
      value.host = random_.pick(kHosts);
      break;
    case 2:
      value.is_step = !value.is_step;
      break;
    default:
      value.key = std::to_string(random_.below(10));
  }
}

void GraphMutator::change_role(GpuGraph& graph) {
  const uint32_t id = random_.below(graph.values.size());
  GpuValue& value = graph.values[id];
  if (value.role == ValueRole::kResult) return;
  constexpr ValueRole kRoles[] = {ValueRole::kInput, ValueRole::kConstant, ValueRole::kInline};
  const ValueRole role = random_.pick(kRoles);
  graph.inputs.erase(std::remove(graph.inputs.begin(), graph.inputs.end(), id), graph.inputs.end());
  value.role = role;
  value.codes = {};
  value.floats.clear();
  if (role != ValueRole::kConstant) value.key.clear();
  if (role == ValueRole::kConstant) value.key = std::to_string(random_.below(10));
  if (role == ValueRole::kInline) value.host = HostNumbers::kSame;
  fit_floats(value);
  // Readers find inputs in the order of their values.
  if (role == ValueRole::kInput)
    graph.inputs.insert(std::lower_bound(graph.inputs.begin(), graph.inputs.end(), id), id);
}

void GraphMutator::change_codes(GpuGraph& graph) {
  const uint32_t id = random_.below(graph.values.size());
  Codes& codes = graph.values[id].codes;
  if (codes.bits == 0 || random_.one_in(2)) return NodeGenerator(random_, graph).change_numbers(id);
  switch (random_.below(4)) {
    case 0:
      codes.bits = codes.bits == 4 ? 8 : 4;
      break;
    case 1:
      codes.axis = random_.below(kMaxRank);
      break;
    case 2:
      codes.group = random_.size();
      break;
    default:
      codes.zero_points = codes.zero_points == kNoValue ? codes.scales : kNoValue;
  }
}

// Functions of single elements replace each other more often than operators.
void GraphMutator::change_operator(GpuGraph& graph) {
  if (graph.nodes.empty()) return;
  GpuNode& node = random_.pick(graph.nodes);
  constexpr uint32_t kMostFunctions = 24;
  if ((node.op == Operator::kUnary || node.op == Operator::kBinary) && !random_.one_in(4)) {
    node.ints[0] = 1 + static_cast<int32_t>(random_.below(kMostFunctions));
    return;
  }
  const OperatorRow& row = random_.pick(kOperators);
  node.op = row.op;
  node.ints.resize(std::clamp<size_t>(node.ints.size(), row.min_ints, row.max_ints), 1);
  node.floats.resize(row.floats, 1.0f);
  while (node.inputs.size() > row.max_inputs) node.inputs.pop_back();
  while (node.inputs.size() < row.min_inputs) node.inputs.push_back(random_.below(graph.values.size()));
}

void GraphMutator::change_integer(GpuGraph& graph) {
  if (graph.nodes.empty()) return;
  std::vector<int32_t>& ints = random_.pick(graph.nodes).ints;
  if (ints.empty()) return;
  int32_t& changed = random_.pick(ints);
  if (random_.one_in(3))
    changed = static_cast<int32_t>(random_.size());
  else
    changed = random_.one_in(2) ? random_.integer() : kCopiedSize - static_cast<int32_t>(random_.below(18));
  if (random_.one_in(16)) ints.pop_back();
}

void GraphMutator::change_float(GpuGraph& graph) {
  if (graph.nodes.empty()) return;
  constexpr float kNumbers[] = {0, -0.0f, 1, -1, 0.5f, 1e-38f, 1e38f, 3e9f};
  std::vector<float>& floats = random_.pick(graph.nodes).floats;
  if (!floats.empty()) random_.pick(floats) = random_.pick(kNumbers);
}

void GraphMutator::change_edge(GpuGraph& graph) {
  if (graph.nodes.empty()) return;
  GpuNode& node = random_.pick(graph.nodes);
  const uint32_t other = random_.below(graph.values.size());
  if (random_.one_in(8))
    node.inputs.push_back(other);
  else if (node.inputs.size() > 1 && random_.one_in(8))
    node.inputs.pop_back();
  else if (!node.inputs.empty())
    random_.pick(node.inputs) = other;
}

void GraphMutator::change_outputs(GpuGraph& graph) {
  if (!graph.outputs.empty() && random_.one_in(3)) {
    graph.outputs.erase(graph.outputs.begin() + random_.below(graph.outputs.size()));
  } else if (!graph.outputs.empty() && random_.one_in(2)) {
    std::swap(random_.pick(graph.outputs), random_.pick(graph.outputs));
  } else {
    const uint32_t id = random_.below(graph.values.size());
    const bool is_new = std::find(graph.outputs.begin(), graph.outputs.end(), id) == graph.outputs.end();
    if (is_new && graph.value(id).role == ValueRole::kResult) graph.outputs.push_back(id);
  }
}

// Readers of the node's result read its first input instead.
void GraphMutator::remove_node(GpuGraph& graph) {
  if (graph.nodes.empty()) return;
  const uint32_t at = random_.below(graph.nodes.size());
  const GpuNode removed = graph.nodes[at];
  graph.nodes.erase(graph.nodes.begin() + at);
  if (removed.inputs.empty() || removed.output >= graph.values.size()) return;
  for (GpuNode& node : graph.nodes)
    std::replace(node.inputs.begin(), node.inputs.end(), removed.output, removed.inputs[0]);
  remove_value(graph, removed.output);
}

void GraphMutator::join(GpuGraph& graph, const GpuGraph& other) {
  GpuGraph moved = other;
  const auto first = static_cast<uint32_t>(graph.values.size());
  move_values(moved, first);
  for (GpuNode& node : moved.nodes) {
    for (uint32_t& input : node.inputs) {
      const bool is_argument =
          std::find(moved.inputs.begin(), moved.inputs.end(), input) != moved.inputs.end();
      if (is_argument && first > 0 && random_.one_in(2)) input = random_.below(first);
    }
  }
  graph.values.insert(graph.values.end(), moved.values.begin(), moved.values.end());
  graph.nodes.insert(graph.nodes.end(), moved.nodes.begin(), moved.nodes.end());
  graph.inputs.insert(graph.inputs.end(), moved.inputs.begin(), moved.inputs.end());
  graph.outputs.insert(graph.outputs.end(), moved.outputs.begin(), moved.outputs.end());
}

}  // namespace etb::gpu
