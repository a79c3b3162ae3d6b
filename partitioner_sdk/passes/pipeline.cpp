#include "partitioner_sdk/passes/pipeline.hpp"

#include "partitioner_sdk/ir/verify.hpp"
#include "partitioner_sdk/passes/dim_order_ops.hpp"
#include "partitioner_sdk/passes/functionalize.hpp"
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
    if (!changed) return tl::make_unexpected(with_context(std::move(changed).error(), name));
#ifndef NDEBUG
    if (Status verified = ir::verify(module_); !verified) {
      return tl::make_unexpected(with_context(std::move(verified).error(), "after " + std::string(name)));
    }
#endif
    if (options_.after_pass) options_.after_pass(name, module_);
    return {};
  }

 private:
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

Status to_portable(ir::Module& module, const PipelineOptions& options) {
  Runner runner(module, options);
  ETB_TRY(runner.run("row_major", make_row_major(module)));
  return {};
}

}  // namespace etb::passes
