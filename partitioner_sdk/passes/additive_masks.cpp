// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/additive_masks.hpp"

#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

// Arguments of scaled_dot_product_attention.
constexpr size_t kQuery = 0, kKey = 1, kMask = 3, kIsCausal = 5;

// Bools for a mask, none when the attention can stay as it is.
std::optional<ValueId> find_mask(Builder& b, const ir::Node& node) {
  if (const auto* mask = ir::get_if<ValueRef>(node.args[kMask]))
    return ops::is_bool(b.spec(mask->id).dtype) ? std::optional(mask->id) : std::nullopt;
  const bool* is_causal = ir::get_if<bool>(node.args[kIsCausal]);
  if (is_causal == nullptr || !*is_causal) return std::nullopt;
  const TensorSpec query = b.spec(ir::get_if<ValueRef>(node.args[kQuery])->id),
                   key = b.spec(ir::get_if<ValueRef>(node.args[kKey])->id);
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
      if (const std::optional<ValueId> mask = find_mask(b, node)) {
        const Dtype dtype = b.spec(ir::get_if<ValueRef>(node.args[kQuery])->id).dtype;
        node.args[kMask] = ValueRef{additive_mask(b, *mask, dtype)};
        node.args[kIsCausal] = false;
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
