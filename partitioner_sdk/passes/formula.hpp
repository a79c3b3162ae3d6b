// SPDX-License-Identifier: Apache-2.0
// Decompositions written as formulas, for ops that need no code:
//
//   {"aten.addcmul.default", "add(self, mul(mul(tensor1, tensor2), value))"}
//
// A name is an argument of the decomposed op or the value of an earlier `name = expression;`. A call is an op
// of aten: `mul` is aten.mul.Tensor, or aten.mul.default where there is no such overload. `pow.Tensor_Scalar`
// names the overload, `quantized_decomposed.add.default` the namespace too. Literals: none, true, false, inf,
// numbers, lists of numbers, strings, names of dtypes. `name=value` is a named argument. Also rank_of(x),
// dtype_of(x, y), which promotes; float_of(x, y), the same with float32 for integers; and wide_of(x, y), the dtype to
// compute in: float_of with float32 for 16-bit floats, which are rounded once at the end. Several expressions return
// several results. if(c, x, y) is x unless c is false or none, and adds no nodes for the other. nonzero(n) is true for a number other than 0. scaled(x, n) is x times a number of x's own
// dtype, and adds no node for 1. reduced(x, reduction) reduces a loss: x, its mean or its sum.
#pragma once

#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

struct Formula {
  std::string_view op;
  std::string_view text;
};

// Sorted by op.
std::span<const Formula> formula_table();

// Returns the results; an error in the formula fails the call.
Values expand_formula(Builder& b, const Call& a, std::string_view text);

}  // namespace etb::passes
