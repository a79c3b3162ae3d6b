// SPDX-License-Identifier: Apache-2.0
// Small graphs for tests of the payload, the plan and the device half.
#pragma once

#include <limits>

#include "plugins/gpu/graph/graph.hpp"

namespace etb::gpu {

inline Shape shape_of(std::initializer_list<uint32_t> sizes) {
  Shape shape;
  for (const uint32_t size : sizes) shape.sizes[shape.rank++] = size;
  return shape;
}

inline uint32_t add_input(GpuGraph& graph, const Shape& shape) {
  GpuValue value;
  value.role = ValueRole::kInput;
  value.shape = shape;
  graph.inputs.push_back(static_cast<uint32_t>(graph.values.size()));
  graph.values.push_back(std::move(value));
  return graph.inputs.back();
}

inline uint32_t add_constant(GpuGraph& graph, const Shape& shape, std::string key) {
  GpuValue value;
  value.role = ValueRole::kConstant;
  value.shape = shape;
  value.key = std::move(key);
  graph.values.push_back(std::move(value));
  return static_cast<uint32_t>(graph.values.size() - 1);
}

// A number of the payload.
inline uint32_t add_number(GpuGraph& graph, float number) {
  GpuValue value;
  value.role = ValueRole::kInline;
  value.floats = {number};
  graph.values.push_back(std::move(value));
  return static_cast<uint32_t>(graph.values.size() - 1);
}

// A constant of codes with pseudo-random scales and zero points (float_run.hpp), one for each element of the axis.
inline uint32_t add_codes(GpuGraph& graph, const Shape& shape, uint32_t bits, uint32_t axis,
                          uint32_t group = 0, bool has_zero_points = true) {
  const uint32_t count = shape.sizes[axis] * (group == 0 ? 1 : shape.sizes[1] / group);
  const uint32_t scales = add_constant(graph, shape_of({count}), std::to_string(count));
  const char* const limit = bits == 4 ? "8/" : "128/";
  const uint32_t made = add_constant(graph, shape, limit + std::to_string(shape.numel()));
  graph.values[made].codes = {bits, axis, group, scales, has_zero_points ? scales : kNoValue};
  return made;
}

inline uint32_t add_node(GpuGraph& graph, Operator op, std::vector<uint32_t> inputs,
                         std::vector<int32_t> ints, std::vector<float> floats = {}) {
  const auto output = static_cast<uint32_t>(graph.values.size());
  graph.values.emplace_back();
  graph.nodes.push_back({op, std::move(inputs), output, std::move(ints), std::move(floats)});
  return output;
}

inline uint32_t add_unary(GpuGraph& graph, UnaryFunction function, uint32_t input) {
  return add_node(graph, Operator::kUnary, {input}, {static_cast<int32_t>(function)}, {0, 0});
}
inline uint32_t add_binary(GpuGraph& graph, BinaryFunction function, uint32_t a, uint32_t b) {
  return add_node(graph, Operator::kBinary, {a, b}, {static_cast<int32_t>(function)}, {1});
}
inline uint32_t add_linear(GpuGraph& graph, uint32_t input, uint32_t weight) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return add_node(graph, Operator::kMatmul, {input, weight}, {1}, {1, 1, -kInfinity, kInfinity});
}

// |a + b| * (a + b), then a linear layer with the weight "w" [3, 4].
inline GpuGraph layer_graph() {
  GpuGraph graph;
  const uint32_t a = add_input(graph, shape_of({8, 4})), b = add_input(graph, shape_of({4}));
  const uint32_t sum = add_binary(graph, BinaryFunction::kAdd, a, b);
  const uint32_t magnitude = add_unary(graph, UnaryFunction::kAbs, sum);
  const uint32_t product = add_binary(graph, BinaryFunction::kMul, magnitude, sum);
  graph.outputs.push_back(add_linear(graph, product, add_constant(graph, shape_of({3, 4}), "w")));
  return graph;
}

}  // namespace etb::gpu
