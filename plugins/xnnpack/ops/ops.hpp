// SPDX-License-Identifier: Apache-2.0
// Functions shared by the files of this folder. A file lowers one op, or ops under one rule, and ends with
// its rows (compile/op.hpp).
#pragma once

#include "plugins/xnnpack/compile/lowering.hpp"
#include "plugins/xnnpack/compile/op.hpp"

namespace etb::xnnpack {

inline constexpr uint32_t kFlagKeepDims = 0x40;       // reduced dimensions stay as 1
inline constexpr uint32_t kFlagTransposeWeights = 1;  // FullyConnected: the filter is [inputs, outputs]
inline constexpr uint32_t kFlagTransposeB =
    1;  // BatchMatrixMultiply: the second factor is [..., columns, rows]

// ---- Nodes of a payload; results have their dimensions in storage order.

uint32_t add_unary(Draft& draft, XnnOperator op, uint32_t input);
uint32_t add_binary(Draft& draft, XnnOperator op, uint32_t left, uint32_t right, Draft::Extents extents);
// Adds means over dimensions 1 and 2 of a value of rank 4; both stay as 1.
uint32_t add_mean(Draft& draft, uint32_t input);
// Adds a slice of `count` elements from `from` on, along storage dimension `place`.
uint32_t add_slice(Draft& draft, uint32_t id, uint32_t place, uint32_t from, uint32_t count);

// ---- Lowerings shared by several ops.

// Lowers to one operator of one tensor.
[[nodiscard]] Status lower_unary(Lowering& l, XnnOperator op);
[[nodiscard]] Status lower_reciprocal(Lowering& l);
// Makes the result an alias of the first tensor.
[[nodiscard]] Status lower_alias(Lowering& l);
// Returns the elements in storage order with the sizes `to`; an alias where no transpose is needed.
[[nodiscard]] Result<Form> view_of(Lowering& l, uint32_t value, const Draft::Extents& to);

// A factor of a product: [..., rows, columns], stored as [..., columns, rows] if is_transposed.
struct Matrix {
  uint32_t id = kXnnNoValue;
  bool is_transposed = false;
};
// Returns `value` without transposing its last two dimensions; the product transposes them instead.
[[nodiscard]] Result<Matrix> right_factor(Lowering& l, uint32_t value);

// Rejects the node if a result after the first has a reader.
[[nodiscard]] Status check_only_first_result_is_read(const Lowering& l, const char* what);

}  // namespace etb::xnnpack
