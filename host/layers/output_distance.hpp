// SPDX-License-Identifier: Apache-2.0
// How far two outputs are apart, for the layers that compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "etb/tensor.h"

namespace etb::host {

// Allowed difference of an element: atol + rtol * |expected|. Both 0: bit for bit.
struct Tolerance {
  double atol = 0, rtol = 0;
};

struct OutputDistance {
  uint64_t element_count = 0;
  uint64_t differing_count = 0;  // not equal bit for bit; any NaN equals any NaN
  uint64_t beyond_count = 0;     // beyond the tolerance
  uint64_t first_index =
      0;  // of the first element beyond it, else of the first that differs; in memory order
  double first_expected = 0, first_found = 0;
  double max_abs = 0,
         max_rel = 0;  // of finite differences; a NaN or an infinity on one side is beyond every tolerance
};

// Compares elements of one dtype in memory order. The shorter side ends the comparison. Elements of dtypes without
// a number, such as packed ones, are bytes.
OutputDistance measure_distance(etb_dtype dtype, std::span<const std::byte> expected,
                                std::span<const std::byte> found, const Tolerance& tolerance);

// "3 of 12 elements differ, at most 0.25 (0.01 relative), first at 4: 1.5, expected 1.25"
std::string describe_distance(const OutputDistance& distance);

}  // namespace etb::host
