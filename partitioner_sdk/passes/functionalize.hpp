// SPDX-License-Identifier: Apache-2.0
// Replaces the in-place ops of a torch.export graph by their functional forms. Views of a written value are
// recomputed from the new value. New contents of buffers and inputs become outputs.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

// True when something changed. The error lists every write that cannot be expressed, with its source.
[[nodiscard]] Result<bool> functionalize(ir::Module& module);

}  // namespace etb::passes
