// Internal to digest.cpp: SHA-256 on processors with instructions for it.
#pragma once

#include "api/format/digest.hpp"

#if defined(__x86_64__)
namespace etb::format {

bool has_sha_instructions() noexcept;
// Only where they are there.
Sha256 sha256_with_instructions(std::span<const uint8_t> bytes) noexcept;

}  // namespace etb::format
#endif
