// SPDX-License-Identifier: Apache-2.0
// Whole networks in the sizes that people use, for benchmarks. Weights are pseudo-random numbers (float_run.hpp).
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "plugins/gpu/testing/attention_graph.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {

inline constexpr float kUnlimited = std::numeric_limits<float>::infinity();

inline uint32_t add_weights(GpuGraph& graph, const Shape& shape) {
  return add_constant(graph, shape, std::to_string(shape.numel()));
}

inline uint32_t add_convolution(GpuGraph& graph, uint32_t x, const Shape& filters, int32_t stride, float low) {
  const uint32_t weight = add_weights(graph, filters),
                 bias = add_weights(graph, shape_of({filters.sizes[0]}));
  const auto padding = static_cast<int32_t>(filters.sizes[2] / 2);
  return add_node(graph, Operator::kConvolution, {x, weight, bias},
                  {stride, stride, padding, padding, 1, 1, 1}, {low, kUnlimited});
}

// Two convolutions, a residual and a relu.
inline uint32_t add_block(GpuGraph& graph, uint32_t x, uint32_t inputs, uint32_t channels, int32_t stride) {
  uint32_t y = add_convolution(graph, x, shape_of({channels, inputs, 3, 3}), stride, 0);
  y = add_convolution(graph, y, shape_of({channels, channels, 3, 3}), 1, -kUnlimited);
  if (inputs != channels)
    x = add_convolution(graph, x, shape_of({channels, inputs, 1, 1}), stride, -kUnlimited);
  return add_node(graph, Operator::kUnary, {add_binary(graph, BinaryFunction::kAdd, y, x)},
                  {static_cast<int32_t>(UnaryFunction::kClamp)}, {0, kUnlimited});
}

inline GpuGraph resnet_graph() {
  GpuGraph graph;
  uint32_t x =
      add_convolution(graph, add_input(graph, shape_of({1, 3, 224, 224})), shape_of({64, 3, 7, 7}), 2, 0);
  x = add_node(graph, Operator::kPool, {x}, {0, 3, 3, 2, 2, 1, 1, 1, 1, 0, 0, 0});
  uint32_t inputs = 64;
  for (const uint32_t channels : {64u, 128u, 256u, 512u}) {
    x = add_block(graph, x, inputs, channels, inputs == channels ? 1 : 2);
    x = add_block(graph, x, inputs = channels, channels, 1);
  }
  x = add_node(graph, Operator::kReduce, {x}, {static_cast<int32_t>(Reduction::kMean), 0b1100, 0});
  graph.outputs = {add_linear(graph, x, add_weights(graph, shape_of({1000, 512})))};
  return graph;
}

inline uint32_t add_layer(GpuGraph& graph, uint32_t x, uint32_t inputs, uint32_t outputs) {
  const uint32_t weight = add_weights(graph, shape_of({outputs, inputs})),
                 bias = add_weights(graph, shape_of({outputs}));
  return add_node(graph, Operator::kMatmul, {x, weight, bias}, {1}, {1, 1, -kUnlimited, kUnlimited});
}

inline uint32_t add_norm(GpuGraph& graph, uint32_t x, uint32_t size) {
  const uint32_t weight = add_weights(graph, shape_of({size}));
  return add_node(graph, Operator::kLayerNorm, {x, weight, weight}, {1}, {1e-5f});
}

// x + attention(norm(x)), then x + layers(norm(x)), of [tokens, size].
inline GpuGraph transformer_graph(int32_t tokens, int32_t size, int32_t heads) {
  const auto width = static_cast<uint32_t>(size);
  GpuGraph graph;
  uint32_t x = add_input(graph, shape_of({static_cast<uint32_t>(tokens), width}));
  for (int block = 0; block < 6; ++block) {
    const uint32_t normal = add_norm(graph, x, width);
    const auto split = [&](std::vector<int32_t> order) {
      const uint32_t layer = add_layer(graph, normal, width, width);
      const uint32_t view = add_node(graph, Operator::kReshape, {layer}, {tokens, heads, size / heads});
      return add_node(graph, Operator::kPermute, {view}, std::move(order));
    };
    const uint32_t q = split({1, 0, 2}), k = split({1, 0, 2}), v = split({1, 0, 2});
    const uint32_t keys = add_node(graph, Operator::kPermute, {k}, {0, 2, 1});
    uint32_t scores = add_batch_product(graph, q, keys);
    scores = add_binary(graph, BinaryFunction::kMul, scores, add_number(graph, 0.125f));
    const uint32_t weights = add_node(graph, Operator::kSoftmax, {scores}, {2, 0});
    uint32_t y = add_batch_product(graph, weights, v);
    y = add_node(graph, Operator::kPermute, {y}, {1, 0, 2});
    y = add_node(graph, Operator::kReshape, {y}, {tokens, size});
    x = add_binary(graph, BinaryFunction::kAdd, x, add_layer(graph, y, width, width));
    y = add_unary(graph, UnaryFunction::kGelu, add_layer(graph, add_norm(graph, x, width), width, 4 * width));
    x = add_binary(graph, BinaryFunction::kAdd, x, add_layer(graph, y, 4 * width, width));
  }
  graph.outputs = {add_norm(graph, x, width)};
  return graph;
}

}  // namespace etb::gpu
