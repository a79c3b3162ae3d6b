// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/plan/half_storage.hpp"

#include <algorithm>
#include <span>

namespace etb::gpu {

namespace {

// Returns the inputs whose numbers are those of the result; none for a node that computes. Other inputs are indices or sizes.
std::span<const uint32_t> moved_inputs(const GpuNode& node) {
  const std::span<const uint32_t> inputs(node.inputs);
  switch (node.op) {
    case Operator::kReshape:
    case Operator::kPermute:
    case Operator::kExpand:
    case Operator::kSlice:
    case Operator::kSelect:
    case Operator::kFlip:
    case Operator::kEmbedding:
    case Operator::kGather:
      return inputs.first(1);
    case Operator::kIndexPut:
      return inputs.first(2);
    case Operator::kCat:
      return inputs;
    default:
      return {};
  }
}

// Returns the input with indices, which kernels read as words of 32 bits; kNoValue if there is none.
uint32_t index_input(const GpuNode& node) {
  switch (node.op) {
    case Operator::kEmbedding:
    case Operator::kGather:
      return node.inputs[1];
    case Operator::kIndexPut:
      return node.inputs[2];
    default:
      return kNoValue;
  }
}

class Marker {
 public:
  explicit Marker(GpuGraph& graph)
      : graph_(graph), reads_(graph.values.size(), 0), is_output_(graph.values.size(), false) {
    for (const GpuNode& node : graph.nodes)
      for (const uint32_t input : node.inputs) ++reads_[input];
    for (const uint32_t output : graph.outputs) is_output_[output] = true;
  }

  bool run() {
    for (GpuValue& value : graph_.values)
      value.is_half = value.type == DataType::kFloat32 && value.host == HostNumbers::kHalves &&
                      value.role != ValueRole::kInline && value.codes.bits == 0;
    // A view of a step shows its memory, so the step is rounded in place of the view.
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      const GpuNode& node = graph_.nodes[i];
      if (node.op == Operator::kReshape && graph_.value(node.output).is_half && is_step(node.inputs[0]) &&
          reads_[node.inputs[0]] == 1)
        graph_.values[node.inputs[0]].is_half = true;
    }
    for (const GpuNode& node : graph_.nodes) {
      const std::span<const uint32_t> moved = moved_inputs(node);
      const auto is_half = [&](uint32_t id) { return graph_.value(id).is_half; };
      if (!moved.empty() && is_step(node.output) && std::all_of(moved.begin(), moved.end(), is_half))
        graph_.values[node.output].is_half = true;
    }
    for (const GpuNode& node : graph_.nodes)
      if (const uint32_t indices = index_input(node); indices != kNoValue)
        graph_.values[indices].is_half = false;
    return std::any_of(graph_.values.begin(), graph_.values.end(),
                       [](const GpuValue& value) { return value.is_half; });
  }

 private:
  bool is_step(uint32_t id) const {
    const GpuValue& value = graph_.value(id);
    return value.is_step && value.role == ValueRole::kResult && value.type == DataType::kFloat32 &&
           value.host == HostNumbers::kSame && !is_output_[id];
  }

  GpuGraph& graph_;
  std::vector<uint32_t> reads_;  // by value
  std::vector<bool> is_output_;  // by value
};

}  // namespace

bool mark_halves(GpuGraph& graph) { return Marker(graph).run(); }

}  // namespace etb::gpu
