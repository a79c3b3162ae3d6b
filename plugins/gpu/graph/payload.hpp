// SPDX-License-Identifier: Apache-2.0
// Bytes of a payload: a header, then values, nodes and outputs in order. There are no offsets, so no part can overlap
// another.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "etb/cpp/result.hpp"
#include "plugins/gpu/graph/graph.hpp"

namespace etb::gpu {

inline constexpr uint32_t kPayloadMagic = 0x47425445;  // "ETBG"
// The newest version. Version 3 has no tables that begin at another row, version 2 neither codes nor float16, and version 1 neither
// bools nor steps.
inline constexpr uint32_t kPayloadVersion = 4;

// The oldest version that can hold the graph.
uint32_t payload_version(const GpuGraph& graph);
std::vector<std::byte> write_payload(const GpuGraph& graph);

// Reads any bytes. Returns a graph only if every rule holds: known operators with the right number of inputs, integers and
// floats; nodes read values that exist before them; each result has one node; outputs are results, each once; codes have
// scales in the right number. Sizes are checked where they are computed (graph/shapes.hpp).
[[nodiscard]] Result<GpuGraph> read_payload(std::span<const std::byte> bytes);

}  // namespace etb::gpu
