// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/emit/method_emitter.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "partitioner_sdk/emit/branch_memory.hpp"

namespace etb::emit {

namespace {

constexpr uint32_t kArena = 1;
// Instruction kinds of the file.
constexpr uint8_t kKernelCall = 1, kDelegateCall = 2;

struct Name {
  std::string name;      // "aten::add"
  std::string overload;  // "out", "" for the default one
};
Name file_name(std::string_view op) {
  const size_t dot = op.find('.'), second = op.find('.', dot + 1);
  const std::string_view overload = op.substr(second + 1);
  return {std::string(op.substr(0, dot)) + "::" + std::string(op.substr(dot + 1, second - dot - 1)),
          overload == "default" ? std::string() : std::string(overload)};
}

// True if a kernel whose schema has this type accepts the argument. Lists were checked when the archive was read.
bool fits(const ir::Graph& graph, const ir::Argument& item, const ops::Type& type) {
  if (type.is_list || ir::get_if<ir::Nothing>(item) != nullptr) return true;
  const auto* ref = ir::get_if<ir::ValueRef>(item);
  const ir::ValueKind kind = ref == nullptr ? ir::ValueKind::kInt : graph.values[ref->id].kind;
  switch (type.base) {
    case ops::BaseType::kTensor:
      return ref != nullptr && kind == ir::ValueKind::kTensor;
    case ops::BaseType::kInt:
    case ops::BaseType::kBool:
      return ref == nullptr ? ir::get_if<double>(item) == nullptr
                            : kind == ir::ValueKind::kInt || kind == ir::ValueKind::kBool;
    case ops::BaseType::kFloat:
    case ops::BaseType::kScalar:
      return ref == nullptr || kind != ir::ValueKind::kTensor;
    default:
      return true;
  }
}
std::string described(const ir::Graph& graph, const ir::Argument& item) {
  const auto* ref = ir::get_if<ir::ValueRef>(item);
  if (ref == nullptr || graph.values[ref->id].kind == ir::ValueKind::kTensor)
    return std::string(ir::kind_name(item));
  return graph.values[ref->id].kind == ir::ValueKind::kFloat ? "float" : "bool";
}

// A value of its own, which no instruction reads. Texts become None, as in files of the official emitter.
format::ValueSpec fixed_value(const ir::Argument& value) {
  if (const auto* dim = ir::get_if<ir::Dim>(value); dim != nullptr && dim->is_static()) return dim->value();
  if (const auto* real = ir::get_if<double>(value)) return *real;
  if (const auto* flag = ir::get_if<bool>(value)) return *flag;
  return std::monostate{};
}

}  // namespace

void MethodEmitter::fault(const ir::Node& node, const std::string& why) {
  const std::string at = ir::format_source(module_, node.source);
  faults_ += (faults_.empty() ? "" : "\n") + module_.op(node).name + (at.empty() ? "" : " (" + at + ")") +
             ": " + why;
}

MethodEmitter::ValueIndex MethodEmitter::add_value(format::ValueSpec value) {
  method_.values.push_back(std::move(value));
  return static_cast<ValueIndex>(method_.values.size() - 1);
}

// Adds a planned tensor whose block lives from this instruction on.
MethodEmitter::ValueIndex MethodEmitter::add_tensor(const ir::TensorSpec& spec, const std::string& who) {
  format::TensorSpec out;
  out.dtype = static_cast<int8_t>(spec.dtype);
  uint64_t nbytes = ops::element_nbytes(spec.dtype);
  for (const ir::Dim size : spec.sizes) {
    const int64_t bound = module_.symbols.range(size).max;
    if (bound > std::numeric_limits<int32_t>::max()) {
      faults_ +=
          (faults_.empty() ? "" : "\n") + who + ": size " + module_.symbols.format(size) +
          (size.is_static() ? " is too large"
                            : " has no upper bound; give one with torch._check or torch.export.Dim when "
                              "exporting, or with --bound SYMBOL=SIZE");
      break;
    }
    if (!size.is_static()) out.dynamism = 1;
    out.sizes.push_back(static_cast<int32_t>(std::max<int64_t>(bound, 0)));
    nbytes = std::min(nbytes * static_cast<uint64_t>(out.sizes.back()), uint64_t{1} << 62);
  }
  if (const auto order = ir::find_dim_order(module_.symbols, spec)) out.dim_order = *order;
  out.memory_id = kArena;
  const ValueIndex index = add_value(std::move(out));
  if (!data_.memories.empty()) tensor_names_[index] = who;
  const auto step = static_cast<uint32_t>(method_.instructions.size());
  block_of_[index] = blocks_.size();
  blocks_.push_back({nbytes, step, step});
  block_values_.push_back(index);
  return index;
}

// Marks the value as needed by the next instruction.
void MethodEmitter::use(ValueIndex value) {
  if (const auto block = block_of_.find(value); block != block_of_.end()) {
    blocks_[block->second].last = static_cast<uint32_t>(method_.instructions.size());
  }
  if (const auto others = stands_for_.find(value); others != stands_for_.end()) {
    for (const ValueIndex other : others->second) use(other);
  }
}

void MethodEmitter::add_instruction(uint8_t kind, int32_t a, int32_t b, std::vector<ValueIndex> args) {
  method_.instructions.push_back({kind, a, b, std::move(args)});
  debug_handles_.push_back(debug_handle_);
}

void MethodEmitter::call(std::string_view name, std::string_view overload, std::vector<ValueIndex> args) {
  const auto [found, is_new] = operators_.emplace(std::pair{std::string(name), std::string(overload)},
                                                  static_cast<int32_t>(method_.operators.size()));
  if (is_new) method_.operators.push_back({std::string(name), std::string(overload)});
  for (const ValueIndex arg : args) use(arg);
  add_instruction(kKernelCall, found->second, 0, std::move(args));
}

Result<format::MethodSpec> MethodEmitter::run() {
  method_.name = module_.name;
  method_.input_tree = module_.input_tree;
  method_.output_tree = module_.output_tree;
  Frame frame{&module_.main(), std::vector<ValueIndex>(module_.main().values.size(), -1)};
  if (!has_kernel_ || has_kernel_("aten::index_put_", "")) in_place_ = find_in_place_updates(module_);
  emit_inputs(frame);
  emit_nodes(frame);
  emit_state_updates(frame);
  emit_outputs(frame);
  if (!faults_.empty()) return make_error(Code::NOT_SUPPORTED, faults_);
  ETB_TRY(place_tensors());
  return std::move(method_);
}

void MethodEmitter::emit_inputs(Frame& frame) {
  const auto is_state = [&](const ir::Input& input) {
    return std::any_of(
        frame.graph->outputs.begin(), frame.graph->outputs.end(), [&](const ir::Output& output) {
          return output.kind == ir::OutputKind::kBufferMutation && output.target == input.target;
        });
  };
  size_t next_fixed = 0;
  const auto add_fixed_inputs = [&] {
    const auto& rows = module_.fixed_inputs;
    for (; next_fixed < rows.size() && rows[next_fixed].position == method_.inputs.size(); ++next_fixed)
      method_.inputs.push_back(add_value(fixed_value(rows[next_fixed].value)));
  };
  for (const ir::Input& input : frame.graph->inputs) {
    const ir::Value& value = frame.graph->values[input.value];
    ValueIndex& index = frame.indices[input.value];
    if (value.kind != ir::ValueKind::kTensor) {
      index = add_value(int64_t{module_.symbols.hint(value.dim).value_or(0)});
      known_.emplace(value.dim, index);
    } else {
      index = add_tensor(value.spec, "input '" + value.name + "'");
      bind_symbols(value.spec, index);
    }
    if (input.kind == ir::InputKind::kUser) {
      add_fixed_inputs();
      method_.inputs.push_back(index);
      continue;
    }
    if (input.constant == ir::kNone || value.kind != ir::ValueKind::kTensor) {
      faults_ += (faults_.empty() ? "" : "\n") + ("input '" + input.target + "' has no data");
      continue;
    }
    if (is_state(input) || data_.shared_state.has(input.target)) {
      make_state(index, input);
    } else {
      make_constant(index, module_.constants[input.constant]);
    }
  }
  add_fixed_inputs();
}

// The loader copies its initial value into the arena. Tools find it by its name.
void MethodEmitter::make_state(ValueIndex index, const ir::Input& input) {
  auto& tensor = std::get<format::TensorSpec>(method_.values[static_cast<size_t>(index)]);
  tensor.data_index = data_.states.add(module_.constants[input.constant]);
  tensor.name = input.target;
  if (!data_.shared_state.has(input.target)) return;
  has_shared_state_ = true;
  tensor.memory_id = data_.shared_arena_id();
  tensor.memory_offset = data_.shared_state.offset(input.target);
  drop_block(index);
}

// Sets the data of the last tensor added. The file holds it, so it needs no arena memory.
void MethodEmitter::make_constant(ValueIndex index, const ir::Constant& constant) {
  auto& tensor = std::get<format::TensorSpec>(method_.values[static_cast<size_t>(index)]);
  tensor.memory_id = 0;
  if (data_.is_external) {
    tensor.name = data_.external.add(constant);
    tensor.is_external = true;
  } else {
    tensor.data_index = data_.constants.add(constant);
  }
  drop_block(index);
}

void MethodEmitter::drop_block(ValueIndex index) {
  blocks_.pop_back();
  block_values_.pop_back();
  block_of_.erase(index);
}

void MethodEmitter::bind_symbols(const ir::TensorSpec& spec, ValueIndex tensor) {
  for (size_t i = 0; i < spec.rank(); ++i) {
    const auto binding = ir::find_binding(module_.symbols, spec.sizes[i]);
    if (!binding) continue;
    const Binder binder{tensor, static_cast<int64_t>(i), *binding};
    const auto [known, is_new] = binders_.emplace(binding->symbol, binder);
    // A multiple of a symbol determines it, too, but needs a division.
    if (!is_new && binding->is_plain() && !known->second.binding.is_plain()) known->second = binder;
  }
}

MethodEmitter::ValueIndex MethodEmitter::define(Frame& frame, ir::ValueId id) {
  const ir::Value& value = frame.graph->values[id];
  ValueIndex index = 0;
  switch (value.kind) {
    case ir::ValueKind::kTensor:
      index = add_tensor(value.spec, "'" + value.name + "'");
      bind_symbols(value.spec, index);
      break;
    case ir::ValueKind::kInt:
      index = add_value(int64_t{0});
      known_.emplace(value.dim, index);
      break;
    case ir::ValueKind::kFloat:
      index = add_value(0.0);
      break;
    case ir::ValueKind::kBool:
      index = add_value(false);
      break;
  }
  frame.indices[id] = index;
  return index;
}

void MethodEmitter::emit_nodes(Frame& frame) {
  for (const ir::Node& node : frame.graph->nodes) {
    const uint32_t outer = std::exchange(debug_handle_, node.debug_handle);
    emit_node(frame, node);
    debug_handle_ = outer;
  }
}

void MethodEmitter::emit_node(Frame& frame, const ir::Node& node) {
  const ir::Op& op = module_.op(node);
  if (op.name == "higher_order.executorch_call_delegate.default") return emit_delegate_call(frame, node);
  if (op.schema == nullptr) return emit_control_flow(frame, node);
  if (op.name == "aten.item.default" || op.name == "aten._local_scalar_dense.default") {
    return emit_number_op(frame, node, "aten::_local_scalar_dense", "");
  }
  if (op.schema->op_namespace() == "executorch_prim" || op.name == "aten.sym_size.int" ||
      op.name == "aten.sym_numel.default") {
    const Name name = file_name(op.name);
    return emit_number_op(frame, node, name.name, name.overload);
  }
  if (in_place_.count(&node) != 0) return emit_in_place(frame, node);
  const ops::Schema* out = op.schema->out_variant();
  if (out == nullptr) return fault(node, "this op has no out variant, so no kernel can run it");
  emit_kernel(frame, node, *out);
}

// Operands, then results.
void MethodEmitter::emit_delegate_call(Frame& frame, const ir::Node& node) {
  const auto* number = node.args.size() == 2 ? ir::get_if<ir::Dim>(node.args[0]) : nullptr;
  const auto* operands = node.args.size() == 2 ? ir::get_if<ir::ValueList>(node.args[1]) : nullptr;
  if (number == nullptr || operands == nullptr || !number->is_static() || number->value() < 0 ||
      static_cast<uint64_t>(number->value()) >= data_.delegates.size()) {
    return fault(node, "calls a delegate that does not exist");
  }
  const auto delegate = static_cast<uint32_t>(number->value());
  std::vector<ValueIndex> args;
  for (const ir::ValueId id : operands->ids) args.push_back(frame.indices[id]);
  for (const ir::ValueId id : node.outputs) args.push_back(define(frame, id));
  for (const ValueIndex arg : args) use(arg);
  delegate_calls_.push_back({delegate, static_cast<uint32_t>(method_.instructions.size()),
                             static_cast<uint32_t>(node.outputs.size())});
  add_instruction(kDelegateCall, static_cast<int32_t>(method_.delegates.size()), 0, std::move(args));
  method_.delegates.push_back({data_.delegates[delegate].id, 0, 0, data_.delegates[delegate].specs});
}

// Emits an op on numbers: arguments in order, then the result.
void MethodEmitter::emit_number_op(Frame& frame, const ir::Node& node, std::string_view name,
                                   std::string_view overload) {
  std::vector<ValueIndex> args;
  for (uint32_t i = 0; i < node.args.size(); ++i) {
    const ops::Type type = module_.op(node).schema->argument(i).type;
    args.push_back(argument(frame, node.args[i], &type));
  }
  for (const ir::ValueId id : node.outputs) args.push_back(define(frame, id));
  call(name, overload, std::move(args));
}

void MethodEmitter::emit_kernel(Frame& frame, const ir::Node& node, const ops::Schema& out) {
  const Name name = file_name(out.name());
  if (has_kernel_ && !has_kernel_(name.name, name.overload)) {
    const std::string kernel = name.name + (name.overload.empty() ? "" : "." + name.overload);
    if (!out.is_own()) return fault(node, "no kernel " + kernel);
    own_kernels_.insert(kernel);
  }
  std::vector<ValueIndex> results;
  for (const ir::ValueId id : node.outputs) results.push_back(define(frame, id));
  const ops::Schema& schema = *module_.op(node).schema;
  std::vector<ValueIndex> args;
  size_t next_result = 0;
  for (uint32_t i = 0; i < out.argument_count(); ++i) {
    const ops::Argument row = out.argument(i);
    if (row.is_out && row.type.is_list) {
      args.push_back(add_value(format::TensorListSpec{results}));
    } else if (row.is_out) {
      if (next_result == results.size())
        return fault(node, "has fewer results than its out variant has out arguments");
      args.push_back(results[next_result++]);
    } else {
      const int position = schema.find_argument(row.name);
      if (position < 0)
        return fault(node,
                     "its out variant has the argument '" + std::string(row.name) + "', which the op lacks");
      const ir::Argument& item = node.args[static_cast<size_t>(position)];
      if (!fits(*frame.graph, item, row.type))
        return fault(node, "its argument '" + std::string(row.name) + "' is a " +
                               described(*frame.graph, item) + ", the kernel takes a " +
                               std::string(to_text(row.type.base)));
      args.push_back(argument(frame, item, &row.type));
    }
  }
  // The returned values follow: one, or a list of them.
  const bool is_list = schema.result_count() == 1 && schema.result(0).type.is_list;
  args.push_back(results.size() == 1 && !is_list ? results[0] : add_value(format::TensorListSpec{results}));
  for (const ValueIndex result : results) use(result);
  call(name.name, name.overload, std::move(args));
}

// The result is the first argument, which is state.
void MethodEmitter::emit_in_place(Frame& frame, const ir::Node& node) {
  const Name name = file_name(module_.op(node).name);
  std::vector<ValueIndex> args;
  for (uint32_t i = 0; i < node.args.size(); ++i) {
    const ops::Type type = module_.op(node).schema->argument(i).type;
    args.push_back(argument(frame, node.args[i], &type));
  }
  frame.indices[node.outputs[0]] = args[0];
  args.push_back(args[0]);
  call(name.name + "_", name.overload, std::move(args));
}

// Copies new contents back at the end, after all reads of the old ones.
void MethodEmitter::emit_state_updates(Frame& frame) {
  for (const ir::Output& output : frame.graph->outputs) {
    if (output.kind != ir::OutputKind::kBufferMutation && output.kind != ir::OutputKind::kInputMutation)
      continue;
    const bool is_buffer = output.kind == ir::OutputKind::kBufferMutation;
    const auto input =
        std::find_if(frame.graph->inputs.begin(), frame.graph->inputs.end(), [&](const ir::Input& row) {
          return is_buffer ? row.kind != ir::InputKind::kUser && row.target == output.target
                           : row.kind == ir::InputKind::kUser &&
                                 frame.graph->values[row.value].name == output.target;
        });
    const auto* value = ir::get_if<ir::ValueRef>(output.value);
    if (input == frame.graph->inputs.end() || value == nullptr) {
      faults_ +=
          (faults_.empty() ? "" : "\n") + ("no input stores the new contents of '" + output.target + "'");
      continue;
    }
    const ValueIndex to = frame.indices[input->value], from = frame.indices[value->id];
    if (to == from) continue;
    call("aten::copy_", "", {to, from, add_value(false), to});
  }
  // State lives as long as the method.
  for (const ir::Input& input : frame.graph->inputs) {
    const auto& value = method_.values[static_cast<size_t>(frame.indices[input.value])];
    const auto* tensor = std::get_if<format::TensorSpec>(&value);
    if (tensor != nullptr && tensor->data_index != 0 && tensor->memory_id != 0)
      use(frame.indices[input.value]);
  }
}

void MethodEmitter::emit_outputs(Frame& frame) {
  for (const ir::Output& output : frame.graph->outputs) {
    if (output.kind != ir::OutputKind::kUser) continue;
    method_.outputs.push_back(argument(frame, output.value, nullptr));
    use(method_.outputs.back());
  }
}

// Skips state, constants and tensors in a shared arena.
void MethodEmitter::leave_to_caller(const std::vector<ValueIndex>& values) {
  for (const ValueIndex value : values) {
    const auto found = block_of_.find(value);
    if (found == block_of_.end()) continue;
    auto& tensor = std::get<format::TensorSpec>(method_.values[static_cast<size_t>(value)]);
    if (tensor.data_index != 0) continue;
    tensor.memory_id = 0;
    const size_t block = found->second, last = blocks_.size() - 1;
    blocks_[block] = blocks_[last];
    block_values_[block] = block_values_[last];
    block_of_[block_values_[block]] = block;
    drop_block(value);
  }
}

Status MethodEmitter::place_tensors() {
  if (!data_.plans_inputs) leave_to_caller(method_.inputs);
  if (!data_.plans_outputs) leave_to_caller(method_.outputs);
  // State must not be overwritten between runs, nor before its first use.
  for (const auto& [value, block] : block_of_) {
    const auto& tensor = std::get<format::TensorSpec>(method_.values[static_cast<size_t>(value)]);
    if (tensor.data_index != 0) blocks_[block].last = static_cast<uint32_t>(method_.instructions.size());
  }
  if (!data_.memories.empty()) {
    ETB_TRY(place_in_memories());
    least_arena_nbytes_ = plan_.arena_nbytes;
    return {};
  }
  plan_ = plan::make_plan(blocks_, kArenaAlignment);
  least_arena_nbytes_ = plan_.arena_nbytes;
  std::vector<plan::Apart> apart;
  if (data_.keeps_branches_apart) {
    std::vector<WrittenArguments> written;
    for (const DelegateCall& call : delegate_calls_)
      written.push_back({call.instruction_index, call.output_count});
    apart = find_concurrent_tensors(method_, written, block_values_);
  }
  if (!apart.empty()) plan_ = plan::make_plan(blocks_, kArenaAlignment, apart);
  least_arena_nbytes_ = std::min(least_arena_nbytes_, plan_.arena_nbytes);
  ETB_TRY(plan::verify_plan(blocks_, plan_, kArenaAlignment, apart));
  for (size_t i = 0; i < blocks_.size(); ++i) {
    std::get<format::TensorSpec>(method_.values[static_cast<size_t>(block_values_[i])]).memory_offset =
        plan_.offsets[i];
  }
  method_.arena_sizes = {0, static_cast<int64_t>(plan_.arena_nbytes)};
  if (has_shared_state_) {
    method_.arena_sizes.push_back(static_cast<int64_t>(data_.shared_state.nbytes()));
  }
  return {};
}

}  // namespace etb::emit
