// Common subexpressions: of nodes with the same op and arguments one stays.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

[[nodiscard]] Result<bool> merge_equal_nodes(ir::Module& module);

}  // namespace etb::passes
