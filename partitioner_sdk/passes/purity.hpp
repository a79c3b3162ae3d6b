// SPDX-License-Identifier: Apache-2.0
// Decides whether a node may be computed once, ahead of time, or not at all.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

// True if the results are tensors that depend on the arguments alone. False for control flow, writes, random
// numbers, uninitialised memory, sizes that depend on data.
bool is_pure(const ir::Module& module, const ir::Graph& graph, const ir::Node& node);

}  // namespace etb::passes
