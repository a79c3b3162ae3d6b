// SPDX-License-Identifier: Apache-2.0
// Replaces every view by the op that copies, as the edge dialect requires: permute by permute_copy.
// Afterwards all tensors are dense, and strides are recomputed.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

[[nodiscard]] Result<bool> views_to_copies(ir::Module& module);

}  // namespace etb::passes
