// SPDX-License-Identifier: Apache-2.0
// Computes ahead of time what follows from constants alone, and puts the results in their place.
#pragma once

#include <functional>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

// Runs a method without inputs; gives the bytes of each of its outputs, row-major. The caller brings it, because kernels are no
// part of the compiler.
using Evaluate = std::function<Result<std::vector<ir::OwnedBytes>>(ir::Module& module)>;

// A result is kept for run time when it would make the file grow: it may take as many bytes as the constants that are needed no
// more, and this much beyond.
inline constexpr uint64_t kFoldSlackBytes = uint64_t{16} * 1024;

enum class QuantizedConstants : uint8_t {
  kFold,
  kKeep  // as they are, for a plugin that computes with them
};

// Folds the main graph. Where `evaluate` fails, everything stays as it was.
[[nodiscard]] Result<bool> fold_constants(ir::Module& module, const Evaluate& evaluate,
                                          QuantizedConstants quantized = QuantizedConstants::kFold);

}  // namespace etb::passes
