// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/part.hpp"

#include <algorithm>
#include <set>

#include "partitioner_sdk/ir/text.hpp"

namespace etb::diff {
namespace {

// Copies everything but the inputs, nodes and outputs of the main graph. Indices stay the same.
ir::Module copy_tables(const ir::Module& whole) {
  ir::Module out;
  out.name = "forward";
  out.symbols = whole.symbols;
  out.custom_ops = whole.custom_ops;
  out.constants = whole.constants;
  out.files = whole.files;
  out.sources = whole.sources;
  for (ir::OpId id = 0; id < whole.op_count(); ++id) (void)out.op(whole.op(id).name);
  for (const ir::Graph& graph : whole.graphs) out.graphs.push_back(graph);
  ir::Graph& main = out.main();
  main.inputs.clear();
  main.nodes.clear();
  main.outputs.clear();
  return out;
}

bool is_tensor(const ir::Graph& graph, ir::ValueId id) {
  return graph.values[id].kind == ir::ValueKind::kTensor;
}

// Inputs by value, without those that the method changes.
class FixedInputs {
 public:
  explicit FixedInputs(const ir::Graph& graph) : inputs_(graph.values.size(), nullptr) {
    std::set<std::string_view> written;
    for (const ir::Output& output : graph.outputs)
      if (output.kind == ir::OutputKind::kBufferMutation) written.insert(output.target);
    for (const ir::Input& input : graph.inputs)
      if (input.constant != ir::kNone && written.count(input.target) == 0) inputs_[input.value] = &input;
  }
  const ir::Input* find(ir::ValueId id) const { return inputs_[id]; }

 private:
  std::vector<const ir::Input*> inputs_;
};

std::set<ir::ValueId> find_needed(const ir::Graph& graph, std::span<const uint32_t> nodes) {
  std::set<ir::ValueId> out;
  const auto need = [&](const ir::Argument& argument) {
    ir::for_each_value(argument, [&](ir::ValueId id) { out.insert(id); });
  };
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (std::binary_search(nodes.begin(), nodes.end(), i)) continue;
    for (const ir::Argument& argument : graph.nodes[i].args) need(argument);
  }
  for (const ir::Output& output : graph.outputs) need(output.value);
  return out;
}

// Values that the nodes read and do not compute.
std::vector<ir::ValueId> find_operands(const ir::Graph& graph, std::span<const uint32_t> nodes) {
  std::vector<ir::ValueId> out;
  std::set<ir::ValueId> known;
  for (const uint32_t index : nodes) {
    for (const ir::Argument& argument : graph.nodes[index].args)
      ir::for_each_value(argument, [&](ir::ValueId id) {
        if (known.insert(id).second) out.push_back(id);
      });
    known.insert(graph.nodes[index].outputs.begin(), graph.nodes[index].outputs.end());
  }
  return out;
}

void add_outputs(Part& part) {
  for (const ir::ValueId id : part.results)
    part.module.main().outputs.push_back({ir::ValueRef{id}, ir::OutputKind::kUser, {}});
}

}  // namespace

Part extract_part(const ir::Module& whole, std::span<const uint32_t> nodes, PartResults results) {
  const ir::Graph& graph = whole.main();
  const FixedInputs fixed(graph);
  Part out{copy_tables(whole), {}, {}};
  ir::Graph& main = out.module.main();
  std::vector<ir::Input> constants;
  for (const ir::ValueId id : find_operands(graph, nodes)) {
    if (const ir::Input* const input = fixed.find(id)) {
      constants.push_back(*input);
      continue;
    }
    out.operands.push_back(id);
    ir::Input input;
    input.value = id;
    main.inputs.push_back(std::move(input));
  }
  // Callers pass the operands by position, so they come first.
  main.inputs.insert(main.inputs.end(), constants.begin(), constants.end());
  const std::set<ir::ValueId> needed = find_needed(graph, nodes);
  for (const uint32_t index : nodes) {
    main.nodes.push_back(graph.nodes[index]);
    for (const ir::ValueId id : graph.nodes[index].outputs)
      if (is_tensor(graph, id) && (results == PartResults::kAll || needed.count(id) != 0))
        out.results.push_back(id);
  }
  add_outputs(out);
  return out;
}

Part extract_whole(const ir::Module& whole) {
  const ir::Graph& graph = whole.main();
  Part out{copy_tables(whole), {}, {}};
  ir::Graph& main = out.module.main();
  main.inputs = graph.inputs;
  main.nodes = graph.nodes;
  out.module.fixed_inputs = whole.fixed_inputs;
  for (const ir::Input& input : graph.inputs)
    if (input.kind == ir::InputKind::kUser) out.operands.push_back(input.value);
  for (const ir::Node& node : graph.nodes)
    for (const ir::ValueId id : node.outputs)
      if (is_tensor(graph, id)) out.results.push_back(id);
  add_outputs(out);
  return out;
}

ir::Module clone_module(const ir::Module& whole) {
  ir::Module out = copy_tables(whole);
  out.name = whole.name;
  out.main() = whole.main();
  out.fixed_inputs = whole.fixed_inputs;
  out.training = whole.training;
  return out;
}

namespace {

// Replaces each formula whose symbols are known.
class SizeFixer {
 public:
  SizeFixer(ir::Module& module, std::set<uint32_t> known) : module_(module), known_(std::move(known)) {}

  void run() {
    for (ir::Graph& graph : module_.graphs) {
      for (ir::Value& value : graph.values) {
        fix(value.spec.sizes);
        fix(value.spec.strides);
        fix(value.dim);
      }
      for (ir::Node& node : graph.nodes)
        for (ir::Argument& argument : node.args) {
          if (auto* dim = std::get_if<ir::Dim>(&argument)) fix(*dim);
          if (auto* dims = std::get_if<ir::Dims>(&argument)) fix(*dims);
        }
    }
  }

 private:
  void fix(ir::Dims& dims) const {
    for (ir::Dim& dim : dims) fix(dim);
  }
  void fix(ir::Dim& dim) const {
    if (dim.is_static()) return;
    for (const uint32_t symbol : module_.symbols.symbols_in(dim))
      if (known_.count(symbol) == 0) return;
    if (const auto value = module_.symbols.hint(dim)) dim = ir::Dim(*value);
  }

  ir::Module& module_;
  std::set<uint32_t> known_;
};

}  // namespace

void fix_sizes(ir::Module& module, const std::vector<std::vector<int64_t>>& sizes) {
  std::set<uint32_t> known;
  const ir::Graph& graph = module.main();
  for (ir::ValueId id = 0; id < graph.values.size() && id < sizes.size(); ++id) {
    const ir::Dims& dims = graph.values[id].spec.sizes;
    if (dims.size() != sizes[id].size()) continue;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].is_static()) continue;
      const auto binding = ir::find_binding(module.symbols, dims[i]);
      if (!binding || binding->factor == 0 || !known.insert(binding->symbol).second) continue;
      module.symbols.set_hint(binding->symbol, (sizes[id][i] - binding->offset) / binding->factor);
    }
  }
  SizeFixer(module, std::move(known)).run();
}

std::string find_obstacle(const ir::Module& whole, std::span<const uint32_t> nodes) {
  const ir::Graph& graph = whole.main();
  for (const ir::ValueId id : find_operands(graph, nodes))
    if (!is_tensor(graph, id)) return "reads a number that is known only at run time";
  const std::set<ir::ValueId> needed = find_needed(graph, nodes);
  for (const uint32_t index : nodes)
    for (const ir::ValueId id : graph.nodes[index].outputs)
      if (!is_tensor(graph, id) && needed.count(id) != 0) return "computes a number, not a tensor";
  return "";
}

}  // namespace etb::diff
