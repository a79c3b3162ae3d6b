// SPDX-License-Identifier: Apache-2.0
// Computes remainders of integers with ops on which all runtimes agree.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

// a % b -> a - floor(a / b) * b for signed integers: the official runtime's kernel rounds towards zero
// (executorch 1.5.1), so that it computes -2 for -5 % 3.
[[nodiscard]] Result<bool> lower_remainders(ir::Module& module);

}  // namespace etb::passes
