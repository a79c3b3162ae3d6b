// SPDX-License-Identifier: Apache-2.0
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

// Fails with reason `library.digest` unless both are the same; `name` is the file's in the message.
[[nodiscard]] Status compare_digests(const std::string& name, const Sha256& found, const Sha256& expected);

}  // namespace etb::host
