// SPDX-License-Identifier: Apache-2.0
// Takes in-place ops out of a graph as torch.export writes it: each becomes its functional form, views of what it wrote are
// taken again from the new value, and new contents of buffers and inputs become outputs.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

// True when something changed. The error lists every write that cannot be expressed, with its source.
[[nodiscard]] Result<bool> functionalize(ir::Module& module);

}  // namespace etb::passes
