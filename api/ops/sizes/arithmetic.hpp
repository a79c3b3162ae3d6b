// SPDX-License-Identifier: Apache-2.0
// Arithmetic that size rules are written over. A rule is a template over it, so that the kernels use it with numbers and the
// compiler with formulas (partitioner_sdk/infer/formulas.hpp).
//
// An arithmetic has a type Size and:
//   add, sub, mul, min, max, floor_div   results as in Python
//   ceil_div                             the quotient rounded up, for a divisor above 0
//   is(size, number)                     true if the size is known to be that number
//   known(size)                          the number, nullopt for a formula
//   lowest(size), highest(size)          bounds of the number
// Overflow and division by 0 are recorded, and the caller asks once after the rules that it uses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace etb::ops {

// Sizes as numbers. Never allocates and never throws.
class Numbers {
 public:
  using Size = int64_t;

  constexpr Size add(Size a, Size b) {
    Size out = 0;
    const bool fits = !__builtin_add_overflow(a, b, &out);
    return record(fits) ? out : 0;
  }
  constexpr Size sub(Size a, Size b) {
    Size out = 0;
    const bool fits = !__builtin_sub_overflow(a, b, &out);
    return record(fits) ? out : 0;
  }
  constexpr Size mul(Size a, Size b) {
    Size out = 0;
    const bool fits = !__builtin_mul_overflow(a, b, &out);
    return record(fits) ? out : 0;
  }
  constexpr Size floor_div(Size a, Size b) {
    if (!record(can_divide(a, b))) return 0;
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  }
  constexpr Size ceil_div(Size a, Size b) {
    if (!record(can_divide(a, b))) return 0;
    return a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0);
  }
  static constexpr Size min(Size a, Size b) { return std::min(a, b); }
  static constexpr Size max(Size a, Size b) { return std::max(a, b); }

  static constexpr bool is(Size size, int64_t number) { return size == number; }
  static constexpr std::optional<int64_t> known(Size size) { return size; }
  static constexpr int64_t lowest(Size size) { return size; }
  static constexpr int64_t highest(Size size) { return size; }

  // True once a result left int64 or a divisor was 0; such results are 0.
  constexpr bool has_overflowed() const { return has_overflowed_; }

 private:
  static constexpr bool can_divide(Size a, Size b) { return b != 0 && (a != INT64_MIN || b != -1); }
  constexpr bool record(bool fits) {
    has_overflowed_ |= !fits;
    return fits;
  }

  bool has_overflowed_ = false;
};

}  // namespace etb::ops
