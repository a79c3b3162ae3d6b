// SPDX-License-Identifier: Apache-2.0
// Types and sizes of a graph's inputs, for hosts.
#pragma once

#include <array>
#include <vector>

#include "etb/tensor.h"
#include "plugins/gpu/graph/graph.hpp"

namespace etb::gpu {

// The spec refers to the sizes.
struct InputSpec {
  std::array<int64_t, kMaxRank> sizes = {};
  etb_tensor_spec spec = {};
};

// Official files do not tell int64 from int32. Tensors of integers are int64, as programs mostly have them; but those without
// dimensions are int32, because int64 without dimensions is an integer that is passed as a size.
std::vector<InputSpec> input_specs_of(const GpuGraph& graph);

}  // namespace etb::gpu
