// SPDX-License-Identifier: Apache-2.0
#include "host/module/kept_values.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "host/runtime/method_state.hpp"

namespace etb::host {
namespace {

using format::InstructionKind;

// The delegates that use a value, in the order of the program.
struct Use {
  DeviceArguments* writer = nullptr;
  uint32_t argument = 0;  // output of the writer
  std::vector<DeviceArguments::Reader> readers;
};

class Uses {
 public:
  explicit Uses(const MethodState& state) : state_(state) {
    for (EValue* const value : state.inputs) use_on_host(value, true);
    for (EValue* const value : state.outputs) use_on_host(value, false);
  }

  // Returns false if no value may be kept.
  bool find() {
    for (const Instruction& instruction : state_.instructions) {
      switch (instruction.kind) {
        case InstructionKind::kDelegate:
          add_delegate(instruction);
          break;
        case InstructionKind::kKernel:
          add_kernel(instruction);
          break;
        case InstructionKind::kMove:
          use_on_host(instruction.from, false);
          use_on_host(instruction.value, true);
          break;
        case InstructionKind::kFree:
          use_on_host(instruction.value, true);
          break;
        default:
          return false;
      }
    }
    // A value that no instruction writes may be another name of memory that one does.
    std::set_difference(read_.begin(), read_.end(), written_.begin(), written_.end(),
                        std::back_inserter(only_read_));
    return true;
  }

  bool may_keep(const EValue* value, const Use& use) const {
    if (use.writer == nullptr || use.readers.empty() || on_host_.count(value) != 0 || !value->is_tensor())
      return false;
    const Tensor& tensor = value->tensor();
    if (tensor.data() == nullptr || tensor.capacity_bytes() == 0 || tensor.is_read_only()) return false;
    return std::none_of(only_read_.begin(), only_read_.end(),
                        [&](const EValue* other) { return overlaps(tensor, *other); });
  }
  const std::map<EValue*, Use>& all() const { return uses_; }

 private:
  static bool overlaps(const Tensor& tensor, const EValue& other) {
    if (!other.is_tensor()) return false;
    const auto begin = reinterpret_cast<uintptr_t>(tensor.data()),
               other_begin = reinterpret_cast<uintptr_t>(other.tensor().data());
    return begin < other_begin + other.tensor().capacity_bytes() &&
           other_begin < begin + tensor.capacity_bytes();
  }

  void use_on_host(EValue* value, bool is_written) {
    if (value == nullptr) return;
    on_host_.insert(value);
    (is_written ? written_ : read_).insert(value);
    if (value->is_tensor() || value->tag() < Tag::kTensorList) return;
    for (EValue* const item : value->values()) use_on_host(item, is_written);
  }

  void add_kernel(const Instruction& instruction) {
    const Kernel& kernel = *instruction.kernel;
    const uint32_t count = instruction.argument_count;
    for (uint32_t i = 0; i < count; ++i) {
      const bool is_written = is_prim_op(kernel)                        ? i + 1 == count
                              : kernel.argument_count == kManyArguments ? false
                                                                        : kernel.operands.is_written(i);
      use_on_host(instruction.arguments[i], is_written);
    }
  }

  void add_delegate(const Instruction& instruction) {
    MethodDelegate* const delegate = state_.delegates[instruction.delegate];
    DeviceArguments* const device = delegate->device_arguments();
    const uint32_t input_count = delegate->operands().input_count;
    const bool is_first = called_.insert(instruction.delegate).second;
    if (!is_first) twice_.insert(device);
    for (uint32_t i = 0; i < instruction.argument_count; ++i) {
      EValue* const value = instruction.arguments[i];
      if (value == nullptr) continue;
      Use& use = uses_[value];
      const bool is_output = i >= input_count;
      // A value that was read before, or is written twice, has several meanings.
      const bool is_known = is_output ? use.writer == nullptr && use.readers.empty() : use.writer != nullptr;
      if (device == nullptr || input_count == 0 || !is_first || !is_known || !value->is_tensor()) {
        use_on_host(value, is_output);
      } else if (is_output) {
        use.writer = device;
        use.argument = i;
        written_.insert(value);
      } else {
        read_.insert(value);
        use.readers.push_back({device, i});
      }
    }
  }

  const MethodState& state_;
  std::map<EValue*, Use> uses_;
  std::set<const EValue*> on_host_, read_, written_;
  std::set<uint32_t> called_;
  std::set<const DeviceArguments*> twice_;
  std::vector<const EValue*> only_read_;

 public:
  // True if a delegate of the value is called twice: its arguments differ from call to call.
  bool is_called_twice(const Use& use) const {
    return twice_.count(use.writer) != 0 ||
           std::any_of(use.readers.begin(), use.readers.end(),
                       [&](const auto& reader) { return twice_.count(reader.delegate) != 0; });
  }
};

}  // namespace

uint32_t KeptValues::keep(Method& method) {
  const MethodState& state = *method.state_;
  if (std::none_of(state.delegates.begin(), state.delegates.end(),
                   [](MethodDelegate* delegate) { return delegate->device_arguments() != nullptr; }))
    return 0;
  Uses uses(state);
  if (!uses.find()) return 0;
  uint32_t count = 0;
  for (const auto& [value, use] : uses.all()) {
    if (!uses.may_keep(value, use) || uses.is_called_twice(use)) continue;
    // Without memory in common, the value is copied through memory of the host.
    if (use.writer->keep(use.argument, value->tensor().capacity_bytes(), use.readers, nullptr) == ETB_OK)
      ++count;
  }
  return count;
}

void KeptValues::let_go(Method& method) noexcept {
  for (MethodDelegate* const delegate : method.state_->delegates)
    if (DeviceArguments* const device = delegate->device_arguments(); device != nullptr) device->let_go();
}

}  // namespace etb::host
