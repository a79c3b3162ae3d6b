// SPDX-License-Identifier: Apache-2.0
// Included by table.hpp in a run time of selected kernels. An op is a pointer to its loops instead of an index, and
// the tables have one variant. So the linker leaves out each loop that no selected kernel names.
#pragma once

namespace etb::host {

#define ETB_UNARY_SAME(op, real, integer) ETB_LOOPS(op)
#define ETB_UNARY_REAL(op, real) ETB_LOOPS(op)
#define ETB_UNARY_SPECIAL(op, real) ETB_LOOPS(op)
#define ETB_UNARY_BOOL(op, real, integer) ETB_LOOPS(op)
#define ETB_UNARY_LOOP(op, real, integer) ETB_LOOPS(op)
#define ETB_BINARY(op, real, integer) ETB_LOOPS(op)
#define ETB_TERNARY(op, real, integer) ETB_LOOPS(op)

namespace baseline {
#define ETB_LOOPS(op) extern const ElementLoop unary_loops_##op[kComputeCount];
#include "host/kernels/vector/unary.def"
#undef ETB_LOOPS
#define ETB_LOOPS(op) extern const ElementLoop binary_loops_##op[kComputeCount];
#include "host/kernels/vector/binary.def"
#undef ETB_LOOPS
#define ETB_LOOPS(op) extern const ElementLoop ternary_loops_##op[kComputeCount];
#include "host/kernels/vector/ternary.def"
#undef ETB_LOOPS
}  // namespace baseline

#define ETB_LOOPS(op) static const SelectedUnaryOp op;
struct SelectedUnaryOp {
  const ElementLoop* loops;
  constexpr bool operator==(const SelectedUnaryOp&) const = default;
#include "host/kernels/vector/unary.def"
};
#undef ETB_LOOPS
using UnaryOp = SelectedUnaryOp;
#define ETB_LOOPS(op) inline constexpr UnaryOp UnaryOp::op{baseline::unary_loops_##op};
#include "host/kernels/vector/unary.def"
#undef ETB_LOOPS

#define ETB_LOOPS(op) static const SelectedBinaryOp op;
struct SelectedBinaryOp {
  const ElementLoop* loops;
  constexpr bool operator==(const SelectedBinaryOp&) const = default;
#include "host/kernels/vector/binary.def"
};
#undef ETB_LOOPS
using BinaryOp = SelectedBinaryOp;
#define ETB_LOOPS(op) inline constexpr BinaryOp BinaryOp::op{baseline::binary_loops_##op};
#include "host/kernels/vector/binary.def"
#undef ETB_LOOPS

#define ETB_LOOPS(op) static const SelectedTernaryOp op;
struct SelectedTernaryOp {
  const ElementLoop* loops;
#include "host/kernels/vector/ternary.def"
};
#undef ETB_LOOPS
using TernaryOp = SelectedTernaryOp;
#define ETB_LOOPS(op) inline constexpr TernaryOp TernaryOp::op{baseline::ternary_loops_##op};
#include "host/kernels/vector/ternary.def"
#undef ETB_LOOPS

#undef ETB_UNARY_SAME
#undef ETB_UNARY_REAL
#undef ETB_UNARY_SPECIAL
#undef ETB_UNARY_BOOL
#undef ETB_UNARY_LOOP
#undef ETB_BINARY
#undef ETB_TERNARY

}  // namespace etb::host
