// SPDX-License-Identifier: Apache-2.0
// For tests and fuzz targets: the bytes of an official payload around its graph (api/format/delegate_sections.hpp).
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace etb::gpu {

// Returns a header, the graph, and the bytes of constants without a key.
inline std::vector<std::byte> with_official_header(std::span<const uint8_t> graph,
                                                   std::span<const std::byte> constants = {}) {
  constexpr uint32_t kHeaderNbytes = 32, kAlignment = 16;
  const auto end = static_cast<uint32_t>(kHeaderNbytes + graph.size());
  const uint32_t at_constants = constants.empty() ? end : (end + kAlignment - 1) / kAlignment * kAlignment;
  std::vector<std::byte> out(at_constants + constants.size());
  const auto put = [&](size_t at, auto number) { std::memcpy(out.data() + at, &number, sizeof(number)); };
  std::memcpy(out.data() + 4, "VH00", 4);
  put(8, uint16_t{30});
  put(10, kHeaderNbytes);
  put(14, static_cast<uint32_t>(graph.size()));
  put(18, at_constants);
  put(22, static_cast<uint64_t>(constants.size()));
  std::memcpy(out.data() + kHeaderNbytes, graph.data(), graph.size());
  if (!constants.empty()) std::memcpy(out.data() + at_constants, constants.data(), constants.size());
  return out;
}

}  // namespace etb::gpu
