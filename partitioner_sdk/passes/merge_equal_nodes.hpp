// SPDX-License-Identifier: Apache-2.0
// Common subexpressions: of nodes with the same op and arguments one stays. Device, layout and a dtype that is the result's anyway count as
// equal to none: exporters write them out, decompositions do not.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

[[nodiscard]] Result<bool> merge_equal_nodes(ir::Module& module);

}  // namespace etb::passes
