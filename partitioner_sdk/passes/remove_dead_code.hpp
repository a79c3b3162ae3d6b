// SPDX-License-Identifier: Apache-2.0
// Removes nodes that no output needs, then unused parameters, buffers and constants, then constants without
// input. User inputs stay: callers pass them by position.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

[[nodiscard]] Result<bool> remove_dead_code(ir::Module& module);

}  // namespace etb::passes
