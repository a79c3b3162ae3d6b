// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/pipeline.hpp"

#include "partitioner_sdk/ir/verify.hpp"
#include "partitioner_sdk/passes/passes.hpp"

namespace etb::passes {

namespace {

// Runs passes in order. Debug builds verify the module after each one; the caller observes each one.
class Runner {
 public:
  Runner(ir::Module& module, const PipelineOptions& options) : module_(module), options_(options) {}

  Status run(std::string_view name, Result<bool> changed) {
    ETB_TRY(take(name, std::move(changed)));
    for (const CustomPass& own : options_.custom_passes)
      if (own.after == name) ETB_TRY(take(own.name, own.run(module_)));
    return {};
  }

 private:
  Status take(std::string_view name, Result<bool> changed) {
    if (!changed) return tl::make_unexpected(with_context(std::move(changed).error(), name));
    // Passes derive strides and sizes from those of the file, which may be absurd.
    if (module_.symbols.is_beyond_limits())
      return make_error(Code::INVALID_DATA,
                        std::string(name) + ": a size or its formula exceeds the limits of the compiler");
#ifndef NDEBUG
    if (Status verified = ir::verify(module_); !verified) {
      return tl::make_unexpected(with_context(std::move(verified).error(), "after " + std::string(name)));
    }
#endif
    if (options_.after_pass) options_.after_pass(name, module_);
    return {};
  }

  ir::Module& module_;
  const PipelineOptions& options_;
};

// The steps that the decompositions and the rules before and after them share.
Status lower_to_edge(Runner& runner, ir::Module& module, const PipelineOptions& options) {
  ETB_TRY(runner.run("decompose", decompose(module, options.decompose)));
  ETB_TRY(runner.run("equal_sizes", simplify_equal_sizes(module)));
  ETB_TRY(runner.run("additive_masks", make_masks_additive(module)));
  ETB_TRY(runner.run("row_updates", complete_row_updates(module)));
  ETB_TRY(runner.run("views_to_copies", views_to_copies(module)));
  ETB_TRY(runner.run("scalars_to_tensors", scalars_to_tensors(module)));
  return runner.run("dim_order_ops", use_dim_order_ops(module));
}

// True when a rule of the stage matched. The result is verified in every build: rules are data from outside.
Result<bool> run_rules(Runner& runner, ir::Module& module, const PipelineOptions& options, RuleStage stage) {
  if (options.rules.empty()) return false;
  auto changed = apply_rules(module, options.rules, stage, options.on_rule_fault);
  const bool is_changed = changed.value_or(false);
  ETB_TRY(runner.run("rules_" + std::string(to_text(stage)), std::move(changed)));
  if (is_changed)
    if (Status verified = ir::verify(module); !verified)
      return tl::make_unexpected(std::move(verified).error());
  return is_changed;
}

}  // namespace

std::span<const std::string_view> pass_names() {
  static constexpr std::string_view kNames[] = {
      "batch_vmaps",        "cache_updates",  "functionalize",   "factorization_checks",
      "remove_dead_code",   "lower_complex",  "rules_aten",      "decompose",
      "equal_sizes",        "additive_masks", "row_updates",     "views_to_copies",
      "scalars_to_tensors", "dim_order_ops",  "rules_edge",      "merge_equal_nodes",
      "fold_constants",     "rules_rest",     "lower_affine",    "lower_remainders",
      "lower_sorts",        "row_major",      "integer_kernels", "fold_batch_norm",
      "fold_constant_views"};
  return kNames;
}

Status to_edge(ir::Module& module, const PipelineOptions& options) {
  Runner runner(module, options);
  ETB_TRY(runner.run("batch_vmaps", batch_vmaps(module)));
  ETB_TRY(runner.run("cache_updates", expand_cache_updates(module)));
  ETB_TRY(runner.run("functionalize", functionalize(module)));
  ETB_TRY(runner.run("factorization_checks", absorb_factorization_checks(module)));
  ETB_TRY(runner.run("remove_dead_code", remove_dead_code(module)));
  ETB_TRY(runner.run("lower_complex", lower_complex(module)));
  ETB_TRY(run_rules(runner, module, options, RuleStage::kAten));
  ETB_TRY(lower_to_edge(runner, module, options));
  ETB_ASSIGN(const bool is_changed, run_rules(runner, module, options, RuleStage::kEdge));
  if (is_changed) ETB_TRY(lower_to_edge(runner, module, options));
  ETB_TRY(runner.run("remove_dead_code", remove_dead_code(module)));
  return {};
}

Status simplify(ir::Module& module, const PipelineOptions& options) {
  Runner runner(module, options);
  ETB_TRY(runner.run("merge_equal_nodes", merge_equal_nodes(module)));
  if (options.evaluate) {
    ETB_TRY(
        runner.run("fold_constants", fold_constants(module, options.evaluate, options.quantized_constants)));
  }
  ETB_TRY(runner.run("remove_dead_code", remove_dead_code(module)));
  return {};
}

Status to_portable(ir::Module& module, const PipelineOptions& options) {
  Runner runner(module, options);
  ETB_ASSIGN(const bool is_changed, run_rules(runner, module, options, RuleStage::kRest));
  if (is_changed) ETB_TRY(lower_to_edge(runner, module, options));
  ETB_TRY(runner.run("lower_affine", lower_affine(module)));
  ETB_TRY(runner.run("lower_remainders", lower_remainders(module)));
  ETB_TRY(runner.run("lower_sorts", lower_sorts(module)));
  ETB_TRY(runner.run("dim_order_ops", use_dim_order_ops(module)));
  ETB_TRY(runner.run("row_major", make_row_major(module)));
  if (options.uses_integer_kernels)
    ETB_TRY(runner.run("integer_kernels", use_integer_kernels(module)));
  // Without an evaluator the new weights would be computed in each run.
  if (options.evaluate) ETB_TRY(runner.run("fold_batch_norm", fold_batch_norm(module)));
  ETB_TRY(runner.run("remove_dead_code", remove_dead_code(module)));
  if (options.evaluate) ETB_TRY(runner.run("fold_constants", fold_constants(module, options.evaluate)));
  ETB_TRY(runner.run("fold_constant_views", fold_constant_views(module)));
  ETB_TRY(runner.run("merge_equal_nodes", merge_equal_nodes(module)));
  ETB_TRY(runner.run("remove_dead_code", remove_dead_code(module)));
  return {};
}

}  // namespace etb::passes
