// SPDX-License-Identifier: Apache-2.0
// Constants as kernels read them: plain, transposed or in tiles. Payloads store them plain. They are packed once, at load.
#pragma once

#include <cstddef>
#include <vector>

#include "plugins/gpu/graph/graph.hpp"

namespace etb::gpu {

enum class Packing : uint8_t {
  kPlain,
  kTransposed,  // [N, K] becomes [K, N], rows padded to a multiple of 4 numbers
  kFilters,     // [G * C, I, H, W] becomes [G, C / 8, I * H * W, 8], padded with zeros
};

// How one value is packed. A constant that two nodes read in different ways is two values.
struct PackedConstant {
  uint32_t value = kNoValue;
  Packing packing = Packing::kPlain;
  uint32_t groups = 1;
};

// Gives each node that needs a packing a value of its own in the graph, and returns the constants that nodes read.
std::vector<PackedConstant> plan_packing(GpuGraph& graph);

// Number of elements after packing.
uint64_t packed_numel(const PackedConstant& constant, const Shape& shape);
// Writes packed_numel() floats. `from` may have any alignment.
void pack(const PackedConstant& constant, const Shape& shape, const std::byte* from, float* to);

}  // namespace etb::gpu
