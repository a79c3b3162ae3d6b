// SPDX-License-Identifier: Apache-2.0
// Batch norm behind a convolution with a constant weight: scale and shift go into weight and bias. fold_constants computes them.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

[[nodiscard]] Result<bool> fold_batch_norm(ir::Module& module);

}  // namespace etb::passes
