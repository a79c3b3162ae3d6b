// SPDX-License-Identifier: Apache-2.0
// Sorting and medians in ops that every run time has a kernel for. The official one has none for aten.sort and aten.median.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

// sort -> topk of everything. PyTorch keeps the order of equal elements, topk need not: indices that somebody uses are sorted once
// more, by the group of equal elements and then by index. A sort of sizes that may be 0 stays.
[[nodiscard]] Result<bool> lower_sorts(ir::Module& module);

}  // namespace etb::passes
