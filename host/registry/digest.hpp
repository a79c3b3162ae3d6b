// SHA-256 of a file that contains code.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "host/registry/byte_source.hpp"

namespace etb::host {

using Sha256 = std::array<uint8_t, 32>;

[[nodiscard]] Result<Sha256> sha256_of(const ByteSource& source);

// Compares a file (`name` in messages) with the digest that is expected; matches when there is none.
[[nodiscard]] Status verify_digest(const std::string& name, const std::optional<Sha256>& expected,
                                   const ByteSource& source);

}  // namespace etb::host
