// SPDX-License-Identifier: Apache-2.0
// Takes torchao's block-wise quantisation apart, for regions that no plugin took: choose_qparams_affine, quantize_affine and
// dequantize_affine become arithmetic on the edge dialect, which portable kernels run.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

[[nodiscard]] Result<bool> lower_affine(ir::Module& module);

}  // namespace etb::passes
