// SPDX-License-Identifier: Apache-2.0
// Where a signature asks for a tensor and the program has a number, the number becomes a 0-d constant, an input of the graph.
// Then the operands of arithmetic get one dtype, by casts that run: what the official edge program has.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

[[nodiscard]] Result<bool> scalars_to_tensors(ir::Module& module);

}  // namespace etb::passes
