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

// An integer that is passed as a size is int64 without dimensions; tensors of integers are int32.
std::vector<InputSpec> input_specs_of(const GpuGraph& graph);

}  // namespace etb::gpu
