// SPDX-License-Identifier: Apache-2.0
// Rows that index_put writes, in the rank of what they are written to.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

// index_put by one index of rank 1 whose values lack leading dimensions of size 1 -> the same with a view that has them. torch.export takes
// them away where a model says cache[:, :, at] = new; the kernel that writes in place (emit/in_place.hpp) asks for them in the official run time.
[[nodiscard]] Result<bool> complete_row_updates(ir::Module& module);

}  // namespace etb::passes
