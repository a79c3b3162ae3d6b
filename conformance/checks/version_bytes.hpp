// SPDX-License-Identifier: Apache-2.0
// The bytes of a payload that may hold its format version: only the plugin knows the offset.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "conformance/checks/check.hpp"

namespace etb::conformance {

using VersionRange = std::pair<uint32_t, uint32_t>;  // both ends included

// The format versions that the manifest names for the delegate id that is tested. Nothing if it names none, or versions that
// one digit does not hold.
inline std::optional<VersionRange> payload_versions_of(const SubjectSpec& spec) {
  constexpr uint32_t kLargest = 8;  // the next one is a digit, too
  std::optional<VersionRange> out;
  if (spec.entry.manifest)
    for (const host::ProvidedId& provided : spec.entry.manifest->provides)
      if (provided.id == spec.backend_id) out = provided.payload_versions;
  return out && out->second <= kLargest ? out : std::nullopt;
}

// Returns the offsets of bytes that may hold the version, as number or digit.
inline std::vector<size_t> version_bytes(std::span<const std::byte> payload, VersionRange versions) {
  constexpr size_t kFront = 1024;
  std::vector<size_t> out;
  for (size_t at = 0; at < std::min(payload.size(), kFront); ++at) {
    const auto byte = static_cast<uint32_t>(payload[at]);
    const bool is_number = byte != 0 && byte >= versions.first && byte <= versions.second;
    const bool is_digit =
        byte >= '0' && byte <= '9' && byte - '0' >= versions.first && byte - '0' <= versions.second;
    if (is_number || is_digit) out.push_back(at);
  }
  return out;
}

// Returns what to subtract from such a byte: a version is a number or a digit.
inline uint32_t base_of(std::byte byte) { return byte >= std::byte{'0'} ? uint32_t{'0'} : 0; }

}  // namespace etb::conformance
