// SPDX-License-Identifier: Apache-2.0
// The passes in order: from an imported graph to the edge dialect.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "partitioner_sdk/passes/decompose.hpp"
#include "partitioner_sdk/passes/fold_constants.hpp"
#include "partitioner_sdk/passes/rules.hpp"

namespace etb::passes {

// A pass of the caller's. It runs whenever the built-in pass called `after` has run, and is verified as that one is.
struct CustomPass {
  std::string after;
  std::string name;
  std::function<Result<bool>(ir::Module& module)> run;  // true when something changed
};

struct PipelineOptions {
  DecomposeOptions decompose;
  // Computes what follows from constants; without it fold_constants is left out.
  Evaluate evaluate;
  // What `simplify` does with constants behind a dequantisation.
  QuantizedConstants quantized_constants = QuantizedConstants::kFold;
  std::vector<CustomPass> custom_passes;
  // Rewrite rules of the user and of plugins, applied in this order at the stages that they name.
  std::span<const RuleSet> rules = {};
  RuleFault on_rule_fault = {};  // without it a bad rule of a plugin is an error, as one of the user is
  // Called with the name of each pass and the module after it.
  std::function<void(std::string_view pass, ir::Module& module)> after_pass;
};

// To the edge dialect, as the official lowering has it.
[[nodiscard]] Status to_edge(ir::Module& module, const PipelineOptions& options = {});
// The same graph with fewer nodes: for plugins and portable kernels alike.
[[nodiscard]] Status simplify(ir::Module& module, const PipelineOptions& options = {});
// From there to what the portable kernels take.
[[nodiscard]] Status to_portable(ir::Module& module, const PipelineOptions& options = {});

}  // namespace etb::passes
