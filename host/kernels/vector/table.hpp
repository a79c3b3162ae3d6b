// VectorTable: the hot loops, compiled once for each kind of CPU from the same source. A kernel asks its context for the table
// and never cares which one it is.
#pragma once

#include <cstdint>

#include "host/runtime/dtype.hpp"

namespace etb::host {

// What elements are computed in.
enum class Compute : uint8_t { kFloat, kDouble, kInt64 };
inline constexpr int kComputeCount = 3;

enum class UnaryOp : uint8_t {
#define ETB_UNARY_SAME(op, real, integer) op,
#define ETB_UNARY_REAL(op, real) op,
#define ETB_UNARY_BOOL(op, real, integer) op,
#define ETB_UNARY_LOOP(op, real, integer) op,
#include "host/kernels/vector/unary.def"
#undef ETB_UNARY_SAME
#undef ETB_UNARY_REAL
#undef ETB_UNARY_BOOL
#undef ETB_UNARY_LOOP
  kCount,
};

enum class BinaryOp : uint8_t {
#define ETB_BINARY(op, real, integer) op,
#include "host/kernels/vector/binary.def"
#undef ETB_BINARY
  kCount,
};

enum class TernaryOp : uint8_t {
#define ETB_TERNARY(op, real, integer) op,
#include "host/kernels/vector/ternary.def"
#undef ETB_TERNARY
  kCount,
};

// Computes `count` dense elements of the computing type. `out` may be one of the inputs. `params` points to four values of the
// computing type.
using ElementLoop = void (*)(void* out, const void* const* in, int64_t count, const void* params);

// Reads `count` elements of a dtype, `stride` elements apart, into dense elements of a computing type (load), or the other way
// round (store). Floats too large for an integer dtype give what x86 gives: the smallest int64, cut to the dtype.
using ConvertLoop = void (*)(void* to, const void* from, int64_t stride, int64_t count);

struct ElementLoops {
  ElementLoop unary[static_cast<int>(UnaryOp::kCount)][kComputeCount];
  ElementLoop binary[static_cast<int>(BinaryOp::kCount)][kComputeCount];
  ElementLoop ternary[static_cast<int>(TernaryOp::kCount)][kComputeCount];
};

struct ConvertLoops {
  ConvertLoop load[kDtypeCount][kComputeCount];  // null for dtypes without arithmetic
  ConvertLoop store[kDtypeCount][kComputeCount];
};

struct VectorTable {
  const char* name;
  const ElementLoops* elements;
  const ConvertLoops* conversions;
};

}  // namespace etb::host
