// SPDX-License-Identifier: Apache-2.0
// Reads a node's location in the user's Python from the metadata that the exporter kept.
#pragma once

#include "partitioner_sdk/import/json_document.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

// Returns the innermost frame of the stack trace outside PyTorch, and the innermost module of the module
// stack.
ir::Source read_source(Json metadata);

}  // namespace etb::pt2
