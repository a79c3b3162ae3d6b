// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/passes.hpp"

#include <algorithm>
#include <map>

#include "api/ops/argument_reader.hpp"
#include "ops/batch_norm.hpp"
#include "ops/instance_norm.hpp"
#include "ops/native_batch_norm.hpp"
#include "partitioner_sdk/passes/builder.hpp"
#include "partitioner_sdk/passes/running_statistics.hpp"
#include "partitioner_sdk/passes/view_inverses.hpp"

namespace etb::passes {

namespace {

using ir::kNone;

// Every view op and every in-place op has its tensor as the first argument.
constexpr size_t kSelf = 0;

// True if the first result of a node shares the storage of an argument. Ops such as reshape share it only
// sometimes: PyTorch marks them as views, and copies when strides require it.
bool shares_storage(ir::Module& module, const ir::Graph& graph, const ir::Node& node) {
  const ir::Op& op = module.op(node);
  if (op.schema == nullptr || !op.schema->is_view()) return false;
  const auto* self = node.args.empty() ? nullptr : ir::get_if<ValueRef>(node.args[kSelf]);
  if (self == nullptr || node.outputs.empty()) return false;
  const TensorSpec& in = graph.values[self->id].spec;
  const TensorSpec& out = graph.values[node.outputs[0]].spec;
  const std::string_view name = op.schema->base_name();
  if (name == "reshape" || name == "flatten" || name == "reshape_as" || name == "view_as") {
    return infer::try_view(module.symbols, in, out.sizes).has_value();
  }
  if (name == "contiguous") return in.strides == out.strides;
  if (name == "to" || name == "type_as") {
    const int copy = op.schema->find_argument("copy");
    const bool forces_copy = copy >= 0 && node.args[static_cast<size_t>(copy)] == Argument(true);
    return !forces_copy && in.dtype == out.dtype && in.strides == out.strides;
  }
  return true;
}

// Returns "dropout" for "dropout_" and "__or__" for "__ior__", "" for a name of another form.
std::string functional_name(std::string_view base) {
  if (base.starts_with("__i") && base.ends_with("__")) return "__" + std::string(base.substr(3));
  return base.ends_with('_') ? std::string(base.substr(0, base.size() - 1)) : std::string();
}

// Returns the op that computes the value written by an in-place op. PyTorch's registry does not relate a few
// pairs, such as dropout_ and dropout, normal_ and normal_functional.
const ops::Schema* find_functional(const ops::Schema& schema) {
  if (const ops::Schema* related = schema.functional_variant()) return related;
  const std::string base = functional_name(schema.base_name());
  if (base.empty()) return nullptr;
  for (const char* suffix : {"", "_functional"}) {
    const std::string name =
        std::string(schema.op_namespace()) + "." + base + suffix + "." + std::string(schema.overload_name());
    const ops::Schema* found = ops::find_schema(name);
    if (found != nullptr && found->argument_count() == schema.argument_count()) return found;
  }
  return nullptr;
}

// Count of arguments that receive results, which are the last ones.
uint32_t count_out_arguments(const ops::Schema& schema) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < schema.argument_count(); ++i) count += schema.argument(i).is_out;
  return count;
}

// Returns the op that computes what an out variant writes, such as add.Tensor for add.out; null if there is none.
const ops::Schema* find_functional_of_out(const ops::Schema& schema) {
  const std::string op = std::string(schema.op_namespace()) + "." + std::string(schema.base_name()) + ".";
  std::string overload(schema.overload_name());
  if (overload.ends_with("_out")) overload.resize(overload.size() - 4);
  for (const std::string& name : {overload, std::string("default"), std::string("Tensor")}) {
    const ops::Schema* found = ops::find_schema(op + name);
    if (found != nullptr && found->out_variant() == &schema &&
        found->argument_count() + count_out_arguments(schema) == schema.argument_count())
      return found;
  }
  return nullptr;
}

// An op that updates running statistics in training, though its signature does not say so.
struct TrainedNorm {
  std::string_view op;
  size_t mean, variance, training, momentum;  // indices of arguments
  NormGroups groups;
};

constexpr TrainedNorm batch_norm_row(std::string_view op, NormGroups groups) {
  using I = ops::batch_norm_default<ops::NoReader>::Index;
  return {op, I::running_mean, I::running_var, I::training, I::momentum, groups};
}
// The three ops have the same arguments up to `momentum`.
constexpr TrainedNorm kTrainedNorms[] = {
    batch_norm_row(ops::batch_norm_default<ops::NoReader>::kName, NormGroups::kChannels),
    batch_norm_row(ops::instance_norm_default<ops::NoReader>::kName, NormGroups::kChannelsOfImages),
    batch_norm_row(ops::native_batch_norm_default<ops::NoReader>::kName, NormGroups::kChannels),
};

// Returns the row of a node that updates its running statistics, else null. An empty input leaves them as they are.
const TrainedNorm* find_trained_norm(ir::Module& module, const ir::Graph& graph, const ir::Node& node) {
  const std::string& name = module.op(node).name;
  for (const TrainedNorm& row : kTrainedNorms) {
    if (row.op != name) continue;
    const bool has_statistics = ir::get_if<ValueRef>(node.args[row.mean]) != nullptr &&
                                ir::get_if<ValueRef>(node.args[row.variance]) != nullptr;
    const auto* input = ir::get_if<ValueRef>(node.args[kSelf]);
    const bool is_empty =
        input != nullptr && ir::numel(module.symbols, graph.values[input->id].spec.sizes).is(0);
    return has_statistics && !is_empty && node.args[row.training] == Argument(true) ? &row : nullptr;
  }
  return nullptr;
}

// One graph. Values of the old graph are views of a root (an input or the result of a computing node). A
// write creates new contents for the root and increments its generation. A view of an older generation is
// recomputed at its next use.
class Functionalizer {
 public:
  Functionalizer(ir::Module& module, ir::Graph& graph, bool is_method)
      : module_(module),
        graph_(graph),
        is_method_(is_method),
        b_(module, graph),
        states_(graph.values.size()) {}

  Status run() {
    std::vector<ir::Node> nodes = b_.take_old_nodes();
    for (const ir::Input& input : graph_.inputs) {
      define_root(input.value);
      input_roots_[input.value] = input.value;
    }
    for (ir::Node& node : nodes) {
      b_.set_origin(node);
      visit(node);
    }
    rewrite_outputs();
    ETB_TRY(b_.finish());
    if (faults_.empty()) return {};
    return make_error(Code::NOT_SUPPORTED, faults_);
  }

 private:
  struct State {
    ValueId root = ir::kNoValue;
    ValueId parent = ir::kNoValue;  // the viewed value, kNoValue for a root
    uint32_t view = kNone;          // index in views_ of the node that creates the view
    uint32_t generation = 0;        // generation of the root when `now` was computed
    ValueId now = ir::kNoValue;     // the value in the new graph
  };

  void define_root(ValueId id) { states_[id] = {id, ir::kNoValue, kNone, 0, id}; }

  void fault(const ir::Node& node, const std::string& why) {
    const std::string at = ir::format_source(module_, node.source);
    faults_ += (faults_.empty() ? "" : "\n") + module_.op(node).name + (at.empty() ? "" : " (" + at + ")") +
               ": " + why;
  }

  // Returns the present value of an old value; recomputes outdated views, starting at the oldest outdated
  // ancestor.
  ValueId resolve(ValueId id) {
    std::vector<ValueId> stale;
    const uint32_t generation = states_[states_[id].root].generation;
    for (ValueId at = id; states_[at].generation != generation; at = states_[at].parent) stale.push_back(at);
    while (!stale.empty()) {
      retake(stale.back(), generation);
      stale.pop_back();
    }
    return states_[id].now;
  }

  // Adds the view's node again, over its parent's present value.
  void retake(ValueId id, uint32_t generation) {
    State& state = states_[id];
    if (state.generation == generation) return;  // already recomputed with a sibling result of a split
    const ValueId parent = states_[state.parent].now;
    if (state.view == kNone) {  // the result of an in-place op: an alias of its operand
      state.now = parent;
      state.generation = generation;
      return;
    }
    ir::Node again = views_[state.view];
    again.args[kSelf] = ValueRef{parent};
    const std::vector<ValueId> old_outputs = again.outputs;
    for (ValueId& output : again.outputs) {
      ir::Value copy = graph_.values[output];
      output = graph_.add_value(std::move(copy));
    }
    for (size_t i = 0; i < old_outputs.size(); ++i) {
      states_[old_outputs[i]].now = again.outputs[i];
      states_[old_outputs[i]].generation = generation;
    }
    b_.keep(std::move(again));
  }

  void visit(ir::Node& node) {
    const ir::Op& op = module_.op(node);
    const bool writes = op.schema != nullptr && op.schema->is_in_place();
    const bool is_view = shares_storage(module_, graph_, node);
    const auto* self = node.args.empty() ? nullptr : ir::get_if<ValueRef>(node.args[kSelf]);
    const ValueId operand = self == nullptr ? ir::kNoValue : self->id;
    if (const TrainedNorm* norm = find_trained_norm(module_, graph_, node)) return train(node, *norm);
    const bool is_out_variant = op.schema != nullptr && count_out_arguments(*op.schema) > 0;
    const std::vector<ValueId> written =
        writes || is_out_variant ? written_tensors(*op.schema, node) : std::vector<ValueId>();
    for (Argument& argument : node.args) {
      ir::for_each_value(argument, [&](ValueId& id) { id = resolve(id); });
    }
    if (is_out_variant) return write_out(node, written);
    if (written.size() > 1) return write_several(node, written);
    if (writes) return write(node, operand);
    for (const ValueId output : node.outputs) define_root(output);
    if (is_view) {
      views_.push_back(node);
      const State& parent = states_[operand];
      for (const ValueId output : node.outputs) {
        states_[output] = {parent.root, operand, static_cast<uint32_t>(views_.size() - 1), parent.generation,
                           output};
      }
    }
    b_.keep(std::move(node));
  }

  // Stores new running statistics and leaves a norm that has none.
  void train(ir::Node& node, const TrainedNorm& norm) {
    const ValueId mean = ir::get_if<ValueRef>(node.args[norm.mean])->id;
    const ValueId variance = ir::get_if<ValueRef>(node.args[norm.variance])->id;
    for (Argument& argument : node.args) ir::for_each_value(argument, [&](ValueId& id) { id = resolve(id); });
    for (const ValueId output : node.outputs) define_root(output);
    const double* momentum = ir::get_if<double>(node.args[norm.momentum]);
    const auto* input = ir::get_if<ValueRef>(node.args[kSelf]);
    if (momentum == nullptr || input == nullptr || graph_.values[input->id].spec.rank() < 2)
      return fault(node, "its input has no channels, or its momentum is no float");
    const RunningStatistics old = {resolve(mean), resolve(variance)};
    const RunningStatistics now = updated_statistics(b_, input->id, norm.groups, *momentum, old);
    node.args[norm.mean] = node.args[norm.variance] = Nothing{};
    const ir::Node kept = node;
    b_.keep(std::move(node));
    if (b_.has_failed()) return;
    store(kept, mean, now.mean);
    store(kept, variance, now.variance);
  }

  static std::vector<ValueId> written_tensors(const ops::Schema& schema, const ir::Node& node) {
    std::vector<ValueId> written;
    for (uint32_t i = 0; i < node.args.size() && i < schema.argument_count(); ++i) {
      const auto* ref = ir::get_if<ValueRef>(node.args[i]);
      if (ref != nullptr && schema.argument(i).is_write) written.push_back(ref->id);
    }
    return written;
  }

  // Replaces an op by its functional form, aten.x.default by aten.x_functional.default: the last results are the new
  // contents of the tensors that the op writes.
  void write_several(ir::Node& node, const std::vector<ValueId>& written) {
    for (const ValueId output : node.outputs) define_root(output);
    const ops::Schema& schema = *module_.op(node).schema;
    const std::string name = std::string(schema.op_namespace()) + "." + std::string(schema.base_name()) +
                             "_functional." + std::string(schema.overload_name());
    const ops::Schema* functional = ops::find_schema(name);
    if (functional == nullptr || functional->argument_count() != schema.argument_count() ||
        functional->result_count() != node.outputs.size() + written.size())
      return fault(node, "writes several tensors, and has no functional variant");
    node.op = module_.op(name);
    const size_t first = node.outputs.size();
    for (const ValueId id : written) {
      ir::Value contents;
      contents.spec = graph_.values[id].spec;
      node.outputs.push_back(graph_.add_value(std::move(contents)));
    }
    const ir::Node kept = node;
    b_.keep(std::move(node));
    for (size_t i = 0; i < written.size(); ++i) store(kept, written[i], kept.outputs[first + i]);
  }

  // The result of an in-place op is an alias of its operand.
  void alias(ValueId output, ValueId operand) {
    states_[output] = {states_[operand].root, operand, kNone, states_[operand].generation,
                       states_[operand].now};
  }

  void write(ir::Node& node, ValueId operand) {
    const ir::Op& op = module_.op(node);
    const auto alias_results = [&] {
      for (const ValueId output : node.outputs) alias(output, operand);
    };
    if (operand == ir::kNoValue || node.outputs.size() > 1) {
      for (const ValueId output : node.outputs) define_root(output);
      return fault(node, "does not write exactly one tensor, which is not supported");
    }
    if (op.schema->base_name() == "detach_") return alias_results();
    const ops::Schema* functional = find_functional(*op.schema);
    if (functional == nullptr) {
      for (const ValueId output : node.outputs) define_root(output);
      return fault(node, "is an in-place op without a functional variant");
    }
    const std::string_view kind = functional->base_name();
    if (functional->is_view() || kind == "resize" || kind == "resize_as")
      return change_shape(node, operand, *functional);
    const TensorSpec spec = graph_.values[states_[operand].now].spec;
    node.op = module_.op(functional->name());
    ValueId made = graph_.add_value({{}, ir::ValueKind::kTensor, spec, {}});
    const std::vector<ValueId> outputs = std::exchange(node.outputs, {made});
    // The sum of an int8 tensor and an int64 one is int64, but the stored value stays int8.
    const auto results = infer::infer(module_, graph_, node.op, node.args);
    if (results && results->at(0).dtype != spec.dtype) graph_.values[made].spec.dtype = results->at(0).dtype;
    b_.keep(node);
    if (graph_.values[made].spec.dtype != spec.dtype) {
      made = b_.call("aten._to_copy.default", {ValueRef{made}}, {{"dtype", spec.dtype}});
    }
    node.outputs = outputs;
    store(node, operand, made);
    alias_results();
  }

  // Replaces an out variant, torch.maximum(a, b, out=c), by the op that computes the result, and stores that in c.
  void write_out(ir::Node& node, const std::vector<ValueId>& written) {
    const ops::Schema* functional = find_functional_of_out(*module_.op(node).schema);
    const std::vector<ValueId> outputs = node.outputs;
    for (const ValueId output : outputs) define_root(output);
    if (functional == nullptr || written.size() != outputs.size())
      return fault(node, "writes given tensors, and has no variant that returns new ones");
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (graph_.values[outputs[i]].spec.sizes == graph_.values[written[i]].spec.sizes) continue;
      return fault(node, "the given tensor has other sizes than the result, which is not supported");
    }
    node.op = module_.op(functional->name());
    node.args.resize(functional->argument_count());
    // A result of another type than the given tensor's is converted; an op without rules has that type.
    const auto results = infer::infer(module_, graph_, node.op, node.args);
    std::vector<ValueId> made;
    for (size_t i = 0; i < outputs.size(); ++i) {
      ir::Value value;
      value.spec = graph_.values[written[i]].spec;
      if (results) value.spec.dtype = results->at(i).dtype;
      made.push_back(graph_.add_value(std::move(value)));
    }
    node.outputs = made;
    const ir::Node kept = node;
    b_.keep(std::move(node));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Dtype wanted = graph_.values[written[i]].spec.dtype;
      if (graph_.values[made[i]].spec.dtype != wanted)
        made[i] = b_.call("aten._to_copy.default", {ValueRef{made[i]}}, {{"dtype", wanted}});
      store(kept, written[i], made[i]);
      alias(outputs[i], written[i]);
    }
  }

  // An op such as unsqueeze_ changes sizes and strides of its operand, and no contents. From here on the operand's
  // name means a view of what it was; older views of it stay. The caller's tensor keeps its sizes.
  void change_shape(ir::Node& node, ValueId operand, const ops::Schema& view) {
    node.op = module_.op(view.name());
    const auto results = infer::infer(module_, graph_, node.op, node.args);
    const ValueId before = graph_.add_value(graph_.values[operand]);
    states_.resize(graph_.values.size());
    for (State& state : states_) {
      if (state.root == operand) state.root = before;
      if (state.parent == operand) state.parent = before;
    }
    states_[before] = states_[operand];
    for (auto& [input, root] : input_roots_)
      if (root == operand) root = before;
    const ValueId output = node.outputs[0];
    if (results) graph_.values[output].spec = results->at(0);
    views_.push_back(node);
    states_[output] = {states_[before].root, before, static_cast<uint32_t>(views_.size() - 1),
                       states_[before].generation, output};
    states_[operand] = {states_[before].root, output, kNone, states_[before].generation, output};
    b_.keep(std::move(node));
  }

  // Stores `value` as the contents of `id` and of every value that `id` views.
  void store(const ir::Node& node, ValueId id, ValueId value) {
    const ValueId root = states_[id].root;
    const uint32_t generation = states_[root].generation + 1;
    ValueId at = id;
    for (;;) {
      const State& state = states_[at];
      if (state.parent == ir::kNoValue) break;
      ValueId whole = value;
      if (state.view != kNone) whole = scatter(node, views_[state.view], at, resolve(state.parent), value);
      states_[at].now = value;
      pending_.push_back(at);
      value = whole;
      at = states_[at].parent;
    }
    states_[at].now = value;
    pending_.push_back(at);
    for (const ValueId done : pending_) states_[done].generation = generation;
    pending_.clear();
    if (graph_.values[value].name.empty()) graph_.values[value].name = graph_.values[at].name;
  }

  // Returns the contents of a view's parent after `value` overwrote the view.
  ValueId scatter(const ir::Node& node, const ir::Node& view, ValueId written, ValueId parent,
                  ValueId value) {
    const ViewInverse* inverse = find_view_inverse(module_.op(view).name);
    infer::CallState state(module_, graph_, view.op, view.args);
    if (inverse == nullptr) {
      fault(node, "writes through a view created by " + module_.op(view).name + ", which is not supported");
      return parent;
    }
    const ValueId whole = inverse->scatter(b_, Call(state), {parent, value, written, view.outputs});
    if (!state.error.empty()) fault(node, "writes through a view: " + state.error);
    return whole;
  }

  void rewrite_outputs() {
    for (ir::Output& output : graph_.outputs) {
      ir::for_each_value(output.value, [&](ValueId& id) { id = resolve(id); });
    }
    std::vector<ir::Output> mutations;
    for (ir::Input& input : graph_.inputs) {
      const State& state = states_[input_roots_.at(input.value)];
      if (state.generation == 0) continue;
      if (!is_method_) {
        faults_ +=
            (faults_.empty() ? "" : "\n") +
            ("subgraph '" + graph_.name + "' writes to its input; only a method may write to its inputs");
        continue;
      }
      const bool is_user = input.kind == ir::InputKind::kUser;
      // An attribute that is not a registered buffer is imported as a constant; once written to, it is a
      // buffer.
      if (!is_user) input.kind = ir::InputKind::kBuffer;
      mutations.push_back({ValueRef{state.now},
                           is_user ? ir::OutputKind::kInputMutation : ir::OutputKind::kBufferMutation,
                           is_user ? graph_.values[input.value].name : input.target});
    }
    graph_.outputs.insert(graph_.outputs.begin(), mutations.begin(), mutations.end());
  }

  ir::Module& module_;
  ir::Graph& graph_;
  bool is_method_;
  PlainBuilder b_;
  std::vector<State> states_;
  std::vector<ir::Node> views_;
  std::vector<ValueId> pending_;
  // The value that holds an input's contents: the input, until an op changes its sizes in place.
  std::map<ValueId, ValueId> input_roots_;
  std::string faults_;
};

}  // namespace

Result<bool> functionalize(ir::Module& module) {
  bool is_changed = false;
  for (size_t i = 0; i < module.graphs.size(); ++i) {
    ir::Graph& graph = module.graphs[i];
    const bool writes = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const ir::Node& node) {
      const ops::Schema* schema = module.op(node).schema;
      return schema != nullptr && (schema->is_in_place() || count_out_arguments(*schema) > 0 ||
                                   find_trained_norm(module, graph, node) != nullptr);
    });
    if (!writes) continue;
    is_changed = true;
    ETB_TRY(Functionalizer(module, graph, i == 0).run());
  }
  return is_changed;
}

}  // namespace etb::passes
