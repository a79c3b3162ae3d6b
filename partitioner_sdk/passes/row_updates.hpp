// SPDX-License-Identifier: Apache-2.0
// Completes the rank of the rows that index_put writes.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

// index_put by one index of rank 1 whose values lack leading dimensions of size 1 -> the same with a view
// that adds them. torch.export removes them for cache[:, :, at] = new. The official runtime's kernel for
// in-place writes (emit/in_place.hpp) requires them.
[[nodiscard]] Result<bool> complete_row_updates(ir::Module& module);

}  // namespace etb::passes
