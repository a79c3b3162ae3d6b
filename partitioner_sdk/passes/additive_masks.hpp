// SPDX-License-Identifier: Apache-2.0
// Attention's masks as what is added to the scores.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

// Of attention that nobody took apart, a mask of bools -> 0 where it is true, -inf elsewhere, as PyTorch does it itself; is_causal over a number of
// rows that changes from run to run -> such a mask, as no constant can be one. Plugins that take attention whole need to know one kind of
// mask, and layers that read one share what is made of it (merge_equal_nodes).
[[nodiscard]] Result<bool> make_masks_additive(ir::Module& module);

}  // namespace etb::passes
