// What several files of this folder need. A file lowers one op, or a family under one rule, and ends with its rows (compile/op.hpp).
#pragma once

#include "plugins/xnnpack/compile/lowering.hpp"
#include "plugins/xnnpack/compile/op.hpp"

namespace etb::xnnpack {

inline constexpr uint32_t kFlagKeepDims = 0x40;       // reduced dimensions stay as 1
inline constexpr uint32_t kFlagTransposeWeights = 1;  // of FullyConnected: the filter is [inputs, outputs]
inline constexpr uint32_t kFlagTransposeB =
    1;  // of BatchMatrixMultiply: the second factor is [..., columns, rows]

// ---- Nodes of a draft; the result has dimensions as they lie.

uint32_t add_unary(Draft& draft, XnnOperator op, uint32_t input);
uint32_t add_binary(Draft& draft, XnnOperator op, uint32_t left, uint32_t right, Draft::Extents extents);
// Means over dimension 1 and 2 of a value of rank 4, which stay as 1.
uint32_t add_mean(Draft& draft, uint32_t input);
// `count` from `from` on of the dimension at `place`.
uint32_t add_slice(Draft& draft, uint32_t id, uint32_t place, uint32_t from, uint32_t count);

// ---- Ways to lower a node that ops share.

// One operator of one tensor.
[[nodiscard]] Status lower_unary(Lowering& l, XnnOperator op);
[[nodiscard]] Status lower_reciprocal(Lowering& l);
// The result is the first tensor.
[[nodiscard]] Status lower_alias(Lowering& l);
// The draft's value of the elements in `to`, in the order that they lie; the form of a view where that needs no transpose.
[[nodiscard]] Result<Form> view_of(Lowering& l, uint32_t value, const Draft::Extents& to);

// A factor of a product: [..., rows, columns]; is_transposed: the value has [..., columns, rows].
struct Matrix {
  uint32_t id = kXnnNoValue;
  bool is_transposed = false;
};
// `value` with its last two dimensions where they are, so that a transpose of them is left to the product.
[[nodiscard]] Result<Matrix> right_factor(Lowering& l, uint32_t value);

// That nobody reads the results behind the first.
[[nodiscard]] Status check_only_first_result_is_read(const Lowering& l, const char* what);

}  // namespace etb::xnnpack
