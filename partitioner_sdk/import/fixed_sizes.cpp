// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/fixed_sizes.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace etb::pt2 {

namespace {

struct Solution {
  uint32_t symbol;
  int64_t value;
};

// Solves factor * symbol + constant == value, which is the form of a size that the exporter derives.
std::optional<Solution> solve(const ir::SymbolTable& symbols, ir::Dim dim, int64_t value) {
  if (dim.is_static()) return std::nullopt;
  std::optional<uint32_t> symbol;
  int64_t factor = 0;
  for (const ir::SymbolTable::Term& term : symbols.terms(dim)) {
    if (term.atoms.empty()) {
      value -= term.factor;
      continue;
    }
    const bool is_linear =
        term.atoms.size() == 1 && symbols.atom(term.atoms[0]).kind == ir::SymbolTable::AtomKind::kSymbol;
    if (!is_linear || symbol) return std::nullopt;
    symbol = symbols.atom(term.atoms[0]).symbol;
    factor = term.factor;
  }
  if (!symbol || factor == 0 || value % factor != 0) return std::nullopt;
  return Solution{*symbol, value / factor};
}

class SizeFixer {
 public:
  explicit SizeFixer(ir::Module& module) : module_(module), symbols_(module.symbols) {}

  Status run(const std::vector<std::vector<int64_t>>& sizes) {
    ETB_TRY(solve_inputs(sizes));
    for (ir::Graph& graph : module_.graphs) ETB_TRY(fix(graph));
    ETB_TRY(check_inputs(sizes));
    auto& inputs = module_.main().inputs;
    inputs.erase(std::remove_if(inputs.begin(), inputs.end(),
                                [&](const ir::Input& input) {
                                  return module_.main().values[input.value].kind == ir::ValueKind::kInt;
                                }),
                 inputs.end());
    return {};
  }

 private:
  std::vector<const ir::Value*> user_inputs() const {
    std::vector<const ir::Value*> values;
    for (const ir::Input& input : module_.main().inputs)
      if (input.kind == ir::InputKind::kUser) values.push_back(&module_.main().values[input.value]);
    return values;
  }

  Status solve_inputs(const std::vector<std::vector<int64_t>>& sizes) {
    const std::vector<const ir::Value*> inputs = user_inputs();
    if (inputs.size() != sizes.size())
      return make_error(Code::INVALID_ARGUMENT, std::to_string(sizes.size()) + " inputs, the graph has " +
                                                    std::to_string(inputs.size()));
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ir::Dims dims =
          inputs[i]->kind == ir::ValueKind::kInt ? ir::Dims{inputs[i]->dim} : inputs[i]->spec.sizes;
      if (dims.size() != sizes[i].size())
        return make_error(Code::INVALID_ARGUMENT, "input '" + inputs[i]->name + "' of rank " +
                                                      std::to_string(sizes[i].size()) +
                                                      ", the graph expects " + std::to_string(dims.size()));
      for (size_t k = 0; k < dims.size(); ++k)
        if (const auto found = solve(symbols_, dims[k], sizes[i][k])) {
          symbols_.set_hint(found->symbol, found->value);
          solved_.insert(found->symbol);
        }
    }
    return {};
  }

  // After the replacement every size of an input must be the given one.
  Status check_inputs(const std::vector<std::vector<int64_t>>& sizes) const {
    const std::vector<const ir::Value*> inputs = user_inputs();
    for (size_t i = 0; i < inputs.size(); ++i)
      for (size_t k = 0; inputs[i]->kind == ir::ValueKind::kTensor && k < sizes[i].size(); ++k)
        if (!inputs[i]->spec.sizes[k].is(sizes[i][k]))
          return make_error(Code::INVALID_ARGUMENT, "size " + std::to_string(sizes[i][k]) + " of dimension " +
                                                        std::to_string(k) + " of input '" + inputs[i]->name +
                                                        "', the graph expects " +
                                                        symbols_.format(inputs[i]->spec.sizes[k]));
    return {};
  }

  Status fix(ir::Dim& dim) {
    if (dim.is_static()) return {};
    for (const uint32_t symbol : symbols_.symbols_in(dim))
      if (!solved_.contains(symbol))
        return make_error(Code::NOT_SUPPORTED, "size " + symbols_.symbol(symbol).name +
                                                   " does not follow from the sizes of inputs");
    const std::optional<int64_t> value = symbols_.hint(dim);
    if (!value) return make_error(Code::NOT_SUPPORTED, "size " + symbols_.format(dim) + " has no value");
    dim = *value;
    return {};
  }

  Status fix(ir::Dims& dims) {
    for (ir::Dim& dim : dims) ETB_TRY(fix(dim));
    return {};
  }

  Status fix(const ir::Graph& graph, ir::Argument& argument) {
    if (auto* const dim = std::get_if<ir::Dim>(&argument)) return fix(*dim);
    if (auto* const dims = std::get_if<ir::Dims>(&argument)) return fix(*dims);
    const auto* const ref = std::get_if<ir::ValueRef>(&argument);
    if (ref != nullptr && ref->id != ir::kNoValue && graph.values[ref->id].kind == ir::ValueKind::kInt)
      argument = graph.values[ref->id].dim;
    return {};
  }

  Status fix(ir::Graph& graph) {
    for (ir::Value& value : graph.values) {
      ETB_TRY(fix(value.spec.sizes));
      ETB_TRY(fix(value.spec.strides));
      if (value.kind == ir::ValueKind::kInt) ETB_TRY(fix(value.dim));
    }
    // Nodes that compute such numbers have no users any more.
    const auto is_number = [&](const ir::Node& node) {
      return !node.outputs.empty() &&
             std::all_of(node.outputs.begin(), node.outputs.end(),
                         [&](ir::ValueId id) { return graph.values[id].kind == ir::ValueKind::kInt; });
    };
    graph.nodes.erase(std::remove_if(graph.nodes.begin(), graph.nodes.end(), is_number), graph.nodes.end());
    for (ir::Node& node : graph.nodes)
      for (ir::Argument& argument : node.args) ETB_TRY(fix(graph, argument));
    for (ir::Output& output : graph.outputs) ETB_TRY(fix(graph, output.value));
    return {};
  }

  ir::Module& module_;
  ir::SymbolTable& symbols_;
  std::set<uint32_t> solved_;
};

}  // namespace

Status fix_sizes(ir::Module& module, const std::vector<std::vector<int64_t>>& sizes) {
  return SizeFixer(module).run(sizes);
}

}  // namespace etb::pt2
