// SPDX-License-Identifier: Apache-2.0
// ATen to Core ATen: decomposes every op that is not in the core set and that the caller does not preserve.
#pragma once

#include <map>
#include <set>
#include <string>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

struct DecomposeOptions {
  // Ops that a backend claims whole: "aten.linear.default".
  std::set<std::string, std::less<>> preserved = {};
  // Decompositions of the caller, in the notation of formula.hpp. They override those of this pass and may
  // decompose custom ops.
  std::map<std::string, std::string, std::less<>> formulas = {};
};

// True when something changed. The error lists every op that is neither core nor has a decomposition, with
// its source.
[[nodiscard]] Result<bool> decompose(ir::Module& module, const DecomposeOptions& options = {});

}  // namespace etb::passes
