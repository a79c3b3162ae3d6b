// SPDX-License-Identifier: Apache-2.0
// The formulas of unary.def, binary.def and ternary.def as loops.
#include "host/kernels/selection.hpp"
#include "host/kernels/vector/special_math.hpp"
#include "host/kernels/vector/table.hpp"

namespace etb::host::ETB_VARIANT {
namespace {

template <class T>
constexpr bool kIsInteger = false;
template <>
constexpr bool kIsInteger<int64_t> = true;

template <class T>
struct Params {
  T values[4];
};

#define ETB_FORMULA_LOOP(kind, name, inputs, real, integer)                                 \
  template <class T>                                                                        \
  void kind##_##name(void* out, const void* const* in, int64_t count, const void* params) { \
    T* to = static_cast<T*>(out);                                                           \
    inputs;                                                                                 \
    const Params<T> copied = *static_cast<const Params<T>*>(params);                        \
    [[maybe_unused]] const T* p = copied.values;                                            \
    ETB_LOOP for (int64_t i = 0; i < count; ++i) {                                          \
      ETB_ELEMENTS                                                                          \
      if constexpr (kIsInteger<T>) {                                                        \
        to[i] = static_cast<T>(integer);                                                    \
      } else {                                                                              \
        to[i] = static_cast<T>(real);                                                       \
      }                                                                                     \
    }                                                                                       \
  }

#define ETB_ONE const T* xs = static_cast<const T*>(in[0])
#define ETB_TWO ETB_ONE, *ys = static_cast<const T*>(in[1])
#define ETB_THREE ETB_TWO, *zs = static_cast<const T*>(in[2])

#define ETB_ELEMENTS [[maybe_unused]] const T x = xs[i];
#define ETB_UNARY_SAME(op, real, integer) ETB_FORMULA_LOOP(unary, op, ETB_ONE, real, integer)
#define ETB_UNARY_REAL(op, real) ETB_FORMULA_LOOP(unary, op, ETB_ONE, real, x)
#define ETB_UNARY_SPECIAL(op, real) ETB_FORMULA_LOOP(unary, op, ETB_ONE, real, x)
#define ETB_UNARY_BOOL(op, real, integer) ETB_FORMULA_LOOP(unary, op, ETB_ONE, real, integer)
#define ETB_UNARY_LOOP(op, real, integer) ETB_FORMULA_LOOP(unary, op, ETB_ONE, real, integer)
#include "host/kernels/vector/unary.def"
#undef ETB_UNARY_SAME
#undef ETB_UNARY_REAL
#undef ETB_UNARY_SPECIAL
#undef ETB_UNARY_BOOL
#undef ETB_UNARY_LOOP
#undef ETB_ELEMENTS

#define ETB_ELEMENTS [[maybe_unused]] const T x = xs[i], y = ys[i];
#define ETB_BINARY(op, real, integer) ETB_FORMULA_LOOP(binary, op, ETB_TWO, real, integer)
#include "host/kernels/vector/binary.def"
#undef ETB_BINARY
#undef ETB_ELEMENTS

#define ETB_ELEMENTS const T x = xs[i], y = ys[i], z = zs[i];
#define ETB_TERNARY(op, real, integer) ETB_FORMULA_LOOP(ternary, op, ETB_THREE, real, integer)
#include "host/kernels/vector/ternary.def"
#undef ETB_TERNARY
#undef ETB_ELEMENTS

}  // namespace

#if defined(ETB_SELECTED_KERNELS)
#define ETB_ROW(kind, op)                                \
  const ElementLoop kind##_loops_##op[kComputeCount] = { \
      kind##_##op<float>, kHasFloat64 ? kind##_##op<double> : nullptr, kind##_##op<int64_t>};
#define ETB_UNARY_SAME(op, real, integer) ETB_ROW(unary, op)
#define ETB_UNARY_REAL(op, real) ETB_ROW(unary, op)
#define ETB_UNARY_SPECIAL(op, real) ETB_ROW(unary, op)
#define ETB_UNARY_BOOL(op, real, integer) ETB_ROW(unary, op)
#define ETB_UNARY_LOOP(op, real, integer) ETB_ROW(unary, op)
#include "host/kernels/vector/unary.def"
#define ETB_BINARY(op, real, integer) ETB_ROW(binary, op)
#include "host/kernels/vector/binary.def"
#define ETB_TERNARY(op, real, integer) ETB_ROW(ternary, op)
#include "host/kernels/vector/ternary.def"
#else
#define ETB_ROW(kind, op) {kind##_##op<float>, kind##_##op<double>, kind##_##op<int64_t>},
extern const ElementLoops kElementLoops;
const ElementLoops kElementLoops = {
    {
#define ETB_UNARY_SAME(op, real, integer) ETB_ROW(unary, op)
#define ETB_UNARY_REAL(op, real) ETB_ROW(unary, op)
#define ETB_UNARY_SPECIAL(op, real) ETB_ROW(unary, op)
#define ETB_UNARY_BOOL(op, real, integer) ETB_ROW(unary, op)
#define ETB_UNARY_LOOP(op, real, integer) ETB_ROW(unary, op)
#include "host/kernels/vector/unary.def"
    },
    {
#define ETB_BINARY(op, real, integer) ETB_ROW(binary, op)
#include "host/kernels/vector/binary.def"
    },
    {
#define ETB_TERNARY(op, real, integer) ETB_ROW(ternary, op)
#include "host/kernels/vector/ternary.def"
    },
};
#endif

}  // namespace etb::host::ETB_VARIANT
