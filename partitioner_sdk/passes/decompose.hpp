// SPDX-License-Identifier: Apache-2.0
// ATen to Core ATen: takes apart every op that the core set lacks and that the caller does not want preserved.
#pragma once

#include <map>
#include <set>
#include <string>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

struct DecomposeOptions {
  std::set<std::string, std::less<>> preserved = {};  // ops that a backend takes whole: "aten.linear.default"
  // How the caller takes ops apart, in the notation of formula.hpp; goes before what this pass knows. For ops of one's own too.
  std::map<std::string, std::string, std::less<>> formulas = {};
};

// True when something changed. The error lists every op that is neither core nor has a decomposition, with its source.
[[nodiscard]] Result<bool> decompose(ir::Module& module, const DecomposeOptions& options = {});

}  // namespace etb::passes
