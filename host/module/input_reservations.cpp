// SPDX-License-Identifier: Apache-2.0
#include "host/module/input_reservations.hpp"

#include <algorithm>

#include "host/runtime/method_state.hpp"

namespace etb::host {
namespace {

bool has_dynamic_sizes(const EValue& value) {
  return value.is_tensor() && value.tensor().dynamism() != Dynamism::kStatic;
}

bool is_called_once(const MethodState& state, uint32_t delegate) {
  return std::ranges::count_if(state.instructions, [delegate](const Instruction& instruction) {
           return instruction.kind == format::InstructionKind::kDelegate && instruction.delegate == delegate;
         }) == 1;
}

// Inputs of the call that are inputs of the method with dynamic sizes. None if the sizes of another one may change, too.
std::vector<const EValue*> inputs_that_change(const MethodState& state, std::span<EValue* const> inputs) {
  std::vector<const EValue*> out;
  for (EValue* const value : inputs) {
    if (value == nullptr || !value->is_tensor()) return {};
    if (!has_dynamic_sizes(*value)) continue;
    if (std::ranges::find(state.inputs, value) == state.inputs.end()) return {};
    out.push_back(value);
  }
  return out;
}

}  // namespace

InputReservations InputReservations::make(Method& method) {
  const MethodState& state = *method.state_;
  InputReservations made;
  for (const Instruction& instruction : state.instructions) {
    if (instruction.kind != format::InstructionKind::kDelegate) continue;
    MethodDelegate* const delegate = state.delegates[instruction.delegate];
    const uint32_t input_count = delegate->operands().input_count;
    if (!delegate->can_reserve() || input_count > instruction.argument_count ||
        !is_called_once(state, instruction.delegate))
      continue;
    const std::span<EValue* const> arguments(instruction.arguments, instruction.argument_count);
    Call call{delegate, arguments, {}};
    for (const EValue* const value : inputs_that_change(state, arguments.first(input_count))) {
      const auto sizes = value->tensor().sizes();
      call.inputs.push_back({value, {sizes.begin(), sizes.end()}});
    }
    if (!call.inputs.empty()) made.calls_.push_back(std::move(call));
  }
  return made;
}

void InputReservations::update() noexcept {
  for (Call& call : calls_) {
    bool is_new = false;
    for (Input& input : call.inputs) {
      const std::span<const int64_t> sizes = input.value->tensor().sizes();
      if (std::ranges::equal(sizes, input.planned_sizes)) continue;
      is_new = true;
      std::ranges::copy(sizes, input.planned_sizes.begin());
    }
    if (is_new && call.delegate->can_reserve()) (void)call.delegate->reserve(call.arguments);
  }
}

}  // namespace etb::host
