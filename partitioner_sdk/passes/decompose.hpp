// ATen to Core ATen: takes apart every op that the core set lacks and that the caller does not want preserved.
#pragma once

#include <set>
#include <string>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

struct DecomposeOptions {
  std::set<std::string, std::less<>> preserved;  // ops that a backend takes whole: "aten.linear.default"
};

// True when something changed. The error lists every op that is neither core nor has a decomposition, with its source.
[[nodiscard]] Result<bool> decompose(ir::Module& module, const DecomposeOptions& options = {});

}  // namespace etb::passes
