// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/plan/half_storage.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
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

// True for a number that float16 has; not for NaN.
bool is_half_number(float x) {
  const bool has_few_digits = (std::bit_cast<uint32_t>(x) & 0x1fffu) == 0;
  const bool is_in_range = std::isinf(x) || (std::abs(x) <= 65504 && x * 0x1p24f == std::trunc(x * 0x1p24f));
  return has_few_digits && is_in_range;
}

// A function of single elements in half_functions.glsl.
struct HalfFunction {
  bool is_there = false;
  size_t parameters = 0;  // numbers that it reads
  bool has_alpha = false, is_comparison = false;
};

HalfFunction half_function_of(UnaryFunction function) {
  switch (function) {
#define ETB_GPU_UNARY(name, code, formula, parameters, halves) \
  case UnaryFunction::k##name:                                 \
    return {halves == 1, parameters};
#define ETB_GPU_BINARY(...)
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
  }
  return {};
}

HalfFunction half_function_of(BinaryFunction function) {
  const bool has_alpha = function == BinaryFunction::kAdd || function == BinaryFunction::kSub;
  const bool is_comparison = function == BinaryFunction::kEqual || function == BinaryFunction::kLess ||
                             function == BinaryFunction::kLessEqual;
  switch (function) {
#define ETB_GPU_UNARY(...)
#define ETB_GPU_BINARY(name, code, formula, halves) \
  case BinaryFunction::k##name:                     \
    return {halves == 1, 0, has_alpha, is_comparison};
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
  }
  return {};
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

bool mark_halves(GpuGraph& graph, HalfStorage storage) {
  const bool has_halves = storage != HalfStorage::kOff && Marker(graph).run();
  graph.computes_halves = has_halves && storage == HalfStorage::kArithmetic;
  return has_halves;
}

bool computes_in_half(const GpuGraph& graph, const GpuNode& node) {
  if (!graph.computes_halves || (node.op != Operator::kUnary && node.op != Operator::kBinary)) return false;
  const HalfFunction function =
      node.op == Operator::kUnary
          ? half_function_of(static_cast<UnaryFunction>(node.ints[field::kFunction]))
          : half_function_of(static_cast<BinaryFunction>(node.ints[field::kBinaryFunction]));
  const bool has_result = function.is_comparison || graph.value(node.output).is_half;
  const auto numbers = std::span(node.floats).first(function.parameters);
  const bool has_one = !function.has_alpha || node.floats[0] == 1;
  const auto is_operand = [&](uint32_t id) {
    const GpuValue& value = graph.value(id);
    return value.is_half || (value.role == ValueRole::kInline && value.type == DataType::kFloat32 &&
                             std::all_of(value.floats.begin(), value.floats.end(), is_half_number));
  };
  return function.is_there && has_result && has_one &&
         std::all_of(numbers.begin(), numbers.end(), is_half_number) &&
         std::all_of(node.inputs.begin(), node.inputs.end(), is_operand);
}

}  // namespace etb::gpu
