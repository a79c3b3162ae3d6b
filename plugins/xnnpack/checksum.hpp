// A checksum as fast as memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace etb::xnnpack {

// Against accidents, not against people: whoever can write a file of packed weights can run code here anyway.
uint64_t checksum(const std::byte* data, size_t nbytes);

}  // namespace etb::xnnpack
