// SPDX-License-Identifier: Apache-2.0
// Complex tensors become pairs of real ones. Only inputs and outputs of the user, Fourier transforms and factorisations of matrices
// stay complex.
#include <algorithm>

#include "partitioner_sdk/passes/complex_builder.hpp"
#include "partitioner_sdk/passes/passes.hpp"

namespace etb::passes {

namespace {

// Ops whose complex results, or steps in between, do not show in their arguments.
bool makes_complex(std::string_view base) {
  constexpr std::string_view kNames[] = {"_fft_r2c",       "complex", "istft", "linalg_eig",
                                         "linalg_eigvals", "polar",   "stft",  "view_as_complex"};
  if (base.ends_with("shift") || base.ends_with("freq")) return false;
  return base.starts_with("fft_") || std::binary_search(std::begin(kNames), std::end(kNames), base);
}

// Ops that convert their operand to the argument dtype before anything else.
bool converts_first(std::string_view base) {
  constexpr std::string_view kNames[] = {"cumprod", "cumsum",  "log_softmax",         "mean",
                                         "prod",    "softmax", "special_log_softmax", "special_softmax",
                                         "sum"};
  return std::binary_search(std::begin(kNames), std::end(kNames), base);
}

const ComplexRule* find_rule(std::string_view base) {
  const std::string name = "aten." + std::string(base);
  for (const auto rules :
       {complex_arithmetic_rules(), complex_function_rules(), complex_linalg_rules(), complex_log_sum_rules(),
        complex_product_rules(), complex_random_rules(), complex_structure_rules()}) {
    const auto found =
        std::lower_bound(rules.begin(), rules.end(), name,
                         [](const ComplexRule& row, const std::string& wanted) { return row.op < wanted; });
    if (found != rules.end() && found->op == name) return &*found;
  }
  return nullptr;
}

class ComplexLowering final : public ComplexBuilder {
 public:
  ComplexLowering(ir::Module& module, ir::Graph& graph, bool is_method)
      : ComplexBuilder(module, graph), is_method_(is_method) {}

  Result<bool> run() {
    const bool has_complex_inputs = rewrite_inputs();
    bool is_changed = has_complex_inputs;
    for (ir::Node& node : take_old_nodes()) {
      set_origin(node);
      substitute(node);
      if (!touches_complex(node)) {
        keep(std::move(node));
        continue;
      }
      is_changed = true;
      if (is_assertion(module().op(node).name)) continue;
      lower(node);
      if (!has_failed()) continue;
      note(take_error());
      // Later nodes may read the results.
      for (const ValueId output : node.outputs)
        if (is_complex(output)) bind_whole(output);
    }
    rewrite_outputs();
    ETB_TRY(finish());
    if (!faults_.message.empty()) return tl::make_unexpected(faults_);
    return is_changed;
  }

 protected:
  bool expand(ir::OpId op, std::span<const Argument> args, Values& results) override {
    if (is_unchanged_) return false;
    const ops::Schema* schema = module().op(op).schema;
    if (schema == nullptr) return false;
    const bool is_complex = reads_complex(args) || makes_complex(schema->base_name());
    // Also a real op that only the exporter makes.
    if (!is_complex && infer::find_rule(schema) != nullptr) return false;
    const auto outer = std::exchange(declared_, {});
    results = expand_call(op, args, is_complex, {});
    declared_ = outer;
    // Callers read results without checking for an error.
    if (has_failed()) results.resize(std::max<size_t>(schema->result_count(), 1), graph().add_value({}));
    return !results.empty();
  }

 private:
  bool reads_complex(std::span<const Argument> args) const {
    return std::any_of(args.begin(), args.end(), [&](const Argument& argument) {
      bool found = ir::get_if<ir::Complex>(argument) != nullptr;
      const auto* dtype = ir::get_if<Dtype>(argument);
      found |= dtype != nullptr && ops::is_complex(*dtype);
      ir::for_each_value(argument, [&](ValueId id) { found |= is_complex(id); });
      return found;
    });
  }

  bool touches_complex(const ir::Node& node) const {
    const ops::Schema* schema = module().op(node).schema;
    return reads_complex(node.args) || (schema != nullptr && makes_complex(schema->base_name())) ||
           std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return is_complex(id); });
  }

  // Constants and state are stored as pairs. The user's inputs stay complex; those of subgraphs become pairs, as
  // the operands of the node that runs the subgraph.
  bool rewrite_inputs() {
    bool found = false;
    for (ir::Input& input : graph().inputs) {
      const ValueId old = input.value;
      if (!is_complex(old)) continue;
      found = true;
      if (is_method_ && input.kind == ir::InputKind::kUser) {
        bind_whole(old);
        continue;
      }
      input.value = add_pair_value(old);
      bind_pair(old, input.value);
    }
    return found;
  }

  // Adds a value for the pairs of `old`, under its name.
  ValueId add_pair_value(ValueId old) {
    ir::Value value = graph().values[old];
    value.spec.dtype = ops::real_part(value.spec.dtype);
    for (Dim& stride : value.spec.strides) stride = symbols().mul(stride, 2);
    value.spec.sizes.emplace_back(2);
    value.spec.strides.emplace_back(1);
    return graph().add_value(std::move(value));
  }

  void rewrite_outputs() {
    for (ir::Output& output : graph().outputs) {
      const bool is_pair = !is_method_ || output.kind == ir::OutputKind::kBufferMutation;
      ir::for_each_value(output.value, [&](ValueId& id) {
        const ValueId now = current(id);
        if (!is_complex(now)) return;
        id = is_pair ? pair(now) : whole(now);
        if (graph().values[id].name.empty())
          graph().values[id].name = std::exchange(graph().values[now].name, {});
      });
    }
  }

  void lower(ir::Node& node) {
    const ops::Schema* schema = module().op(node).schema;
    if (schema == nullptr) return lower_control_flow(node);
    const bool returns_tensors = std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return graph().values[id].kind == ir::ValueKind::kTensor;
    });
    if (!returns_tensors) return keep_number(node);
    if (converts_first(schema->base_name()) && convert_operand(node)) return keep(std::move(node));
    std::vector<TensorSpec> declared;
    for (const ValueId output : node.outputs) declared.push_back(spec(output));
    declared_ = declared;
    const Values results = expand_call(node.op, node.args, true, declared);
    declared_ = {};
    if (has_failed()) return;
    if (results.size() < node.outputs.size()) {
      fail(Code::NOT_SUPPORTED, module().op(node).name + " of complex numbers has no decomposition");
      return;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) take_result(node, i, results[i]);
  }

  // Takes the real part for an op whose argument dtype is real; false if it computes with complex
  // numbers.
  bool convert_operand(ir::Node& node) {
    const auto* self = ir::get_if<ValueRef>(node.args[0]);
    const bool is_real = std::any_of(node.args.begin(), node.args.end(), [](const Argument& argument) {
      const auto* dtype = ir::get_if<Dtype>(argument);
      return dtype != nullptr && !ops::is_complex(*dtype) && !ops::is_bool(*dtype);
    });
    if (!is_real || self == nullptr) return false;
    node.args[0] = ValueRef{real(self->id)};
    return true;
  }

  // A size of a complex tensor is that of its parts. Its number cannot be read: symbols are real.
  void keep_number(ir::Node& node) {
    if (module().op(node).schema->base_name().substr(0, 4) != "sym_")
      return fail(Code::NOT_SUPPORTED, module().op(node).name + " reads a number from a complex tensor");
    for (Argument& argument : node.args) ir::for_each_value(argument, [&](ValueId& id) { id = real(id); });
    keep(std::move(node));
  }

  void take_result(const ir::Node& node, size_t index, ValueId made) {
    const ValueId old = node.outputs[index];
    const TensorSpec wanted = spec(old);
    if (is_complex(made) && ops::is_complex(wanted.dtype) && spec(made).dtype != wanted.dtype)
      made = make(parts(made), wanted.dtype);
    const TensorSpec found = spec(made);
    bool is_equal = found.dtype == wanted.dtype && found.rank() == wanted.rank();
    for (size_t i = 0; is_equal && i < found.rank(); ++i)
      is_equal =
          !found.sizes[i].is_static() || !wanted.sizes[i].is_static() || found.sizes[i] == wanted.sizes[i];
    if (!is_equal)
      fail(Code::INVALID_DATA, module().op(node).name + " of complex numbers became " + describe(found) +
                                   ", the exporter declares " + describe(wanted));
    replace(old, made);
  }

  std::string describe(const TensorSpec& spec) const {
    std::string text = std::string(ops::to_text(spec.dtype)) + "[";
    for (size_t i = 0; i < spec.rank(); ++i) text += (i > 0 ? ", " : "") + symbols().format(spec.sizes[i]);
    return text + "]";
  }

  void lower_control_flow(ir::Node& node) {
    for (Argument& argument : node.args)
      ir::for_each_value(argument, [&](ValueId& id) {
        if (is_complex(id)) id = pair(id);
      });
    for (ValueId& output : node.outputs) {
      if (!is_complex(output)) continue;
      const ValueId old = std::exchange(output, add_pair_value(output));
      bind_pair(old, output);
    }
    keep(std::move(node));
  }

  // A rule for complex operands, both parts, or the decomposition that the op has anyway, whose steps come here
  // again.
  Values expand_call(ir::OpId op, std::span<const Argument> args, bool is_complex,
                     std::span<const TensorSpec> declared) {
    infer::CallState state(module(), graph(), op, args);
    const Call call(state);
    const std::string_view base = module().op(op).schema->base_name();
    Values results;
    const ComplexRule* rule = is_complex ? find_rule(base) : nullptr;
    if (rule != nullptr) results = rule->expand(*this, call);
    if (results.empty() && state.error.empty() && is_complex && acts_on_parts(base))
      results = apply_to_parts(*this, call, declared);
    if (results.empty() && state.error.empty()) results = expand_known(*this, call);
    if (results.empty() && state.error.empty() && is_complex) state.fail("no kernel for complex numbers");
    if (!state.error.empty()) fail(Code::NOT_SUPPORTED, module().op(op).name + ": " + state.error);
    return results;
  }

  void note(Error error) {
    constexpr size_t kMaxFaults = 100;
    if (++fault_count_ > kMaxFaults) return;
    if (faults_.message.empty())
      faults_ = std::move(error);
    else
      faults_.message += "\n" + error.message;
  }

  bool is_method_;
  Error faults_;
  size_t fault_count_ = 0;
};

// The same bytes, seen as pairs of real numbers.
bool rewrite_constants(ir::Module& module) {
  bool found = false;
  for (ir::Constant& constant : module.constants) {
    if (!ops::is_complex(constant.dtype)) continue;
    found = true;
    constant.dtype = ops::real_part(constant.dtype);
    // The stride of a dimension without a second element may be any number.
    for (int64_t& stride : constant.strides) stride = std::min(stride, INT64_MAX / 2) * 2;
    constant.offset *= 2;
    constant.sizes.push_back(2);
    constant.strides.push_back(1);
  }
  return found;
}

}  // namespace

Result<bool> lower_complex(ir::Module& module) {
  bool is_changed = rewrite_constants(module);
  for (size_t i = 0; i < module.graphs.size(); ++i) {
    ETB_ASSIGN(const bool here, ComplexLowering(module, module.graphs[i], i == 0).run());
    is_changed |= here;
  }
  return is_changed;
}

}  // namespace etb::passes
