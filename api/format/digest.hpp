// SHA-256 of bytes, as constants and files are identified by.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace etb::format {

using Sha256 = std::array<uint8_t, 32>;

Sha256 sha256(std::span<const uint8_t> bytes) noexcept;

}  // namespace etb::format
