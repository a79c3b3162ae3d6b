// SPDX-License-Identifier: Apache-2.0
// Nodes of single elements, which the functions of several ops add.
#pragma once

#include "plugins/gpu/compile/lowering_context.hpp"

namespace etb::gpu {

inline GpuNode unary_node(UnaryFunction function, uint32_t x, float p0 = 0, float p1 = 0) {
  return {Operator::kUnary, {x}, kNoValue, {static_cast<int32_t>(function)}, {p0, p1}};
}

inline GpuNode binary_node(BinaryFunction function, uint32_t a, uint32_t b, float alpha = 1) {
  return {Operator::kBinary, {a, b}, kNoValue, {static_cast<int32_t>(function)}, {alpha}};
}

// A node that is 1 where x is 0, and 0 elsewhere, also where x is NaN.
inline GpuNode negation_node(LoweringContext& context, uint32_t x) {
  return binary_node(BinaryFunction::kEqual, x, context.add_floats({0}, true));
}

// A node that is 0 where x is 0, and 1 elsewhere.
inline GpuNode truth_node(LoweringContext& context, uint32_t x) {
  return negation_node(context, context.add_node(negation_node(context, x)));
}

}  // namespace etb::gpu
