// SPDX-License-Identifier: Apache-2.0
// Residuals: tensors that a product or convolution adds to its result, with the clamp after the sum. One dispatch computes all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "etb/cpp/result.hpp"
#include "plugins/gpu/graph/graph.hpp"
#include "plugins/gpu/plan/attention.hpp"
#include "plugins/gpu/plan/chains.hpp"

namespace etb::gpu {

inline constexpr uint32_t kNoResidual = UINT32_MAX;

struct Residual {
  std::vector<uint32_t> nodes;      // ascending; the last one computes the result
  uint32_t product = 0;             // node of the product or convolution
  uint32_t added = kNoValue;        // as many elements as the result
  uint32_t result = kNoValue;       // of the last node
  float sum_low = 0, sum_high = 0;  // limits of the sum
};

struct Residuals {
  std::vector<Residual> all;
  std::vector<uint32_t> of_node;  // by node: the index of its residual, or kNoResidual

  const Residual* find(uint32_t node) const {
    const bool has = node < of_node.size() && of_node[node] != kNoResidual;
    return has ? &all[of_node[node]] : nullptr;
  }
};

// Finds sums of a product that only they read, and that has as many bits for each number. The nodes of longer chains stay there: a chain of a sum and other functions is
// one dispatch as well without the sum. Takes chains of a sum and a clamp out of `chains`. `bounds`: upper bounds of the
// sizes of all values.
Residuals find_residuals(const GpuGraph& graph, std::span<const Shape> bounds, const Attentions& attentions,
                         Chains& chains);

// Checks that no operand broadcasts. For the bounds none does.
[[nodiscard]] Status check_sizes(const GpuGraph& graph, const Residual& residual,
                                 std::span<const Shape> shapes);

}  // namespace etb::gpu
