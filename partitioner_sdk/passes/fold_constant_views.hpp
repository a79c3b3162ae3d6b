// SPDX-License-Identifier: Apache-2.0
// Permutes, reshapes and squeezes of constants: the constant is described anew instead, its bytes stay where they are. A weight
// that something else also reads in its own order keeps its order: then the product is turned around instead.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

[[nodiscard]] Result<bool> fold_constant_views(ir::Module& module);

}  // namespace etb::passes
