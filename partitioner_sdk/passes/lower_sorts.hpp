// SPDX-License-Identifier: Apache-2.0
// Sorts and medians in ops that every runtime has a kernel for. The official runtime has none for aten.sort
// and aten.median.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

// sort -> topk of all elements. PyTorch keeps the order of equal elements; topk may not. Indices that are
// used are therefore sorted again, by the group of equal elements and then by index. A sort of sizes that may
// be 0 stays.
[[nodiscard]] Result<bool> lower_sorts(ir::Module& module);

}  // namespace etb::passes
