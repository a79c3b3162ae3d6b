// torch.autocast: ops inside its block compute in a lower precision. Archives say only that a block is there; which ops it means
// and what it does to their operands is PyTorch's (aten/src/ATen/autocast_mode.h, the lists for CPU).
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

// Casts the float operands of a node that is about to be added to the graph, when it is one of those that autocast means. False when
// autocast would do something else with it that nobody needed so far: run it in float32.
[[nodiscard]] bool apply_autocast(ir::Module& module, uint32_t graph, ir::Node& node, ir::Dtype dtype);

}  // namespace etb::pt2
