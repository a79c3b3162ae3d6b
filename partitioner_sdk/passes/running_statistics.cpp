// SPDX-License-Identifier: Apache-2.0
// A batch norm in training writes its running statistics, which its signature does not say.
#include "ops/batch_norm.hpp"
#include "partitioner_sdk/passes/builder.hpp"
#include "partitioner_sdk/passes/passes.hpp"

namespace etb::passes {

namespace {

// Adds the functional batch norm, which returns the new statistics, and the writes of both.
void write_statistics(PlainBuilder& b, const ir::Node& node, const ops::batch_norm_default<infer::Call>& a) {
  const TensorSpec out = b.spec(node.outputs.at(0)), mean = a.running_mean().spec();
  const TensorSpec saved{out.dtype, mean.sizes, {}};
  const std::vector<ValueId> results = b.call_sized(
      "aten._native_batch_norm_legit_functional.default",
      {a.input(), a.weight(), a.bias(), a.running_mean(), a.running_var(), true, a.momentum(), a.eps()},
      {out, saved, saved, mean, a.running_var().spec()});
  b.call_sized("aten.copy_.default", {a.running_mean(), ValueRef{results[3]}}, {mean});
  b.call_sized("aten.copy_.default", {a.running_var(), ValueRef{results[4]}}, {a.running_var().spec()});
  b.replace(node.outputs.at(0), results[0]);
}

}  // namespace

Result<bool> write_running_statistics(ir::Module& module) {
  return run_on_graphs(module, [&](ir::Graph& graph) -> Result<bool> {
    PlainBuilder b(module, graph);
    bool is_changed = false;
    for (ir::Node& node : b.take_old_nodes()) {
      b.set_origin(node);
      b.substitute(node);
      if (module.op(node).name == "aten.batch_norm.default") {
        infer::CallState state(module, graph, node.op, node.args);
        const ops::batch_norm_default<infer::Call> a{infer::Call(state)};
        const bool has_statistics = a.running_mean().has_value() && a.running_var().has_value();
        const bool is_empty = ir::numel(module.symbols, a.input().spec().sizes).is(0);
        if (a.training() && has_statistics && !is_empty && state.error.empty()) {
          write_statistics(b, node, a);
          is_changed = true;
          continue;
        }
      }
      b.keep(std::move(node));
    }
    ETB_TRY(b.finish());
    return is_changed;
  });
}

}  // namespace etb::passes
