// SPDX-License-Identifier: Apache-2.0
// Makes every tensor inside the graph row-major, as the portable kernels require. Inputs in another order are
// copied once at the border. Constants keep their strides: they are written row-major into the program
// (ir::Constant::dense_bytes).
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

[[nodiscard]] Result<bool> make_row_major(ir::Module& module);

}  // namespace etb::passes
