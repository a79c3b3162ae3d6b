// SPDX-License-Identifier: Apache-2.0
// Computes values that depend only on constants ahead of time, and replaces them by the results.
#pragma once

#include <functional>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

// Runs a method without inputs and returns the bytes of each output, row-major. The caller supplies it,
// because the compiler has no kernels.
using Evaluate = std::function<Result<std::vector<ir::OwnedBytes>>(ir::Module& module)>;

// Limit of a file's growth: a folded result may be this much larger than the constants that it makes
// unnecessary. A larger one is computed at run time.
inline constexpr uint64_t kFoldSlackBytes = uint64_t{16} * 1024;

enum class QuantizedConstants : uint8_t {
  kFold,
  kKeep  // kept for a plugin that computes with quantised values
};

// Folds the main graph. When `evaluate` fails, the graph stays unchanged.
[[nodiscard]] Result<bool> fold_constants(ir::Module& module, const Evaluate& evaluate,
                                          QuantizedConstants quantized = QuantizedConstants::kFold);

}  // namespace etb::passes
