// SPDX-License-Identifier: Apache-2.0
// Counts of equal and different codes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "layer.hpp"

namespace compare {

#if defined(CMSIS_NN_USE_SINGLE_ROUNDING)
inline constexpr char kPeer[] = "CMSIS-NN, single rounding";
#else
inline constexpr char kPeer[] = "CMSIS-NN, double rounding";
#endif

// Elements of one operator on two sides.
struct Count {
  const char* what;
  int64_t lowest = INT8_MIN, highest = INT8_MAX;  // codes
  const char* peer = kPeer;
  uint64_t cases = 0, refused = 0, elements = 0, inside = 0, different = 0;
  int64_t largest = 0;

  void add(int64_t found, int64_t expected) {
    ++elements;
    inside += expected > lowest && expected < highest ? 1 : 0;
    different += found != expected ? 1 : 0;
    largest = std::max(largest, std::abs(found - expected));
  }
  template <class Code>
  void add(const Code* found, const Code* expected, size_t count) {
    ++cases;
    for (size_t i = 0; i < count; ++i) add(found[i], expected[i]);
  }
  void print() const {
    std::printf("| %s | %s | %llu | %llu | %llu | %llu | %lld |%s\n", what, peer,
                static_cast<unsigned long long>(cases), static_cast<unsigned long long>(elements),
                static_cast<unsigned long long>(inside), static_cast<unsigned long long>(different),
                static_cast<long long>(largest), refused != 0 ? " REFUSED" : "");
  }
};

inline std::vector<int8_t> draw_codes(Random& random, size_t count) {
  std::vector<int8_t> codes(count);
  for (int8_t& code : codes) code = static_cast<int8_t>(random.between(-128, 127));
  return codes;
}

// Random elements of `count` calls of operators without weights.
void compare_additions(uint32_t count);
void compare_products(uint32_t count);
void compare_softmax(uint32_t count);
// Layers of int16 codes, on the DSP. With a folder, writes files for compare_tosa.py.
void compare_wide(uint32_t count, const char* folder);

}  // namespace compare
