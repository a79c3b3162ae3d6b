// SPDX-License-Identifier: Apache-2.0
#include "host/module/kept_state.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "host/runtime/method_state.hpp"

namespace etb::host {
namespace {

using format::InstructionKind;

struct Access {
  uint32_t instruction, argument;
  bool operator==(const Access&) const = default;
};

// Arguments of aten::copy_: buffer, result, non_blocking, and the returned buffer.
constexpr uint32_t kBuffer = 0, kResult = 1, kFewest = 3;

bool overlap(const Tensor& a, const Tensor& b) {
  const auto begin = reinterpret_cast<uintptr_t>(a.data()),
             other_begin = reinterpret_cast<uintptr_t>(b.data());
  return begin < other_begin + b.capacity_bytes() && other_begin < begin + a.capacity_bytes();
}

// All uses of the values of a method.
class Accesses {
 public:
  explicit Accesses(const MethodState& state) : state_(state) {
    for (EValue* const value : state.inputs) use_elsewhere(value);
    for (EValue* const value : state.outputs) use_elsewhere(value);
  }

  // Returns false if no buffer may stay on a device.
  bool find() {
    for (uint32_t i = 0; i < state_.instructions.size(); ++i) {
      const Instruction& instruction = state_.instructions[i];
      switch (instruction.kind) {
        case InstructionKind::kDelegate:
          ++calls_[instruction.delegate];
          add(i);
          break;
        case InstructionKind::kKernel:
          add(i);
          break;
        case InstructionKind::kMove:
          use_elsewhere(instruction.from);
          use_elsewhere(instruction.value);
          break;
        case InstructionKind::kFree:
          use_elsewhere(instruction.value);
          break;
        default:
          return false;
      }
    }
    return true;
  }

  // Fills `out` if an instruction copies a result into a buffer that only delegates use otherwise.
  bool is_update(uint32_t index, StateCandidate& out) const {
    const Instruction& copy = state_.instructions[index];
    if (copy.kind != InstructionKind::kKernel || std::string_view(copy.kernel->name) != "aten::copy_" ||
        copy.argument_count < kFewest)
      return false;
    const EValue* const buffer = copy.arguments[kBuffer];
    const EValue* const result = copy.arguments[kResult];
    if (!may_exchange(buffer, result) || !is_alone(buffer, index)) return false;
    out.copy = index;
    out.data = static_cast<const std::byte*>(buffer->tensor().data());
    out.nbytes = buffer->tensor().capacity_bytes();
    return add_readers(buffer, index, out) && add_writer(result, index, out);
  }

 private:
  void use_elsewhere(const EValue* value) {
    if (value == nullptr) return;
    elsewhere_.insert(value);
    if (value->is_tensor() || value->tag() < Tag::kTensorList) return;
    for (const EValue* const item : value->values()) use_elsewhere(item);
  }

  void add(uint32_t index) {
    const Instruction& instruction = state_.instructions[index];
    for (uint32_t i = 0; i < instruction.argument_count; ++i) {
      const EValue* const value = instruction.arguments[i];
      if (value == nullptr) continue;
      accesses_[value].push_back({index, i});
      if (!value->is_tensor()) use_elsewhere(value);
    }
  }

  // True if the contents of one tensor are those of the other in the same bytes.
  static bool may_exchange(const EValue* buffer, const EValue* result) {
    if (buffer == nullptr || result == nullptr || buffer == result || !buffer->is_tensor() ||
        !result->is_tensor())
      return false;
    const Tensor &to = buffer->tensor(), &from = result->tensor();
    const auto is_planned = [](const Tensor& tensor) {
      return tensor.data() != nullptr && tensor.nbytes() != 0 && !tensor.is_read_only() &&
             tensor.dynamism() == Dynamism::kStatic;
    };
    return is_planned(to) && is_planned(from) && to.dtype() == from.dtype() &&
           std::ranges::equal(to.sizes(), from.sizes()) && to.is_contiguous() && from.is_contiguous();
  }

  // The result of a copy that only the copy names, and nothing reads.
  bool is_unread_return(const EValue* value, uint32_t copy) const {
    const Instruction& instruction = state_.instructions[copy];
    const auto found = accesses_.find(value);
    return elsewhere_.count(value) == 0 && found != accesses_.end() && found->second.size() == 1 &&
           found->second[0] == Access{copy, instruction.argument_count - 1} &&
           instruction.argument_count > kFewest;
  }

  // True if no other value has bytes of the buffer.
  bool is_alone(const EValue* buffer, uint32_t copy) const {
    return std::all_of(state_.values.begin(), state_.values.end(), [&](const EValue& other) {
      const bool is_used = accesses_.count(&other) != 0 || elsewhere_.count(&other) != 0;
      return &other == buffer || !is_used || !other.is_tensor() || is_unread_return(&other, copy) ||
             !overlap(buffer->tensor(), other.tensor());
    });
  }

  // Returns the device of a delegate that is called once, else NULL.
  DeviceArguments* device_of(uint32_t instruction) const {
    const Instruction& call = state_.instructions[instruction];
    if (call.kind != InstructionKind::kDelegate || calls_.at(call.delegate) != 1) return nullptr;
    return state_.delegates[call.delegate]->device_arguments();
  }
  bool is_output(const Access& access) const {
    const Instruction& call = state_.instructions[access.instruction];
    return access.argument >= state_.delegates[call.delegate]->operands().input_count;
  }

  bool add_readers(const EValue* buffer, uint32_t copy, StateCandidate& out) const {
    if (elsewhere_.count(buffer) != 0) return false;
    for (const Access& access : accesses_.at(buffer)) {
      if (access.instruction == copy) {
        const bool is_returned =
            access.argument >= kFewest && access.argument + 1 == state_.instructions[copy].argument_count;
        if (access.argument != kBuffer && !is_returned) return false;
        continue;
      }
      DeviceArguments* const device = device_of(access.instruction);
      if (device == nullptr || is_output(access)) return false;
      out.readers.push_back({device, access.argument});
    }
    return !out.readers.empty();
  }

  bool add_writer(const EValue* result, uint32_t copy, StateCandidate& out) const {
    if (elsewhere_.count(result) != 0) return false;
    for (const Access& access : accesses_.at(result)) {
      if (access == Access{copy, kResult}) continue;
      DeviceArguments* const device = device_of(access.instruction);
      if (device == nullptr) return false;
      if (!is_output(access)) {
        if (out.writer == nullptr) return false;  // reads what another run wrote
        out.result_readers.push_back({device, access.argument});
        continue;
      }
      if (out.writer != nullptr || access.instruction > copy) return false;
      out.writer = device;
      out.argument = access.argument;
    }
    // Another name of the result's memory would show old bytes.
    return out.writer != nullptr && std::none_of(accesses_.begin(), accesses_.end(), [&](const auto& other) {
             return other.first != result && other.first->is_tensor() &&
                    overlap(result->tensor(), other.first->tensor()) && is_only_read(other.second);
           });
  }

  bool is_only_read(const std::vector<Access>& accesses) const {
    return std::all_of(accesses.begin(), accesses.end(), [&](const Access& access) {
      const Instruction& instruction = state_.instructions[access.instruction];
      if (instruction.kind == InstructionKind::kDelegate) return !is_output(access);
      if (is_prim_op(*instruction.kernel)) return access.argument + 1 != instruction.argument_count;
      return instruction.kernel->argument_count == kManyArguments ||
             !instruction.kernel->operands.is_written(access.argument);
    });
  }

  const MethodState& state_;
  std::map<const EValue*, std::vector<Access>> accesses_;  // in the order of the program
  std::set<const EValue*> elsewhere_;                      // by inputs, outputs, lists, moves
  std::map<uint32_t, uint32_t> calls_;                     // by delegate
};

}  // namespace

// Replaces a copy: the kernel has its name, and one more argument before the first.
struct KeptState::Update {
  Kernel kernel;
  KernelFunction copy;
  DeviceState* state;
  EValue self;  // the number of this object's address
  std::vector<EValue*> arguments;

  Update(const Instruction& instruction, DeviceState* made)
      : kernel(*instruction.kernel),
        copy(instruction.kernel->function),
        state(made),
        self(static_cast<int64_t>(reinterpret_cast<intptr_t>(this))),
        arguments{&self} {
    arguments.insert(arguments.end(), instruction.arguments,
                     instruction.arguments + instruction.argument_count);
    kernel.function = &run_update;
  }
};

void KeptState::UpdateDeleter::operator()(Update* update) const noexcept { delete update; }

etb_status KeptState::run_update(KernelContext& context, EValue** arguments) {
  const auto* const update =
      reinterpret_cast<const Update*>(static_cast<intptr_t>((*(arguments - 1))->to_int()));
  return update->state->update() ? ETB_OK : update->copy(context, arguments);
}

std::vector<StateCandidate> KeptState::find(Method& method) {
  std::vector<StateCandidate> out;
  const MethodState& state = *method.state_;
  if (std::none_of(state.delegates.begin(), state.delegates.end(),
                   [](MethodDelegate* delegate) { return delegate->device_arguments() != nullptr; }))
    return out;
  Accesses accesses(state);
  if (!accesses.find()) return out;
  for (uint32_t i = 0; i < state.instructions.size(); ++i)
    if (StateCandidate found; accesses.is_update(i, found)) out.push_back(std::move(found));
  return out;
}

bool KeptState::add(Method& method, const StateCandidate& found, DeviceState** state) {
  DeviceState* kept = *state;
  if (found.writer->keep_state(found.argument, found.nbytes, found.readers, found.result_readers, &kept,
                               nullptr) != ETB_OK)
    return false;
  Instruction& copy = method.state_->instructions[found.copy];
  updates_.emplace_back(new Update(copy, kept));
  copy.kernel = &updates_.back()->kernel;
  copy.arguments = updates_.back()->arguments.data() + 1;
  *state = kept;
  return true;
}

KeptState KeptState::keep(Method& method) {
  KeptState out;
  for (const StateCandidate& found : find(method)) {
    DeviceState* state = nullptr;
    (void)out.add(method, found, &state);
  }
  return out;
}

}  // namespace etb::host
