#include "partitioner_sdk/passes/pipeline.hpp"

#include "partitioner_sdk/ir/verify.hpp"
#include "partitioner_sdk/passes/dim_order_ops.hpp"
#include "partitioner_sdk/passes/functionalize.hpp"
#include "partitioner_sdk/passes/remove_dead_code.hpp"
#include "partitioner_sdk/passes/scalars_to_tensors.hpp"
#include "partitioner_sdk/passes/views_to_copies.hpp"

namespace etb::passes {

Status to_edge(ir::Module& module, const PipelineOptions& options) {
  const auto run = [&](std::string_view name, Result<bool> changed) -> Status {
    if (!changed) return tl::make_unexpected(with_context(std::move(changed).error(), name));
#ifndef NDEBUG
    if (Status verified = ir::verify(module); !verified) {
      return tl::make_unexpected(with_context(std::move(verified).error(), "after " + std::string(name)));
    }
#endif
    if (options.after_pass) options.after_pass(name, module);
    return {};
  };
  ETB_TRY(run("functionalize", functionalize(module)));
  ETB_TRY(run("remove_dead_code", remove_dead_code(module)));
  ETB_TRY(run("decompose", decompose(module, options.decompose)));
  ETB_TRY(run("views_to_copies", views_to_copies(module)));
  ETB_TRY(run("scalars_to_tensors", scalars_to_tensors(module)));
  ETB_TRY(run("dim_order_ops", use_dim_order_ops(module)));
  ETB_TRY(run("remove_dead_code", remove_dead_code(module)));
  return {};
}

}  // namespace etb::passes
