// SPDX-License-Identifier: Apache-2.0
// Chains: nodes of functions of single elements that one dispatch computes. Their inner results have no memory.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plugins/gpu/graph/graph.hpp"
#include "plugins/gpu/kernels/kernel.hpp"

namespace etb::gpu {

inline constexpr uint32_t kMaxChainSteps = 8, kMaxChainOperands = 5;
// Codes of chains of a plan: each is a pipeline of its own, which a load has to make.
inline constexpr uint32_t kMaxChainCodes = 16;
inline constexpr uint32_t kNoChain = UINT32_MAX;

// The steps of a chain as words of chain.comp. kRoundsBit: the result is rounded to float16, as it would be in memory. kInHalfStepBit: it
// is computed in float16. Bits 0 to 7 are the code of the function, and kBinaryCodes more for one of two operands. Chains that differ only in values and numbers have the same code.
inline constexpr uint32_t kBinaryCodes = 64;
inline constexpr uint32_t kRoundsBit = 1u << 16, kInHalfStepBit = 1u << 17;
struct ChainCode {
  std::array<uint32_t, kMaxChainSteps> steps = {};  // 0: no step

  // The function of chain.comp that a step calls; any, if there is no step.
  std::string function(uint32_t step) const {
    const uint32_t code = steps[step] & 255;
    if (code >= kBinaryCodes) return "binary_step_" + std::to_string(code - kBinaryCodes);
    return "unary_step_" + std::to_string(code == 0 ? 1 : code);
  }
  // Likewise in float16; any, if the step is computed in float32.
  std::string half_function(uint32_t step) const {
    return (steps[step] & kInHalfStepBit) != 0 ? "half_" + function(step) : "half_unary_step_1";
  }
  friend auto operator<=>(const ChainCode&, const ChainCode&) = default;
};

// A kernel; one for chains is made for one code, and one that reads or writes float16 for the buffers that have it.
struct KernelVariant {
  Kernel kernel = Kernel::kCopy;
  ChainCode chain = {};
  uint32_t halves = 0;  // HALVES of kernel.glsl
  friend auto operator<=>(const KernelVariant&, const KernelVariant&) = default;
};
// True if a kernel is needed as it is.
inline bool is_plain(const KernelVariant& variant) {
  return variant.chain == ChainCode() && variant.halves == 0;
}
constexpr bool is_chain(Kernel kernel) {
  return kernel == Kernel::kChain || kernel == Kernel::kChainBroadcast;
}

struct Chain {
  std::vector<uint32_t> nodes;  // ascending; the last one computes the result
  std::array<uint32_t, kMaxChainOperands> operands =
      {};  // values; those after operand_count repeat the first one
  uint32_t operand_count = 0;
  ChainCode code;
  std::array<float, 2 * kMaxChainSteps> numbers = {};  // two for each step
  bool broadcasts = false;                             // for the bounds; then for all sizes of a run
};

struct Chains {
  std::vector<Chain> chains;
  std::vector<uint32_t> of_node;  // by node: the index of its chain, or kNoChain

  const Chain* find(uint32_t node) const {
    const bool has = node < of_node.size() && of_node[node] != kNoChain;
    return has ? &chains[of_node[node]] : nullptr;
  }
};

// Finds chains of at least two nodes: a node joins its only reader, or readers that are all in one chain, if their results
// have the same number of elements. `bounds`: upper bounds of the sizes of all values. `attention_of`: the attention of
// each node, in which it joins no chain; empty without attention.
Chains find_chains(const GpuGraph& graph, std::span<const Shape> bounds,
                   std::span<const uint32_t> attention_of = {});

}  // namespace etb::gpu
