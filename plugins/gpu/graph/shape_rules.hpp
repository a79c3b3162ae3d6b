// SPDX-License-Identifier: Apache-2.0
// Rules of sizes, one for each operator: for shapes.cpp, which calls them.
#pragma once

#include "plugins/gpu/graph/shapes.hpp"

namespace etb::gpu {

// The sizes of a node's inputs, and of its output.
struct Sizes {
  const GpuGraph& graph;
  const GpuNode& node;
  std::span<Shape> shapes;

  const Shape& input(size_t index) const { return shapes[node.inputs[index]]; }
  DataType type(size_t index) const { return graph.value(node.inputs[index]).type; }
  int32_t number(uint32_t at) const { return node.ints[at]; }
  bool is_constant(size_t index) const {
    const ValueRole role = graph.value(node.inputs[index]).role;
    return role == ValueRole::kConstant || role == ValueRole::kInline;
  }
};

// Error of a rule. Its text is made only if the rule fails.
inline tl::unexpected<Error> mismatch(const char* text) { return make_error(Code::INVALID_ARGUMENT, text); }

// image_shapes.cpp: operators of images.
Status infer_convolution(const Sizes& sizes, Shape& out);
Status infer_pool(const Sizes& sizes, Shape& out);
Status infer_adaptive(const Sizes& sizes, Shape& out);
Status infer_fold(const Sizes& sizes, Shape& out);
Status infer_resize(const Sizes& sizes, Shape& out);

}  // namespace etb::gpu
