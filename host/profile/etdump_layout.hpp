// SPDX-License-Identifier: Apache-2.0
// Bytes of the tables of an ETDump (api/schema/etdump.fbs), as etdump_stream.cpp lays them out. The log adds them up
// while it records, so that a file is written front to back in one pass.
#pragma once

#include <cstdint>

#include "host/profile/profile_log.hpp"

namespace etb::host {

inline constexpr uint64_t kEventNbytes = 8;
inline constexpr uint64_t kSpanNbytes = 32, kInnerNbytes = 40, kAllocationNbytes = 16, kDebugNbytes = 32;
inline constexpr uint64_t kValueNbytes = 16, kTensorNbytes = 24, kListNbytes = 8;

// A vector of bytes: its length, and what keeps the next table on a boundary of 8 bytes.
constexpr uint64_t vector_nbytes(uint64_t count) noexcept { return (4 + count + 7) & ~uint64_t{7}; }
// A text ends with a zero byte; the next one begins on a boundary of 4 bytes.
constexpr uint64_t text_nbytes(uint64_t count) noexcept { return (4 + count + 1 + 3) & ~uint64_t{3}; }
// A tensor with its two vectors of 8-byte numbers, whose lengths begin in the middle of 8 bytes.
constexpr uint64_t tensor_nbytes(uint64_t rank) noexcept { return kTensorNbytes + 2 * (8 + 8 * rank); }
// The offsets of a list of tensors.
constexpr uint64_t offsets_nbytes(uint64_t count) noexcept { return vector_nbytes(4 * count); }

// A value without its tensors.
constexpr uint64_t value_nbytes(const LogValue& value) noexcept {
  constexpr uint8_t kInt = 1, kBool = 2, kFloat = 3, kDouble = 4, kTensorList = 6;
  const uint64_t output = value.is_output ? 8 : 0;
  const uint64_t field = value.kind == kInt || value.kind == kDouble   ? 16
                         : value.kind == kBool || value.kind == kFloat ? 8
                         : value.kind == kTensorList ? kListNbytes + offsets_nbytes(value.tensor_count)
                                                     : 0;
  return kValueNbytes + output + field;
}

}  // namespace etb::host
