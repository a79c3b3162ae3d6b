// SPDX-License-Identifier: Apache-2.0
// Decomposes torchao's block-wise quantisation in nodes that no plugin claimed: choose_qparams_affine,
// quantize_affine and dequantize_affine become arithmetic of the edge dialect, which the portable kernels
// run.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

[[nodiscard]] Result<bool> lower_affine(ir::Module& module);

}  // namespace etb::passes
