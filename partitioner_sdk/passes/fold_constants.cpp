// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/fold_constants.hpp"

#include <algorithm>
#include <set>
#include <span>

#include "partitioner_sdk/passes/builder.hpp"
#include "partitioner_sdk/passes/passes.hpp"
#include "partitioner_sdk/passes/purity.hpp"

namespace etb::passes {

namespace {

uint64_t nbytes_of(const TensorSpec& spec) {
  uint64_t total = ops::element_nbytes(spec.dtype);
  for (const Dim size : spec.sizes) {
    if (!size.is_static()) return UINT64_MAX;
    total *= static_cast<uint64_t>(std::max<int64_t>(size.value(), 0));
    if (total > (uint64_t{1} << 40)) return UINT64_MAX;
  }
  return total;
}

bool has_symbols(const Argument& argument) {
  if (const Dim* dim = ir::get_if<Dim>(argument)) return !dim->is_static();
  if (const Dims* dims = ir::get_if<Dims>(argument)) {
    return std::any_of(dims->begin(), dims->end(), [](Dim dim) { return !dim.is_static(); });
  }
  return false;
}

bool is_quantization(std::string_view op) {
  return op.rfind("quantized_decomposed.", 0) == 0 || op.rfind("torchao.", 0) == 0;
}

class Folder {
 public:
  Folder(ir::Module& module, QuantizedConstants quantized)
      : module_(module), graph_(module.main()), quantized_(quantized) {}

  Result<bool> run(const Evaluate& evaluate) {
    find_constants();
    while (choose()) {
    }
    find_results();
    if (results_.empty()) return false;
    // Evaluates a few results at a time, so that no second copy of all weights exists.
    std::vector<ir::OwnedBytes> values;
    for (size_t first = 0; first < results_.size();) {
      size_t last = first;
      for (uint64_t nbytes = 0; last < results_.size() && nbytes < kBatchBytes; ++last) {
        nbytes += nbytes_of(graph_.values[results_[last]].spec);
      }
      const std::span<const ValueId> batch(results_.data() + first, last - first);
      ir::Module part = extract(batch);
      // Constants are written row-major, so nodes that compute with them must not name another order.
      ETB_TRY(make_row_major(part));
      auto made = evaluate(part);
      if (!made) return tl::make_unexpected(std::move(made).error());
      if (made->size() != batch.size())
        return make_error(Code::INTERNAL, "the evaluator returned " + std::to_string(made->size()) +
                                              " values, expected " + std::to_string(batch.size()));
      for (ir::OwnedBytes& value : *made) values.push_back(std::move(value));
      first = last;
    }
    put_in(std::move(values));
    return true;
  }

 private:
  // The constants that a value depends on; more than kMaxSources count as unknown.
  using Sources = std::set<ValueId>;
  static constexpr size_t kMaxSources = 16;
  static constexpr uint64_t kBatchBytes = uint64_t{8} << 20;

  void find_constants() {
    sources_.resize(graph_.values.size());
    is_constant_.assign(graph_.values.size(), false);
    std::set<std::string_view> written;
    for (const ir::Output& output : graph_.outputs) {
      if (output.kind == ir::OutputKind::kBufferMutation) written.insert(output.target);
    }
    for (const ir::Input& input : graph_.inputs) {
      if (input.constant == ir::kNone || written.count(input.target) != 0) continue;
      is_constant_[input.value] = true;
      sources_[input.value] = {input.value};
    }
    is_foldable_.assign(graph_.nodes.size(), false);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const ir::Node& node = graph_.nodes[i];
      const ir::Op& op = module_.op(node);
      bool is_foldable = is_pure(module_, graph_, node) && op.schema->out_variant() != nullptr;
      if (quantized_ == QuantizedConstants::kKeep) is_foldable = is_foldable && !is_quantization(op.name);
      Sources sources;
      for (const Argument& argument : node.args) {
        is_foldable = is_foldable && !has_symbols(argument);
        ir::for_each_value(argument, [&](ValueId id) {
          is_foldable = is_foldable && is_constant_[id];
          if (sources.size() <= kMaxSources) sources.insert(sources_[id].begin(), sources_[id].end());
        });
      }
      for (const ValueId id : node.outputs) {
        is_foldable = is_foldable && nbytes_of(graph_.values[id].spec) != UINT64_MAX;
      }
      is_foldable_[i] = is_foldable;
      for (const ValueId id : node.outputs) {
        is_constant_[id] = is_foldable;
        if (is_foldable) sources_[id] = sources;
      }
    }
  }

  // Visits nodes from last to first. A result needed at run time is folded if it is not too large; else its
  // node stays and needs its arguments. True when a further node stays: then another result may become too
  // large.
  bool choose() {
    is_needed_.assign(graph_.values.size(), false);
    const auto need = [&](const Argument& argument) {
      ir::for_each_value(argument, [&](ValueId id) { is_needed_[id] = true; });
    };
    for (const ir::Output& output : graph_.outputs) need(output.value);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (is_foldable_[i]) continue;
      for (const Argument& argument : graph_.nodes[i].args) need(argument);
    }
    bool is_changed = false;
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      const ir::Node& node = graph_.nodes[i];
      const bool is_asked =
          std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return is_needed_[id]; });
      if (!is_foldable_[i] || !is_asked || pays(node)) continue;
      is_foldable_[i] = false;
      is_changed = true;
      for (const Argument& argument : node.args) need(argument);
    }
    return is_changed;
  }

  void find_results() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!is_foldable_[i]) continue;
      for (const ValueId id : graph_.nodes[i].outputs) {
        if (is_needed_[id]) results_.push_back(id);
      }
    }
  }

  bool pays(const ir::Node& node) const {
    uint64_t made = 0, freed = 0;
    for (const ValueId id : node.outputs) made += is_needed_[id] ? nbytes_of(graph_.values[id].spec) : 0;
    // The same elements in another order: fold_constant_views changes the order without moving them.
    if (is_view_of_input(node)) return made <= kFoldSlackBytes;
    const Sources& sources = sources_[node.outputs[0]];
    if (sources.size() <= kMaxSources) {
      for (const ValueId id : sources) freed += is_needed_[id] ? 0 : nbytes_of(graph_.values[id].spec);
    }
    return made <= freed + kFoldSlackBytes;
  }

  bool is_view_of_input(const ir::Node& node) const {
    const auto* ref = node.args.empty() ? nullptr : ir::get_if<ValueRef>(node.args[0]);
    const std::string& name = module_.op(node).name;
    if (ref == nullptr || sources_[ref->id] != Sources{ref->id}) return false;
    return name == "aten.permute_copy.default" || name == "aten.view_copy.default";
  }

  // Returns the foldable nodes that these results need, as a method without inputs.
  ir::Module extract(std::span<const ValueId> wanted) const {
    ir::Module part;
    part.name = "forward";
    part.symbols = module_.symbols;
    part.graphs.emplace_back().name = "forward";
    ir::Graph& graph = part.main();
    graph.values = graph_.values;
    std::vector<bool> is_used(graph_.values.size(), false);
    for (const ValueId id : wanted) {
      is_used[id] = true;
      graph.outputs.push_back({ValueRef{id}, ir::OutputKind::kUser, {}});
    }
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      const ir::Node& node = graph_.nodes[i];
      const bool is_wanted = is_foldable_[i] && std::any_of(node.outputs.begin(), node.outputs.end(),
                                                            [&](ValueId id) { return is_used[id]; });
      if (!is_wanted) continue;
      for (const Argument& argument : node.args) {
        ir::for_each_value(argument, [&](ValueId id) { is_used[id] = true; });
      }
      ir::Node copy = node;
      copy.op = part.op(module_.op(node).name);
      copy.source = ir::kNone;
      graph.nodes.push_back(std::move(copy));
    }
    std::reverse(graph.nodes.begin(), graph.nodes.end());
    for (const ir::Input& input : graph_.inputs) {
      if (!is_used[input.value] || input.constant == ir::kNone) continue;
      ir::Input copy = input;
      copy.constant = static_cast<uint32_t>(part.constants.size());
      part.constants.push_back(module_.constants[input.constant]);
      graph.inputs.push_back(std::move(copy));
    }
    return part;
  }

  // Results become constant inputs; their nodes are removed.
  void put_in(std::vector<ir::OwnedBytes> values) {
    for (size_t i = 0; i < results_.size(); ++i) {
      ir::Value& value = graph_.values[results_[i]];
      std::vector<int64_t> sizes;
      for (const Dim size : value.spec.sizes) sizes.push_back(size.value());
      value.spec.strides = ir::contiguous_strides(module_.symbols, value.spec.sizes);
      ir::Input input;
      input.value = results_[i];
      input.kind = ir::InputKind::kConstant;
      input.target = "_folded_" + std::to_string(module_.constants.size()) +
                     (value.name.empty() ? "" : "_" + value.name);
      input.constant =
          module_.add_constant(input.target, value.spec.dtype, std::move(sizes), std::move(values[i]));
      graph_.inputs.push_back(std::move(input));
    }
    size_t kept = 0;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (is_foldable_[i]) continue;
      if (kept != i) graph_.nodes[kept] = std::move(graph_.nodes[i]);
      ++kept;
    }
    graph_.nodes.resize(kept);
  }

  ir::Module& module_;
  ir::Graph& graph_;
  QuantizedConstants quantized_;
  std::vector<Sources> sources_;
  std::vector<bool> is_constant_;  // by value
  std::vector<bool> is_foldable_;  // by node
  std::vector<bool> is_needed_;    // by value: at run time
  std::vector<ValueId> results_;
};

}  // namespace

Result<bool> fold_constants(ir::Module& module, const Evaluate& evaluate, QuantizedConstants quantized) {
  // Values that cannot be computed now are computed at run time; the graph stays valid.
  return Folder(module, quantized).run(evaluate).value_or(false);
}

}  // namespace etb::passes
