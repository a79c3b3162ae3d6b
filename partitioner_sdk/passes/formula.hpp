// SPDX-License-Identifier: Apache-2.0
// Decompositions written as formulas, for those that need no thought:
//
//   {"aten.addcmul.default", "add(self, mul(mul(tensor1, tensor2), value))"}
//
// A name is an argument of the op that is taken apart, or what an earlier `name = expression;` gave. A call is an op of aten:
// `mul` stands for aten.mul.Tensor, or for aten.mul.default where there is no such overload; `pow.Tensor_Scalar` names it;
// `quantized_decomposed.add.default` has its namespace too. Also none, true, false, inf, numbers, lists of numbers and
// strings; `name=value` for arguments by name; dtype_of(x); rank_of(x); float64. Expressions behind each other give several
// results. if(c, x, y) is x unless c is false or none, and makes no node of the other; reduced(x, reduction) is what losses
// end with: x, its mean or its sum.
#pragma once

#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

struct Formula {
  std::string_view op;
  std::string_view text;
};

// Sorted by op.
std::span<const Formula> formula_table();

// The results; an error of the formula fails the arguments.
Values expand_formula(Builder& b, const Call& a, std::string_view text);

}  // namespace etb::passes
