// SPDX-License-Identifier: Apache-2.0
// The file of one entry of a DiskCache: a header of 128 bytes, then the value. All numbers are little-endian.
//
//   0 "ETBCACHE"   8 version, 1   16 bytes of the value   24 name of the entry   56 SHA-256 of bytes 0 to 55 and the value
//   88 zeros
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "api/format/digest.hpp"

namespace etb::host {

inline constexpr size_t kCacheHeaderNbytes = 128;

std::array<std::byte, kCacheHeaderNbytes> make_cache_header(const format::Sha256& name,
                                                            std::span<const std::byte> value);

// Returns the value in the bytes of a file. Returns nothing if a byte is damaged or missing, or if the file has the value of
// another name.
std::optional<std::span<const std::byte>> read_cache_entry(const format::Sha256& name,
                                                           std::span<const std::byte> file);

}  // namespace etb::host
