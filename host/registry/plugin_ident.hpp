// SPDX-License-Identifier: Apache-2.0
// PluginIdent: a plugin's identity, checked field by field, from the note of its file or from its table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "etb/plugin.h"

namespace etb::host {

struct PluginIdent {
  uint32_t flags = 0;
  uint32_t abi_min = 0;
  uint32_t abi_max = 0;
  uint32_t profiles = 0;
  uint32_t sanitizers = 0;
  std::string id;
  std::string vendor;
  std::string version;
  std::string build_id;
  std::vector<uint8_t> bytes;  // unchanged, for the comparison byte for byte (ABI-LOAD-02)
};

// `bytes` may be longer than this host's struct. The result keeps the tail in `bytes` and ignores it.
[[nodiscard]] Result<PluginIdent> verify_plugin_ident(std::span<const uint8_t> bytes);

// "1.0"
std::string format_abi(uint32_t version);

// Names the sanitizers: "address, thread", or "none".
std::string format_sanitizers(uint32_t sanitizers);

}  // namespace etb::host
