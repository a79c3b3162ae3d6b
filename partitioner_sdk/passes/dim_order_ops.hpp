// SPDX-License-Identifier: Apache-2.0
// Replaces ops with a memory format by ops with a dim order, as the edge dialect requires: clone, _to_copy
// and empty become dim_order_ops.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

[[nodiscard]] Result<bool> use_dim_order_ops(ir::Module& module);

}  // namespace etb::passes
