// SPDX-License-Identifier: Apache-2.0
// Weights of codes: on the device they stay codes, several in a word, and kernels compute their numbers. Readers without such
// a kernel get floats, which are computed at load.
#pragma once

#include <cstddef>
#include <span>

#include "etb/cpp/result.hpp"
#include "plugins/gpu/plan/packing.hpp"

namespace etb::gpu {

// Returns the packing of the second input of a node as codes; kPlain if the node has no kernel for them.
Packing code_packing_of(const GpuGraph& graph, const GpuNode& node);

// Elements that each channel of packed codes is a multiple of.
constexpr uint32_t code_unit(Packing packing) { return packing == Packing::kFilterCodes ? 8 : 4; }
// Words that codes take on the device.
uint64_t code_word_count(const PackedConstant& constant, const GpuValue& value);
// Numbers that their scales and zero points take: for each group a row of scales and one of zero points.
uint64_t factor_count(const PackedConstant& constant, const GpuValue& value);

// A constant of codes, with the numbers of its values.
struct CodedConstant {
  const GpuValue& value;
  std::span<const float> scales, zero_points;  // no zero points: all are 0
  std::span<const std::byte> bytes = {};       // the codes, one each
};

// Fills `to` with numbers.
void decode(const CodedConstant& from, std::span<float> to);
// Fills `to`, code_word_count() words. Fails for a code that the bits of the constant do not have.
[[nodiscard]] Status pack_codes(const PackedConstant& constant, const CodedConstant& from,
                                std::span<uint32_t> to);
// Fills `to`, factor_count() numbers. `constant`: the packing of the codes.
void pack_factors(const PackedConstant& constant, const CodedConstant& from, std::span<float> to);

}  // namespace etb::gpu
