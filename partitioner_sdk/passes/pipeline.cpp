#include "partitioner_sdk/passes/pipeline.hpp"

#include "partitioner_sdk/ir/verify.hpp"
#include "partitioner_sdk/passes/dim_order_ops.hpp"
#include "partitioner_sdk/passes/fold_batch_norm.hpp"
#include "partitioner_sdk/passes/fold_constant_views.hpp"
#include "partitioner_sdk/passes/functionalize.hpp"
#include "partitioner_sdk/passes/lower_affine.hpp"
#include "partitioner_sdk/passes/merge_equal_nodes.hpp"
#include "partitioner_sdk/passes/remove_dead_code.hpp"
#include "partitioner_sdk/passes/row_major.hpp"
#include "partitioner_sdk/passes/scalars_to_tensors.hpp"
#include "partitioner_sdk/passes/views_to_copies.hpp"

namespace etb::passes {

namespace {

// Runs passes one after the other, each checked in debug builds and shown to the caller.
class Runner {
 public:
  Runner(ir::Module& module, const PipelineOptions& options) : module_(module), options_(options) {}

  Status run(std::string_view name, Result<bool> changed) {
    ETB_TRY(take(name, std::move(changed)));
    for (const OwnPass& own : options_.own_passes)
      if (own.after == name) ETB_TRY(take(own.name, own.run(module_)));
    return {};
  }

 private:
  Status take(std::string_view name, Result<bool> changed) {
    if (!changed) return tl::make_unexpected(with_context(std::move(changed).error(), name));
    // Strides and sizes that passes compute follow from the file's, which may be absurd.
    if (module_.symbols.is_beyond_limits())
      return make_error(Code::INVALID_DATA, std::string(name) + ": sizes or formulas beyond limits");
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

}  // namespace

Status to_edge(ir::Module& module, const PipelineOptions& options) {
  Runner runner(module, options);
  ETB_TRY(runner.run("functionalize", functionalize(module)));
  ETB_TRY(runner.run("remove_dead_code", remove_dead_code(module)));
  ETB_TRY(runner.run("decompose", decompose(module, options.decompose)));
  ETB_TRY(runner.run("views_to_copies", views_to_copies(module)));
  ETB_TRY(runner.run("scalars_to_tensors", scalars_to_tensors(module)));
  ETB_TRY(runner.run("dim_order_ops", use_dim_order_ops(module)));
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
  ETB_TRY(runner.run("lower_affine", lower_affine(module)));
  ETB_TRY(runner.run("row_major", make_row_major(module)));
  // Without somebody to compute the new weights they would be computed in each run.
  if (options.evaluate) ETB_TRY(runner.run("fold_batch_norm", fold_batch_norm(module)));
  ETB_TRY(runner.run("remove_dead_code", remove_dead_code(module)));
  if (options.evaluate) ETB_TRY(runner.run("fold_constants", fold_constants(module, options.evaluate)));
  ETB_TRY(runner.run("fold_constant_views", fold_constant_views(module)));
  ETB_TRY(runner.run("merge_equal_nodes", merge_equal_nodes(module)));
  ETB_TRY(runner.run("remove_dead_code", remove_dead_code(module)));
  return {};
}

}  // namespace etb::passes
