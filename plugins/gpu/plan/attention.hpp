// SPDX-License-Identifier: Apache-2.0
// Attention: the nodes of softmax(scale * q * k + mask) * v, which one dispatch computes. The scores have no memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "etb/cpp/result.hpp"
#include "plugins/gpu/graph/graph.hpp"
#include "plugins/gpu/kernels/kernel.hpp"

namespace etb::gpu {

inline constexpr uint32_t kNoAttention = UINT32_MAX;

// How a mask changes scores. Kernels know the numbers.
enum class MaskKind : uint32_t {
  kNone = 0,
  kAdded = 1,
  kHidesSet = 2,    // scores where it is not 0 are another number
  kHidesUnset = 3,  // those where it is 0
};

struct Attention {
  std::vector<uint32_t> nodes;  // ascending; the last one computes the result
  uint32_t product = 0;         // node of q * k
  // Values with the elements of q [batch, rows, depth], k [batch, depth, keys], and v [batch, keys, columns].
  uint32_t q = kNoValue, k = kNoValue, v = kNoValue;
  // Expansions that repeat each matrix of k or v for several of q in a row. k and v then have fewer matrices.
  uint32_t repeated_k = kNoValue, repeated_v = kNoValue;
  MaskKind mask_kind = MaskKind::kNone;
  uint32_t mask = kNoValue;         // broadcasts to `masked`
  uint32_t masked = kNoValue;       // scores with the mask, [rows, keys] with up to two dimensions before
  float fill = 0;                   // in place of hidden scores
  uint32_t weights = kNoValue;      // result of the softmax
  uint32_t key_columns = kNoValue;  // transposition of k, which then is [batch, keys, depth]
  bool turns_k = false;             // the kernel reads key_columns: a dispatch before it copies k there
  bool zeroes_masked = false;       // a row of which all scores are -infinity has weights of 0, not NaN
  float q_scale = 1;                // factor of q before the product
  float scale = 1;                  // factor of the product

  // Values that are read; q in place of a mask that is not there.
  std::array<uint32_t, 4> operands() const { return {q, k, v, mask == kNoValue ? q : mask}; }
};

struct Attentions {
  std::vector<Attention> all;
  std::vector<uint32_t> of_node;  // by node: the index of its attention, or kNoAttention

  const Attention* find(uint32_t node) const {
    const bool has = node < of_node.size() && of_node[node] != kNoAttention;
    return has ? &all[of_node[node]] : nullptr;
  }
};

// Families with kernels that are used without being asked for.
constexpr bool attends_by_default(KernelFamily family) {
  return family == KernelFamily::kTiles || family == KernelFamily::kVectors;
}

// Finds attention that a kernel of the family computes. `bounds`: upper bounds of the sizes of all values.
Attentions find_attentions(const GpuGraph& graph, std::span<const Shape> bounds, KernelFamily family);

// The sizes of the matrices, and how many there are.
struct AttentionSizes {
  uint32_t batch = 0, rows = 0, keys = 0, depth = 0, columns = 0;
  uint32_t k_group = 1, v_group = 1;  // matrices of q in a row that share one of k, or of v
};
// Turns of all loops of an invocation, of the kernel that has most.
uint64_t attention_turns(const AttentionSizes& sizes);
AttentionSizes sizes_of(const GpuGraph& graph, const Attention& attention, std::span<const Shape> shapes);

// Checks that views keep rows and columns of the matrices. For the bounds they do. Sizes of a run that differ from them could
// make a view of other rows.
[[nodiscard]] Status check_sizes(const GpuGraph& graph, const Attention& attention,
                                 std::span<const Shape> shapes);

}  // namespace etb::gpu
