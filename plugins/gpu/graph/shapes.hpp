// SPDX-License-Identifier: Apache-2.0
// Sizes of results, by the rules of the operators. Called with a payload's upper bounds at load and with real sizes at run
// time. Every rule checks its node, which may come from any bytes.
#pragma once

#include <span>

#include "etb/cpp/result.hpp"
#include "plugins/gpu/graph/graph.hpp"

namespace etb::gpu {

// Computes the sizes of every result. `shapes` has one item a value; those of inputs and constants are set. Allocates
// nothing unless it fails.
[[nodiscard]] Status infer_shapes(const GpuGraph& graph, std::span<Shape> shapes);

// Sizes that several operators read.
uint32_t positive_dim(int32_t dim,
                      uint32_t rank);  // counts from the front; kMaxRank if there is no such dimension

// The part of a dimension that a slice selects, for these sizes of all values.
struct SlicePart {
  uint32_t start = 0, count = 0, step = 1;
};
SlicePart slice_part(const GpuNode& node, std::span<const Shape> shapes);

}  // namespace etb::gpu
