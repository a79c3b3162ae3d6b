// SPDX-License-Identifier: Apache-2.0
// The input range of output `index` of an adaptive pool along one dim: [floor(index * in / out), ceil((index + 1) * in / out)).
#pragma once

#include <cstdint>

namespace etb::host {

constexpr int64_t adaptive_first(int64_t index, int64_t in, int64_t out) noexcept { return index * in / out; }
constexpr int64_t adaptive_end(int64_t index, int64_t in, int64_t out) noexcept {
  return ((index + 1) * in + out - 1) / out;
}

}  // namespace etb::host
