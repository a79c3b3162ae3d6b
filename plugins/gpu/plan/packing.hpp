// SPDX-License-Identifier: Apache-2.0
// Constants as kernels read them: plain, transposed or in tiles. Payloads store them plain. They are packed once, at load.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plugins/gpu/graph/graph.hpp"
#include "plugins/gpu/kernels/kernel.hpp"

namespace etb::gpu {

enum class Packing : uint8_t {
  kPlain,
  kTransposed,  // [N, K] becomes [K, N], rows padded to a multiple of 4 numbers
  kFilters,     // [G * C, I, H, W] becomes [G, C / 8, I * H * W, 8], padded with zeros
  // Codes in words (codes.hpp):
  kTransposedCodes,  // [N, K] becomes [K, N], rows padded to a multiple of 4; of 4 bits: words of two rows
  kMatrixCodes,      // likewise from [K, N]
  kFilterCodes,      // as kFilters
  kPlainCodes,       // in the program's order
  kFactors,          // scales and zero points of packed codes
  // Numbers of float16, two in a word, rows padded to a multiple of 4 numbers:
  kTransposedHalves,  // [N, K] becomes [K, N]
  kMatrixHalves,      // [K, N]
};

// How one value is packed. A constant that two nodes read in different ways is two values.
struct PackedConstant {
  uint32_t value = kNoValue;
  Packing packing = Packing::kPlain;
  uint32_t groups = 1;
  uint32_t codes = 0;  // kFactors: index of the packing of the codes
};

// Gives each node that needs a packing a value of its own in the graph, and returns the constants that nodes read.
// `bounds`: largest sizes of the values that nodes compute.
std::vector<PackedConstant> plan_packing(GpuGraph& graph, KernelFamily family, std::span<const Shape> bounds);

// Number of elements after packing: floats, numbers of float16, or words.
uint64_t packed_numel(const PackedConstant& constant, const GpuValue& value);
// Writes packed_numel() floats; not of codes and halves. `from` may have any alignment.
void pack(const PackedConstant& constant, const Shape& shape, const std::byte* from, float* to);
// Likewise of a value of float16 that has elements of 16 bits.
void pack(const PackedConstant& constant, const Shape& shape, const std::byte* from, uint16_t* to);

// Likewise of halves: writes packed_numel() words.
void pack_halves(const PackedConstant& constant, const Shape& shape, const std::byte* from, uint32_t* to);

}  // namespace etb::gpu
