// SPDX-License-Identifier: Apache-2.0
// The order of the passes: from an imported graph to the edge dialect.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitioner_sdk/passes/decompose.hpp"
#include "partitioner_sdk/passes/fold_constants.hpp"
#include "partitioner_sdk/passes/rules.hpp"

namespace etb::passes {

// A pass of the caller. It runs after each run of the built-in pass `after`, and is verified like that one.
struct CustomPass {
  std::string after;
  std::string name;
  std::function<Result<bool>(ir::Module& module)> run;  // true when something changed
};

struct PipelineOptions {
  DecomposeOptions decompose;
  // Evaluates constant expressions; without it fold_constants is skipped.
  Evaluate evaluate;
  // Rule of `simplify` for constants after a dequantisation.
  QuantizedConstants quantized_constants = QuantizedConstants::kFold;
  // Quantised layers in cortex_m's integer ops; needs constants that simplify() kept.
  bool uses_integer_kernels = false;
  std::vector<CustomPass> custom_passes;
  // Rewrite rules of the user and of plugins, applied in this order at the stages that they name.
  std::span<const RuleSet> rules = {};
  RuleFault on_rule_fault = {};  // without it a bad rule of a plugin is an error, like one of the user
  // Called with the name of each pass and the module after it.
  std::function<void(std::string_view pass, ir::Module& module)> after_pass;
};

// Returns the names of all passes, each once, in the order of their first runs.
std::span<const std::string_view> pass_names();

// Converts to the edge dialect, like the official lowering.
[[nodiscard]] Status to_edge(ir::Module& module, const PipelineOptions& options = {});
// Reduces the number of nodes, for plugins and portable kernels alike.
[[nodiscard]] Status simplify(ir::Module& module, const PipelineOptions& options = {});
// Converts the edge dialect to ops and layouts that the portable kernels accept.
[[nodiscard]] Status to_portable(ir::Module& module, const PipelineOptions& options = {});

}  // namespace etb::passes
