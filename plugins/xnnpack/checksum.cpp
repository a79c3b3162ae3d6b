// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/checksum.hpp"

#include <cstring>
#include <initializer_list>

namespace etb::xnnpack {

namespace {

// Sums, and sums of sums, so that order counts. Two additions for 16 bytes reach the speed of memory on any
// processor. Each word is first mixed with its own upper half. Otherwise changes to the top bits of two words
// could cancel out.
using Words = uint64_t __attribute__((vector_size(16)));
struct Lane {
  Words sum{}, sums{};
  void add(const std::byte* data) {
    Words words;
    std::memcpy(&words, data, sizeof words);
    sum += words ^ (words >> 29);
    sums += sum;
  }
};

}  // namespace

uint64_t checksum(const std::byte* data, size_t nbytes) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;
  const size_t count = nbytes;
  Lane a, b, c, d;
  for (; nbytes >= 4 * sizeof(Words); nbytes -= 4 * sizeof(Words), data += 4 * sizeof(Words)) {
    a.add(data);
    b.add(data + sizeof(Words));
    c.add(data + 2 * sizeof(Words));
    d.add(data + 3 * sizeof(Words));
  }
  uint64_t sum = count;
  const auto mix = [&sum](uint64_t word) {
    sum = (sum ^ word) * kFactor;
    sum ^= sum >> 32;
  };
  for (const Lane* lane : {&a, &b, &c, &d}) {
    for (size_t i = 0; i < 2; ++i) {
      mix(lane->sum[i]);
      mix(lane->sums[i]);
    }
  }
  for (size_t i = 0; i < nbytes; ++i) mix(static_cast<uint64_t>(data[i]));
  return sum;
}

}  // namespace etb::xnnpack
