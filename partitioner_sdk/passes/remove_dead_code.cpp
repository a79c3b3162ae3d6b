// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/passes.hpp"

#include <algorithm>

namespace etb::passes {

namespace {

void mark_symbols(const ir::SymbolTable& symbols, ir::Dim dim, std::vector<bool>& is_needed) {
  if (dim.is_static()) return;
  for (const uint32_t symbol : symbols.symbols_in(dim)) is_needed[symbol] = true;
}

void mark_symbols(const ir::SymbolTable& symbols, const ir::Argument& argument,
                  std::vector<bool>& is_needed) {
  if (const ir::Dim* dim = ir::get_if<ir::Dim>(argument)) mark_symbols(symbols, *dim, is_needed);
  if (const ir::Dims* dims = ir::get_if<ir::Dims>(argument)) {
    for (const ir::Dim dim : *dims) mark_symbols(symbols, dim, is_needed);
  }
}

// A node whose result defines a symbol is alive while the symbol is used, though no argument names the
// result.
bool defines_needed_symbol(const ir::Module& module, const ir::Graph& graph, const ir::Node& node,
                           const std::vector<bool>& is_needed) {
  // Only numbers and sizes that the node itself defines: sizes that follow from an input's size do not need
  // the node.
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId id) {
    const ir::Value& value = graph.values[id];
    if (value.kind == ir::ValueKind::kInt) {
      const auto symbol = module.symbols.as_symbol(value.dim);
      return symbol && is_needed[*symbol] && module.symbols.symbol(*symbol).name[0] != 's';
    }
    return std::any_of(value.spec.sizes.begin(), value.spec.sizes.end(), [&](ir::Dim size) {
      const auto symbol = module.symbols.as_symbol(size);
      return symbol && is_needed[*symbol] && module.symbols.symbol(*symbol).name[0] == 'u' &&
             module.op(node).name == "aten.nonzero.default";
    });
  });
}

bool remove_nodes(ir::Module& module, ir::Graph& graph, std::vector<bool>& is_symbol_needed) {
  std::vector<bool> is_used(graph.values.size(), false);
  const auto use = [&](const ir::Argument& argument) {
    ir::for_each_value(argument, [&](ir::ValueId id) { is_used[id] = true; });
    mark_symbols(module.symbols, argument, is_symbol_needed);
  };
  for (const ir::Output& output : graph.outputs) use(output.value);
  std::vector<bool> is_alive(graph.nodes.size(), false);
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const ir::Node& node = graph.nodes[i];
    const bool has_effect = node.outputs.empty();
    is_alive[i] =
        has_effect || defines_needed_symbol(module, graph, node, is_symbol_needed) ||
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId id) { return is_used[id]; });
    if (!is_alive[i]) continue;
    for (const ir::Argument& argument : node.args) use(argument);
  }
  size_t kept = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!is_alive[i]) continue;
    if (kept != i) graph.nodes[kept] = std::move(graph.nodes[i]);
    ++kept;
  }
  const bool is_changed = kept != graph.nodes.size();
  graph.nodes.resize(kept);
  return is_changed;
}

bool remove_inputs(ir::Graph& graph) {
  std::vector<bool> is_used(graph.values.size(), false);
  const auto use = [&](const ir::Argument& argument) {
    ir::for_each_value(argument, [&](ir::ValueId id) { is_used[id] = true; });
  };
  for (const ir::Node& node : graph.nodes) {
    for (const ir::Argument& argument : node.args) use(argument);
  }
  for (const ir::Output& output : graph.outputs) use(output.value);
  const auto is_dead = [&](const ir::Input& input) {
    const bool is_state =
        std::any_of(graph.outputs.begin(), graph.outputs.end(), [&](const ir::Output& output) {
          return output.kind == ir::OutputKind::kBufferMutation && output.target == input.target;
        });
    return input.kind != ir::InputKind::kUser && input.kind != ir::InputKind::kToken &&
           !is_used[input.value] && !is_state;
  };
  const auto end = std::remove_if(graph.inputs.begin(), graph.inputs.end(), is_dead);
  const bool is_changed = end != graph.inputs.end();
  graph.inputs.erase(end, graph.inputs.end());
  return is_changed;
}

bool remove_constants(ir::Module& module) {
  std::vector<uint32_t> number(module.constants.size(), ir::kNone);
  for (const ir::Graph& graph : module.graphs) {
    for (const ir::Input& input : graph.inputs) {
      if (input.constant != ir::kNone) number[input.constant] = 0;
    }
  }
  std::vector<ir::Constant> kept;
  for (size_t i = 0; i < number.size(); ++i) {
    if (number[i] == ir::kNone) continue;
    number[i] = static_cast<uint32_t>(kept.size());
    kept.push_back(std::move(module.constants[i]));
  }
  for (ir::Graph& graph : module.graphs) {
    for (ir::Input& input : graph.inputs) {
      if (input.constant != ir::kNone) input.constant = number[input.constant];
    }
  }
  const bool is_changed = kept.size() != number.size();
  module.constants = std::move(kept);
  return is_changed;
}

}  // namespace

Result<bool> remove_dead_code(ir::Module& module) {
  bool is_changed = false;
  std::vector<bool> is_symbol_needed(module.symbols.symbol_count(), false);
  // Subgraphs follow the graphs that use them, and may need numbers that those compute.
  for (size_t i = module.graphs.size(); i-- > 0;)
    is_changed |= remove_nodes(module, module.graphs[i], is_symbol_needed);
  // Inputs of a subgraph are positional.
  if (!module.graphs.empty()) is_changed |= remove_inputs(module.main());
  is_changed |= remove_constants(module);
  return is_changed;
}

}  // namespace etb::passes
