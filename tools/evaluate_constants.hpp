// Runs a part of a graph that takes nothing, on the portable kernels of this build: what the compiler folds constants with.
#pragma once

#include "partitioner_sdk/passes/fold_constants.hpp"

namespace etb::tools {

[[nodiscard]] Result<std::vector<ir::OwnedBytes>> evaluate_constants(ir::Module& module);

}  // namespace etb::tools
