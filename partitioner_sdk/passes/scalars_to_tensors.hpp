// SPDX-License-Identifier: Apache-2.0
// Replaces a number by a 0-d constant, an input of the graph, where the signature requires a tensor. Casts
// then give the operands of arithmetic one dtype, as in the official edge program.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

[[nodiscard]] Result<bool> scalars_to_tensors(ir::Module& module);

}  // namespace etb::passes
