// SPDX-License-Identifier: Apache-2.0
// Internal to the digest: adds blocks of 64 bytes to the words a to h, in portable code or
// with processor instructions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace etb::format {

extern const uint32_t kRoundConstants[64];

void add_blocks_without_instructions(uint32_t* words, const uint8_t* blocks, size_t count) noexcept;

#if defined(__x86_64__)
bool has_sha_instructions() noexcept;
// Call only if has_sha_instructions().
void add_blocks_with_instructions(uint32_t* words, const uint8_t* blocks, size_t count) noexcept;
#endif

}  // namespace etb::format
