// Internal to digest.cpp: SHA-256 on processors with instructions for it.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
namespace etb::format {

bool has_sha_instructions() noexcept;
// Adds `count` blocks of 64 bytes to the words a to h. Only where they are there.
void add_sha_blocks(uint32_t* words, const uint8_t* blocks, size_t count) noexcept;

}  // namespace etb::format
#endif
