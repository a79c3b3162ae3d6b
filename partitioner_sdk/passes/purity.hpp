// SPDX-License-Identifier: Apache-2.0
// Whether a node may be computed once for all, ahead of time, or not at all.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

// The results are tensors that depend on the arguments alone. Not so: control flow, writes, random numbers, empty memory,
// sizes that depend on data.
bool is_pure(const ir::Module& module, const ir::Graph& graph, const ir::Node& node);

}  // namespace etb::passes
