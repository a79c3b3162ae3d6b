// SPDX-License-Identifier: Apache-2.0
// Finds nodes that may write the state that they update instead of a copy.
#pragma once

#include <set>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::emit {

// Returns index_put nodes with one index whose result is a buffer's final value, if all reads of the buffer
// come before them. So a key cache gets only its new rows written, instead of two copies. If a run fails
// after such a node, the buffer keeps the new rows, as in PyTorch.
std::set<const ir::Node*> find_in_place_updates(const ir::Module& module);

}  // namespace etb::emit
