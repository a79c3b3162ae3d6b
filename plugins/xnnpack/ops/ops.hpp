// The functions of ops.def: each lowers one op, or refuses it with a reason. One file a family.
#pragma once

#include "plugins/xnnpack/compile/lowering.hpp"

namespace etb::xnnpack {

#define ETB_XNN_OP(op, lower, quantised, dtypes, min_rank, max_rank, constraint) Status lower(Lowering& l);
#include "plugins/xnnpack/ops/ops.def"
#undef ETB_XNN_OP

// What several families need.

inline constexpr uint32_t kFlagKeepDims = 0x40;  // reduced dimensions stay as 1

// `value` with an element-wise binary operator and a constant, dimensions as they lie.
uint32_t add_binary(Draft& draft, XnnOperator op, uint32_t left, uint32_t right, Draft::Extents extents);
uint32_t add_unary(Draft& draft, XnnOperator op, uint32_t input);
// Means over dimension 1 and 2 of a value of rank 4, which stay as 1.
uint32_t add_mean(Draft& draft, uint32_t input);
// The draft's value of `numel` elements in `to`, in the order that they lie; the form of a view where that needs no transpose.
[[nodiscard]] Result<Form> view_of(Lowering& l, uint32_t value, const Draft::Extents& to);
// What lies in [from, from + count) of one dimension.
[[nodiscard]] Result<Form> slice_of(Lowering& l, uint32_t value, uint32_t dim, int64_t from, int64_t count);

}  // namespace etb::xnnpack
