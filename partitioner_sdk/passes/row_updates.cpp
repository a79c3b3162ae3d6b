// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/passes.hpp"

#include <algorithm>
#include <map>

#include "ops/index_put.hpp"
#include "partitioner_sdk/passes/builder.hpp"

namespace etb::passes {

namespace {

using Index = ops::index_put_default<infer::Call>::Index;

// Returns the sizes of the rows that one index of rank 1 selects.
std::optional<Dims> row_sizes(const Builder& b, const ir::Node& node) {
  const auto* self = ir::get_if<ValueRef>(node.args[Index::self]);
  const auto* indices = ir::get_if<ir::ValueList>(node.args[Index::indices]);
  if (self == nullptr || indices == nullptr) return std::nullopt;
  std::optional<Dims> sizes;
  for (size_t d = 0; d < indices->ids.size(); ++d) {
    if (indices->ids[d] == ir::kNoValue) continue;
    const TensorSpec index = b.spec(indices->ids[d]);
    if (sizes || index.rank() != 1 || ops::is_bool(index.dtype)) return std::nullopt;
    const TensorSpec target = b.spec(self->id);
    if (indices->ids.size() > target.rank()) return std::nullopt;
    sizes.emplace(target.sizes.begin(), target.sizes.end());
    (*sizes)[d] = index.sizes[0];
  }
  return sizes;
}

Result<bool> run(ir::Module& module, ir::Graph& graph) {
  const auto index_put = module.find_op("aten.index_put.default");
  if (!index_put) return false;
  const auto clone = module.find_op("aten.clone.default");
  std::map<ValueId, ValueId> originals;  // of copies
  PlainBuilder b(module, graph);
  bool is_changed = false;
  for (ir::Node& node : b.take_old_nodes()) {
    if (clone && node.op == *clone) {
      if (const auto* self = ir::get_if<ValueRef>(node.args[0])) originals.emplace(node.outputs[0], self->id);
    } else if (node.op == *index_put) {
      const auto* self = ir::get_if<ValueRef>(node.args[Index::self]);
      const auto original = self == nullptr ? originals.end() : originals.find(self->id);
      if (original != originals.end()) {
        node.args[Index::self] = ValueRef{original->second};
        is_changed = true;
      }
    }
    const std::optional<Dims> rows = node.op == *index_put ? row_sizes(b, node) : std::nullopt;
    const auto* values = rows ? ir::get_if<ValueRef>(node.args[Index::values]) : nullptr;
    if (values != nullptr) {
      const TensorSpec spec = b.spec(values->id);
      const size_t missing = rows->size() - std::min(rows->size(), spec.rank());
      const auto split = rows->begin() + static_cast<std::ptrdiff_t>(missing);
      if (missing != 0 && std::all_of(rows->begin(), split, [](Dim size) { return size == Dim(1); }) &&
          std::equal(split, rows->end(), spec.sizes.begin(), spec.sizes.end())) {
        b.set_origin(node);
        node.args[Index::values] = ValueRef{b.call("aten.view.default", {*values, *rows})};
        is_changed = true;
      }
    }
    b.keep(std::move(node));
  }
  ETB_TRY(b.finish());
  return is_changed;
}

}  // namespace

Result<bool> complete_row_updates(ir::Module& module) {
  return run_on_graphs(module, [&](ir::Graph& graph) { return run(module, graph); });
}

}  // namespace etb::passes
