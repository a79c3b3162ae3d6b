// SPDX-License-Identifier: Apache-2.0
// Common subexpressions: keeps one of several nodes with the same op and arguments. A device, a layout and a
// dtype that the result has anyway count as equal to none: exporters write them, decompositions do not.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

[[nodiscard]] Result<bool> merge_equal_nodes(ir::Module& module);

}  // namespace etb::passes
