// SPDX-License-Identifier: Apache-2.0
// Random choices of the mutators of payloads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>

namespace etb::gpu {

class RandomNumbers {
 public:
  explicit RandomNumbers(uint32_t seed) : engine_(seed) {}

  // Returns a number less than `count`, or 0.
  uint32_t below(size_t count) { return static_cast<uint32_t>(engine_() % std::max<size_t>(count, 1)); }
  bool one_in(uint32_t count) { return below(count) == 0; }
  // `all` is not empty.
  template <class All>
  auto& pick(All& all) {
    return *(std::begin(all) + below(std::size(all)));
  }

  // Returns a size at which kernels and packings differ; in one of 64 calls a large one.
  uint32_t size() {
    constexpr uint32_t kSizes[] = {0, 1,  1,  1,  2,  2,  3,  4,  4,  5,  7, 8,
                                   9, 12, 15, 16, 17, 24, 31, 32, 33, 64, 65};
    constexpr uint32_t kLarge[] = {127, 256, 1000, 4097, 65536, 1u << 24, 1u << 29, UINT32_MAX};
    return one_in(64) ? pick(kLarge) : pick(kSizes);
  }
  // Returns an integer as nodes have them; in one of 16 calls an extreme one.
  int32_t integer() {
    constexpr int32_t kExtremes[] = {INT32_MIN, INT32_MIN + 1, -65536,  1 << 14,       (1 << 14) + 1,
                                     65536,     1 << 24,       1 << 29, INT32_MAX - 1, INT32_MAX};
    return one_in(16) ? pick(kExtremes) : static_cast<int32_t>(below(12)) - 3;
  }

 private:
  std::minstd_rand engine_;
};

}  // namespace etb::gpu
