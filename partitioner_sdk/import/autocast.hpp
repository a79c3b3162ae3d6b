// SPDX-License-Identifier: Apache-2.0
// torch.autocast: ops inside its block compute in a lower precision. Archives only mark the block. The
// affected ops and their casts are PyTorch's (aten/src/ATen/autocast_mode.h, the lists for CPU).
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

// Casts the float operands of a node that is about to be added, if autocast lists its op. Returns false if
// autocast would run the op in float32, which is not implemented because no model needed it.
[[nodiscard]] bool apply_autocast(ir::Module& module, uint32_t graph, ir::Node& node, ir::Dtype dtype);

}  // namespace etb::pt2
