// SPDX-License-Identifier: Apache-2.0
// Folds a batch norm after a convolution with a constant weight into weight and bias. fold_constants computes
// the new constants.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

[[nodiscard]] Result<bool> fold_batch_norm(ir::Module& module);

}  // namespace etb::passes
