// SPDX-License-Identifier: Apache-2.0
// Runs a part of a graph without inputs on the portable kernels of this build. The compiler folds constants
// with it.
#pragma once

#include "partitioner_sdk/passes/fold_constants.hpp"

namespace etb::tools {

[[nodiscard]] Result<std::vector<ir::OwnedBytes>> evaluate_constants(ir::Module& module);

}  // namespace etb::tools
