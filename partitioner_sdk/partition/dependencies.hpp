// SPDX-License-Identifier: Apache-2.0
// Dependencies between nodes of a graph: by tensors, and by the symbols in formulas.
#pragma once

#include <map>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::partition {

// Calls visit(from, to) for each pair of nodes where `to` needs `from`. Pairs may repeat.
template <class Visit>
void for_each_dependency(const ir::Module& module, const ir::Graph& graph, Visit visit) {
  constexpr uint32_t kInput = UINT32_MAX - 1;
  std::vector<uint32_t> definer(graph.values.size(), ir::kNone);
  std::map<uint32_t, uint32_t> symbol_definer;  // the first node that determines a symbol's value
  const auto define = [&](ir::ValueId id, uint32_t node) {
    definer[id] = node;
    const ir::Value& value = graph.values[id];
    const auto note = [&](ir::Dim dim) {
      if (const auto symbol = module.symbols.as_symbol(dim)) symbol_definer.emplace(*symbol, node);
    };
    if (value.kind == ir::ValueKind::kInt) note(value.dim);
    for (const ir::Dim size : value.spec.sizes) note(size);
  };
  for (const ir::Input& input : graph.inputs) define(input.value, kInput);
  for (uint32_t to = 0; to < graph.nodes.size(); ++to) {
    const auto need = [&](uint32_t from) {
      if (from < kInput && from != to) visit(from, to);
    };
    const auto need_symbols = [&](ir::Dim dim) {
      if (dim.is_static()) return;
      for (const uint32_t symbol : module.symbols.symbols_in(dim))
        if (const auto found = symbol_definer.find(symbol); found != symbol_definer.end())
          need(found->second);
    };
    for (const ir::Argument& argument : graph.nodes[to].args) {
      ir::for_each_value(argument, [&](ir::ValueId id) { need(definer[id]); });
      if (const auto* dim = ir::get_if<ir::Dim>(argument)) need_symbols(*dim);
      if (const auto* dims = ir::get_if<ir::Dims>(argument)) {
        for (const ir::Dim dim : *dims) need_symbols(dim);
      }
    }
    for (const ir::ValueId id : graph.nodes[to].outputs) define(id, to);
  }
}

}  // namespace etb::partition
