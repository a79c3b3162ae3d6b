// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/decompose.hpp"

#include <algorithm>

#include "partitioner_sdk/passes/formula.hpp"

namespace etb::passes {

std::vector<std::span<const Decomposition>> decomposition_tables() {
  return {activation_decompositions(),
          activation_gradient_decompositions(),
          attention_gradient_decompositions(),
          axis_gradient_decompositions(),
          creation_decompositions(),
          data_size_decompositions(),
          distance_gradient_decompositions(),
          einsum_decompositions(),
          fourier_decompositions(),
          gradient_decompositions(),
          grid_gradient_decompositions(),
          histogram_decompositions(),
          index_gradient_decompositions(),
          indexing_decompositions(),
          linear_cross_entropy_decompositions(),
          linear_decompositions(),
          linear_system_decompositions(),
          list_decompositions(),
          loss_decompositions(),
          loss_gradient_decompositions(),
          norm_decompositions(),
          norm_gradient_decompositions(),
          order_decompositions(),
          patch_decompositions(),
          pool_decompositions(),
          product_decompositions(),
          random_decompositions(),
          recurrent_decompositions(),
          reduction_decompositions(),
          resampling_decompositions(),
          spectrum_decompositions(),
          view_decompositions(),
          window_decompositions()};
}

namespace {

// The decomposition of an op: a function, a formula, or none.
struct Recipe {
  const Decomposition* function = nullptr;
  std::string_view formula;
};

const Decomposition* find_function(std::string_view op) {
  static const auto kTables = decomposition_tables();
  for (const auto table : kTables) {
    const auto found =
        std::lower_bound(table.begin(), table.end(), op,
                         [](const Decomposition& row, std::string_view name) { return row.op < name; });
    if (found != table.end() && found->op == op) return &*found;
  }
  return nullptr;
}

// `is_new`: a decomposition added the call. Such a call is preserved only when its results can be inferred.
Recipe find_recipe(std::string_view op, const DecomposeOptions& options, bool is_new) {
  if (options.preserved.count(op) != 0 && (!is_new || infer::find_rule(op) != nullptr)) return {};
  if (const auto own = options.formulas.find(op); own != options.formulas.end())
    return {nullptr, own->second};
  if (const Decomposition* function = find_function(op)) return {function, {}};
  const auto table = formula_table();
  const auto found =
      std::lower_bound(table.begin(), table.end(), op,
                       [](const Formula& row, std::string_view name) { return row.op < name; });
  if (found != table.end() && found->op == op) return {nullptr, found->text};
  return {};
}

class Decomposer final : public Builder {
 public:
  Decomposer(ir::Module& module, ir::Graph& graph, const DecomposeOptions& options)
      : Builder(module, graph), options_(options) {}

  Result<bool> run() {
    bool is_changed = false;
    for (ir::Node& node : take_old_nodes()) {
      set_origin(node);
      substitute(node);
      if (is_assertion(module().op(node).name)) {
        is_changed = true;
        continue;
      }
      Values results;
      set_declared(node.outputs);
      const bool is_expanded = expand_with(lookup(node.op).exported, node.op, node.args, results);
      if (has_failed()) note(take_error());
      if (!is_expanded || !faults_.message.empty()) {
        keep(std::move(node));
        continue;
      }
      is_changed = true;
      ETB_TRY(take_results(node, results));
    }
    ETB_TRY(finish());
    if (!faults_.message.empty()) {
      for (const std::string& hint : hints_) faults_.message += hint;
      return tl::make_unexpected(faults_);
    }
    return is_changed || has_new_bounds();
  }

 protected:
  bool expand(ir::OpId op, std::span<const Argument> args, Values& results) override {
    const Values outer(declared().begin(), declared().end());
    set_declared({});
    const bool is_expanded = expand_with(lookup(op).made, op, args, results);
    set_declared(outer);
    return is_expanded;
  }

 private:
  struct Recipes {
    Recipe exported, made;  // for nodes of the exporter, and for nodes that decompositions add
  };

  // Collects errors into one, which has the code of the first. Hints are kept aside: each is printed once, at the end.
  void note(Error error) {
    constexpr size_t kMaxFaults = 100;
    if (++fault_count_ > kMaxFaults) return;
    const size_t hint = std::min(error.message.find("\nhint: "), error.message.size());
    hints_.insert(error.message.substr(hint));
    error.message.resize(hint);
    if (faults_.message.empty()) {
      faults_ = std::move(error);
    } else {
      faults_.message += "\n" + error.message;
    }
  }

  bool expand_with(const Recipe recipe, ir::OpId op, std::span<const Argument> args, Values& results) {
    if (recipe.function == nullptr && recipe.formula.empty()) return false;
    infer::CallState state(module(), graph(), op, args);
    const Call call(state);
    results = recipe.function != nullptr ? recipe.function->expand(*this, call)
                                         : expand_formula(*this, call, recipe.formula);
    if (!state.error.empty()) {
      fail(Code::NOT_SUPPORTED, module().op(op).name + ": " + state.error);
      return false;
    }
    return !results.empty();
  }

  // The table is searched once per op, not once per node.
  Recipes lookup(ir::OpId op) {
    if (op >= recipes_.size()) {
      const size_t first = recipes_.size();
      recipes_.resize(module().op_count());
      for (size_t i = first; i < recipes_.size(); ++i) {
        const std::string& name = module().op(static_cast<ir::OpId>(i)).name;
        recipes_[i] = {find_recipe(name, options_, false), find_recipe(name, options_, true)};
      }
    }
    return recipes_[op];
  }

  // The new results replace the old ones, so their specs must match the exporter's: a check of every
  // decomposition.
  Status take_results(const ir::Node& node, const Values& results) {
    const std::string& name = module().op(node).name;
    if (has_failed()) return {};
    if (results.size() < node.outputs.size())
      return make_error(Code::INTERNAL, name + ": decomposed to " + std::to_string(results.size()) +
                                            " results, expected " + std::to_string(node.outputs.size()));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ir::Value& old = graph().values[node.outputs[i]];
      if (old.kind == ir::ValueKind::kTensor) {
        const TensorSpec made = spec(results[i]);
        if (made.dtype != old.spec.dtype || made.sizes.size() != old.spec.sizes.size() ||
            !have_equal_sizes(made, old.spec)) {
          return make_error(Code::INVALID_DATA, name + " was decomposed to " + describe(made) +
                                                    ", the exporter declares " + describe(old.spec) + " (" +
                                                    ir::format_source(module(), node.source) + ")");
        }
      }
      replace(node.outputs[i], results[i]);
    }
    return {};
  }

  // Formulas may differ in form; known numbers may not.
  static bool have_equal_sizes(const TensorSpec& a, const TensorSpec& b) {
    for (size_t i = 0; i < a.rank(); ++i) {
      if (a.sizes[i].is_static() && b.sizes[i].is_static() && a.sizes[i] != b.sizes[i]) return false;
    }
    return true;
  }
  std::string describe(const TensorSpec& spec) const {
    std::string text = std::string(ops::to_text(spec.dtype)) + "[";
    for (size_t i = 0; i < spec.rank(); ++i) text += (i > 0 ? ", " : "") + symbols().format(spec.sizes[i]);
    return text + "]";
  }

  const DecomposeOptions& options_;
  std::vector<Recipes> recipes_;
  Error faults_;
  std::set<std::string> hints_;
  size_t fault_count_ = 0;
};

}  // namespace

bool is_assertion(std::string_view op) {
  return op.rfind("aten._assert_", 0) == 0 || op.rfind("aten.sym_constrain_", 0) == 0;
}

Values expand_known(Builder& b, const Call& call) {
  const Recipe recipe = find_recipe(call.op().name, {}, true);
  if (recipe.function != nullptr) return recipe.function->expand(b, call);
  return recipe.formula.empty() ? Values{} : expand_formula(b, call, recipe.formula);
}

Result<bool> decompose(ir::Module& module, const DecomposeOptions& options) {
  return run_on_graphs(module, [&](ir::Graph& graph) { return Decomposer(module, graph, options).run(); });
}

}  // namespace etb::passes
