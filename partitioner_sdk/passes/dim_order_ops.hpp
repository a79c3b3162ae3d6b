// SPDX-License-Identifier: Apache-2.0
// Replaces the ops that take a memory format by those that take a dim order, as the edge dialect has them: clone, _to_copy and
// empty become dim_order_ops.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

[[nodiscard]] Result<bool> use_dim_order_ops(ir::Module& module);

}  // namespace etb::passes
