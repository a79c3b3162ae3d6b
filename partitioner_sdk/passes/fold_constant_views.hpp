// SPDX-License-Identifier: Apache-2.0
// Permutes, reshapes and squeezes constants: the constant gets new sizes and strides, its bytes do not move.
// A weight that another node reads in the stored order keeps its order; the product is transposed instead.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

[[nodiscard]] Result<bool> fold_constant_views(ir::Module& module);

}  // namespace etb::passes
