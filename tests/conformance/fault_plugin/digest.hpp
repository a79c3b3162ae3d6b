// SPDX-License-Identifier: Apache-2.0
// The digest at the end of a payload, for the plugins that have one.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "etb/ext/draft/resign.h"
#include "tests/conformance/fault_plugin/fault.hpp"

namespace faulty {

// The benign variant 6, faults behind a digest, and the library whose functions break.
inline bool has_digest() {
  return kVariant == 8 || kFault == 201 || kFault == 209 || kFault == 545 || kFault == 585 ||
         kFault == kBreakable;
}

inline uint64_t digest_of(std::span<const std::byte> bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3u;
  return hash;
}

etb_status ETB_CALL resign(etb_plugin* plugin, etb_bytes payload, const etb_blob_writer* writer,
                           etb_error* error);

}  // namespace faulty
