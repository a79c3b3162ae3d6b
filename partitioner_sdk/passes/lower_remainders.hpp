// SPDX-License-Identifier: Apache-2.0
// Remainders of integers by ops that every run time computes alike.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

// a % b -> a - floor(a / b) * b for signed integers: the official run time's kernel rounds towards zero (executorch 1.5.1), so that
// -5 % 3 is -2 there.
[[nodiscard]] Result<bool> lower_remainders(ir::Module& module);

}  // namespace etb::passes
