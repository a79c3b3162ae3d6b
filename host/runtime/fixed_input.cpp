// SPDX-License-Identifier: Apache-2.0
// Finds the inputs whose value the exporter fixed.
#include <algorithm>

#include "host/runtime/program.hpp"

namespace etb::host {

namespace {

using format::InstructionKind;
using format::ValueKind;

bool contains(std::span<const int32_t> values, int32_t value) noexcept {
  return std::ranges::find(values, value) != values.end();
}

bool uses(const format::InstructionView& instruction, int32_t value) noexcept {
  const auto index = static_cast<uint32_t>(value);
  if (instruction.kind == InstructionKind::kMove) return instruction.a == index || instruction.b == index;
  if (instruction.kind == InstructionKind::kJumpFalse) return instruction.a == index;
  return contains(instruction.args, value);
}

bool is_used(const format::MethodView& method, int32_t value) noexcept {
  if (contains(method.outputs(), value)) return true;
  for (uint32_t i = 0; i < method.value_count(); ++i) {
    const format::ValueView list = method.value(i);
    if (list.kind() == ValueKind::kIntList && std::ranges::count(list.int_list(), value) != 0) return true;
  }
  for (uint32_t c = 0; c < method.chain_count(); ++c) {
    const format::ChainView chain = method.chain(c);
    for (uint32_t i = 0; i < chain.instruction_count(); ++i) {
      if (uses(chain.instruction(i), value)) return true;
    }
  }
  return false;
}

}  // namespace

bool MethodMeta::is_fixed_input(uint32_t index) const noexcept {
  const ValueKind kind = input(index).kind();
  const bool is_scalar = kind == ValueKind::kNull || kind == ValueKind::kInt || kind == ValueKind::kBool ||
                         kind == ValueKind::kDouble || kind == ValueKind::kString;
  return is_scalar && !is_used(view_, view_.inputs()[index]);
}

}  // namespace etb::host
