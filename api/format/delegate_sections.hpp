// SPDX-License-Identifier: Apache-2.0
// The header of payloads that ExecuTorch's XNNPACK and Vulkan exporters write: where the graph and the bytes of the
// constants lie. Little-endian, 30 bytes or more:
//
//    0  4 bytes that readers ignore
//    4  magic: "XH00" or "VH00"
//    8  u16  size of the header
//   10  u32  offset of the graph, from the payload's begin
//   14  u32  size of the graph
//   18  u32  offset of the constants
//   22  u64  size of the constants
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "etb/cpp/result.hpp"

namespace etb::format {

inline constexpr size_t kDelegateHeaderNbytes = 30;

// Views of the payload.
struct DelegateSections {
  std::span<const std::byte> graph;
  std::span<const std::byte> constants;  // empty if the header states none
};

// True if a payload, or its first bytes, has a header with this magic.
inline bool has_delegate_header(std::span<const std::byte> prefix, std::string_view magic) {
  return prefix.size() >= kDelegateHeaderNbytes &&
         std::memcmp(prefix.data() + 4, magic.data(), magic.size()) == 0;
}

// Returns the sections of a payload that has the header. INVALID_DATA names what lies outside of the payload.
inline Result<DelegateSections> read_delegate_sections(std::span<const std::byte> payload) {
  const auto read = [&]<class T>(T value, size_t offset) {
    std::memcpy(&value, payload.data() + offset,
                sizeof value);  // the format and our targets are little-endian
    return value;
  };
  const auto bad = [](std::string text) {
    return make_error(Code::INVALID_DATA, "payload header: " + std::move(text));
  };
  const auto outside = [&](const char* what, uint64_t offset, uint64_t nbytes) {
    return bad(std::string(what) + " at " + std::to_string(offset) + " of " + std::to_string(nbytes) +
               " bytes, payload has " + std::to_string(payload.size()));
  };
  const auto header_nbytes = read(uint16_t{}, 8);
  const uint64_t graph_offset = read(uint32_t{}, 10), graph_nbytes = read(uint32_t{}, 14),
                 constants_offset = read(uint32_t{}, 18), constants_nbytes = read(uint64_t{}, 22);
  if (header_nbytes < kDelegateHeaderNbytes)
    return bad("size " + std::to_string(header_nbytes) + ", expected " +
               std::to_string(kDelegateHeaderNbytes));
  if (graph_offset < header_nbytes || graph_offset + graph_nbytes > payload.size())
    return outside("graph", graph_offset, graph_nbytes);
  DelegateSections sections{payload.subspan(graph_offset, graph_nbytes), {}};
  if (constants_nbytes == 0) return sections;
  if (constants_offset < graph_offset + graph_nbytes ||
      constants_nbytes > payload.size() - std::min<uint64_t>(constants_offset, payload.size()))
    return outside("constants", constants_offset, constants_nbytes);
  sections.constants = payload.subspan(constants_offset, constants_nbytes);
  return sections;
}

}  // namespace etb::format
