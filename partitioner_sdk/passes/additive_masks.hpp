// SPDX-License-Identifier: Apache-2.0
// Turns masks of attention into values that are added to the scores.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

// Rewrites attention that was not decomposed. A mask of bools becomes 0 where it is true and -inf elsewhere,
// as in PyTorch. is_causal over a number of rows that changes between runs becomes such a mask, because no
// constant can hold it. A plugin that claims whole attention then sees one kind of mask, and layers that read
// the same mask share its conversion (merge_equal_nodes).
[[nodiscard]] Result<bool> make_masks_additive(ir::Module& module);

}  // namespace etb::passes
