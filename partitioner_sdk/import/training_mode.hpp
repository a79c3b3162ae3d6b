// SPDX-License-Identifier: Apache-2.0
// Models that were exported in training mode although nothing is trained.
#pragma once

#include <string>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

// Returns one line that names the ops that behave as in training: dropout draws random numbers, batch norm
// normalises by the batch and changes its statistics. Empty if there are none, and for a module that computes
// gradients, where they are wanted.
[[nodiscard]] std::string describe_training_mode(const ir::Module& module);

}  // namespace etb::pt2
