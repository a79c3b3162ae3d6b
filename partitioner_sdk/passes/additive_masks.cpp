// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/passes.hpp"

#include "ops/scaled_dot_product_attention.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

using Attention = ops::scaled_dot_product_attention_default<Call>;

// Returns a mask of bools; none when the attention can stay unchanged.
std::optional<ValueId> find_mask(Builder& b, const Attention& attention) {
  if (const TensorSpec* mask = attention.attn_mask().find_tensor())
    return ops::is_bool(mask->dtype) ? std::optional(attention.attn_mask().id()) : std::nullopt;
  if (!attention.is_causal()) return std::nullopt;
  const TensorSpec query = attention.query().spec(), key = attention.key().spec();
  if (query.rank() < 2 || key.rank() < 2) return std::nullopt;
  const Dim rows = query.sizes[query.rank() - 2], columns = key.sizes[key.rank() - 2];
  if (rows.is_static() && columns.is_static()) return std::nullopt;
  return causal_mask(b, rows, columns);
}

Result<bool> run(ir::Module& module, ir::Graph& graph) {
  const auto attention = module.find_op("aten.scaled_dot_product_attention.default");
  if (!attention) return false;
  PlainBuilder b(module, graph);
  bool is_changed = false;
  for (ir::Node& node : b.take_old_nodes()) {
    if (node.op == attention) {
      b.set_origin(node);
      infer::CallState state(module, graph, node.op, node.args);
      const Attention call{Call(state)};
      if (const std::optional<ValueId> mask = find_mask(b, call)) {
        const Dtype dtype = call.query().spec().dtype;
        node.args[Attention::Index::attn_mask] = ValueRef{additive_mask(b, *mask, dtype)};
        node.args[Attention::Index::is_causal] = false;
        is_changed = true;
      }
    }
    b.keep(std::move(node));
  }
  ETB_TRY(b.finish());
  return is_changed;
}

}  // namespace

Result<bool> make_masks_additive(ir::Module& module) {
  return run_on_graphs(module, [&](ir::Graph& graph) { return run(module, graph); });
}

}  // namespace etb::passes
