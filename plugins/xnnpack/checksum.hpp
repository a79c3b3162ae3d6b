// SPDX-License-Identifier: Apache-2.0
// A checksum that runs at the speed of memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace etb::xnnpack {

// Detects accidents, not attacks: a user who can write packed weights can run code here anyway.
uint64_t checksum(const std::byte* data, size_t nbytes);

}  // namespace etb::xnnpack
