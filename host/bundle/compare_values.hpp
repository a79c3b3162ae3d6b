// SPDX-License-Identifier: Apache-2.0
// Compares outputs of a method with the expected ones of a test case, within tolerances, and measures their errors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "api/format/bundled_program_view.hpp"
#include "etb/cpp/result.hpp"
#include "host/runtime/evalue.hpp"

namespace etb::host {

// Floating elements are close if |expected - found| <= atol + |rtol * found|: the rule and the defaults of ExecuTorch's
// verify_method_outputs. A NaN is close to a NaN, an infinity to one of the same sign. bfloat16 and 8-bit floats are
// numbers, too, and each part of a complex number is one. Other elements must be equal.
struct Tolerances {
  double rtol = 1e-5;
  double atol = 1e-8;
};

// Absolute errors |a - b|, and relative ones |a - b| / max(|a|, |b|, 1e-8), as in ExecuTorch. Equal NaN and infinities
// have no error; other pairs with one of them are only counted.
struct ErrorStats {
  double mean_abs = 0, max_abs = 0;
  double mean_rel = 0, max_rel = 0;
  uint64_t count = 0;          // of all elements
  uint64_t special_count = 0;  // of elements of which one is NaN or infinite, and the other is not the same

  uint64_t measured_count() const noexcept { return count - special_count; }
  // Adds the elements of other outputs.
  void add(const ErrorStats& other) noexcept;
};

struct ValueComparison {
  bool is_close = true;
  std::string
      difference;  // if not close: "dtype float32, expected int8", "element 3 is 1.5, expected 1, at most 0.1 off"
  uint64_t different_count = 0;  // of elements that are not close
  double largest_expected = 0;   // of finite elements
  ErrorStats stats;              // without elements if dtypes or sizes differ
};

ValueComparison compare_values(const format::BundledValueView& expected, const EValue& found,
                               const Tolerances& tolerances);

}  // namespace etb::host
