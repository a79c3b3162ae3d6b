// SPDX-License-Identifier: Apache-2.0
// The weights of a graph in a record: official readers then run the graph.
#pragma once

#include "partitioner_sdk/ir/module.hpp"
#include "partitioner_sdk/record/record.hpp"

namespace etb::record {

// Stores the parameters and buffers of the module's method as `state_dict`, and its constants as `constants`.
[[nodiscard]] Status add_weights(const ir::Module& module, SavedProgram& program);

}  // namespace etb::record
