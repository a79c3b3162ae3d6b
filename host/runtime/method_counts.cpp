// SPDX-License-Identifier: Apache-2.0
// Computes the state memory of a method: the count of objects of each kind, and their bytes.
#include <cstddef>

#include "host/runtime/method_state.hpp"

namespace etb::host {

using format::Storage;
using format::ValueKind;

// Padding between arrays: each array starts on the boundary of its type, after the one before.
static constexpr uint64_t kPlacementSlack = alignof(std::max_align_t);

MethodCounts::MethodCounts(const format::MethodView& method) noexcept {
  values = method.value_count();
  references = method.inputs().size() + method.outputs().size();
  caller_memory = references;
  operators = method.operator_count();
  delegates = method.delegate_count();
  chains = method.chain_count();
  for (uint32_t i = 0; i < values; ++i) {
    const auto value = method.value(i);
    switch (value.kind()) {
      case ValueKind::kIntList:
        references += value.int_list().size();
        break;
      case ValueKind::kTensorList:
      case ValueKind::kOptionalTensorList:
        references += value.tensor_list().size();
        break;
      case ValueKind::kTensor: {
        const auto tensor = value.as_tensor();
        ++tensors;
        dims += tensor.sizes.size();
        external += tensor.storage == Storage::kExternal ? 1 : 0;
        break;
      }
      default:
        break;
    }
  }
  for (uint32_t c = 0; c < chains; ++c) {
    const auto chain = method.chain(c);
    instructions += chain.instruction_count();
    for (uint32_t i = 0; i < chain.instruction_count(); ++i) references += chain.instruction(i).args.size();
  }
}

uint64_t MethodCounts::state_nbytes() const noexcept {
  constexpr uint64_t kArrayCount = 12;
  const auto nbytes = [](size_t count, size_t item_nbytes) { return uint64_t{count} * item_nbytes; };
  return sizeof(MethodState) + nbytes(values, sizeof(EValue) + sizeof(bool)) +
         nbytes(tensors, sizeof(Tensor)) + nbytes(dims, 2 * sizeof(int64_t)) +
         nbytes(references, sizeof(EValue*)) + nbytes(instructions, sizeof(Instruction)) +
         nbytes(chains, sizeof(ChainStart)) + nbytes(operators, sizeof(OperatorKernel)) +
         nbytes(delegates, sizeof(MethodDelegate*)) + nbytes(caller_memory, sizeof(CallerMemory)) +
         nbytes(external, sizeof(DataBlock)) + kArrayCount * kPlacementSlack;
}

uint64_t MethodMeta::state_nbytes() const noexcept { return MethodCounts(view_).state_nbytes(); }

}  // namespace etb::host
