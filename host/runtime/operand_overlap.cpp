// SPDX-License-Identifier: Apache-2.0
// Checks the operands of one instruction: memory that a kernel or delegate writes belongs to no other
// operand.
//
// Kernels read inputs while they write outputs, some of them more than once. If the memory plan of a program
// made the two share bytes, a write would change data that the kernel has counted or checked before.
#include <algorithm>
#include <cstdio>

#include "etb/cpp/fail.hpp"
#include "host/runtime/method_state.hpp"

namespace etb::host {

namespace {

using format::InstructionKind;
using Count = unsigned long long;  // for printf

// Limits of comparisons for one instruction and for loading a method. Their number is quadratic for lists:
// 2900 outputs of one op reach the first limit.
constexpr uint64_t kMaxInstructionPairs = uint64_t{1} << 22;
constexpr uint64_t kMaxMethodPairs = uint64_t{1} << 26;

#ifdef ETB_FUZZ_WITHOUT_OVERLAP_CHECK  // only to show that the fuzzer finds the fault without the check
constexpr bool kIsChecked = false;
#else
constexpr bool kIsChecked = true;
#endif

// A written tensor and the memory that it uses or may grow into. It is compared with many others.
struct Written {
  const Tensor& tensor;
  uintptr_t begin;
  uint64_t nbytes;

  explicit Written(const Tensor& written) noexcept
      : tensor(written),
        begin(reinterpret_cast<uintptr_t>(written.data())),
        nbytes(written.capacity_bytes()) {}

  // Two values with one tensor also share its sizes: resizing one would change the other.
  bool overlaps(const Tensor& other) const noexcept {
    const uintptr_t ahead = reinterpret_cast<uintptr_t>(other.data()) - begin;
    if (ahead < nbytes) return other.capacity_bytes() != 0 || &tensor == &other;
    return (nbytes != 0 && uintptr_t{0} - ahead < other.capacity_bytes()) || &tensor == &other;
  }
};

// True if element i of one has the address of element i of the other.
bool is_same_range(const Tensor& a, const Tensor& b) noexcept {
  return a.data() == b.data() && a.capacity_bytes() == b.capacity_bytes() &&
         element_nbytes(a.dtype()) == element_nbytes(b.dtype()) &&
         std::ranges::equal(a.dim_order(), b.dim_order()) &&
         (a.dynamism() != Dynamism::kStatic || std::ranges::equal(a.sizes(), b.sizes()));
}

std::span<EValue* const> tensors_of(EValue* const& argument) noexcept {
  if (argument->is_tensor()) return {&argument, 1};
  return argument->tag() >= Tag::kTensorList ? argument->values() : std::span<EValue* const>();
}

etb_status fail_pairs(etb_error* error) noexcept {
  return fail(error, ETB_OUT_OF_RESOURCES, "too many pairs of operands to compare");
}

// Compares the operands of one instruction with each other.
class OperandCheck {
 public:
  // Error messages contain addresses when `arenas` is empty.
  OperandCheck(const MethodState& state, const Instruction& instruction,
               std::span<const std::span<std::byte>> arenas, etb_error* error) noexcept
      : state_(state), instruction_(instruction), arenas_(arenas), error_(error) {}

  etb_status run() noexcept {
    count_ = instruction_.argument_count;
    if (is_delegate()) {
      delegate_ = state_.delegates[instruction_.delegate]->operands();
    } else if (is_prim_op(*instruction_.kernel)) {
      return ETB_OK;  // these ops check it themselves
    } else if (instruction_.kernel->argument_count != kManyArguments) {
      // The returned values follow the arguments. They are the outputs again.
      count_ = std::min<uint32_t>(count_, instruction_.kernel->argument_count);
    }
    for (uint32_t i = 0; kIsChecked && i < count_; ++i) {
      if (!is_written(i)) continue;
      const auto tensors = tensors_of(instruction_.arguments[i]);
      for (size_t item = 0; item < tensors.size(); ++item) {
        if (tensors[item] == nullptr || !tensors[item]->is_tensor()) continue;
        ETB_CHECK(compare(i, item, *tensors[item]));
      }
    }
    return ETB_OK;
  }

  uint64_t pair_count() const noexcept { return pair_count_; }

 private:
  bool is_delegate() const noexcept { return instruction_.kind == InstructionKind::kDelegate; }

  bool is_written(uint32_t argument) const noexcept {
    return is_delegate() ? argument >= delegate_.input_count
                         : instruction_.kernel->operands.is_written(argument);
  }

  bool may_equal(uint32_t written, uint32_t other) const noexcept {
    if (!is_delegate()) return instruction_.kernel->operands.may_equal(other);
    const uint32_t output = written - delegate_.input_count;
    return output < delegate_.shared_inputs.size() && delegate_.shared_inputs[output] == other + 1;
  }

  // Compares a written tensor with all others, pairs of written tensors once.
  etb_status compare(uint32_t written, size_t item, const EValue& value) noexcept {
    const Written a(value.tensor());
    for (uint32_t other = 0; other < count_; ++other) {
      if (other < written && is_written(other)) continue;
      const auto tensors = tensors_of(instruction_.arguments[other]);
      for (size_t i = other == written ? item + 1 : 0; i < tensors.size(); ++i) {
        if (++pair_count_ > kMaxInstructionPairs) return fail_pairs(error_);
        if (tensors[i] == nullptr || !tensors[i]->is_tensor()) continue;
        const Tensor& b = tensors[i]->tensor();
        if (!a.overlaps(b) || (may_equal(written, other) && is_same_range(a.tensor, b))) continue;
        return refuse(written, value, other, *tensors[i]);
      }
    }
    return ETB_OK;
  }

#if ETB_ERROR_TEXTS
  // "argument 2 (value 5: 64 bytes at 128 in arena 1)"
  struct OperandText {
    char text[176];
  };
  OperandText describe(uint32_t argument, const EValue& value) const noexcept {
    const Tensor& tensor = value.tensor();
    auto address = reinterpret_cast<uintptr_t>(tensor.data());
    char arena[32] = " in memory";
    for (size_t i = 0; i < arenas_.size(); ++i) {
      const uintptr_t offset = address - reinterpret_cast<uintptr_t>(arenas_[i].data());
      if (offset > arenas_[i].size()) continue;
      address = offset;
      std::snprintf(arena, sizeof(arena), " in arena %zu", i + 1);
      break;
    }
    OperandText out;
    std::snprintf(out.text, sizeof(out.text), "argument %u (value %zu: %llu bytes at %llu%s)", argument,
                  static_cast<size_t>(&value - state_.values.data()),
                  static_cast<Count>(tensor.capacity_bytes()), static_cast<Count>(address), arena);
    return out;
  }

  etb_status refuse(uint32_t written, const EValue& value, uint32_t other,
                    const EValue& other_value) const noexcept {
    const auto id = is_delegate() ? state_.view().delegate(instruction_.delegate).id()
                                  : std::string_view(instruction_.kernel->name);
    return fail(error_, ETB_INVALID_PROGRAM, "%.*s writes %s, which shares memory with %s", shown(id),
                id.data(), describe(written, value).text, describe(other, other_value).text);
  }
#else
  etb_status refuse(uint32_t written, const EValue&, uint32_t, const EValue&) const noexcept {
    return fail(error_, ETB_INVALID_PROGRAM, "argument %u is written and shares memory with another one",
                written);
  }
#endif

  const MethodState& state_;
  const Instruction& instruction_;
  std::span<const std::span<std::byte>> arenas_;
  etb_error* error_;
  DelegateOperands delegate_;
  uint32_t count_ = 0;
  uint64_t pair_count_ = 0;
};

}  // namespace

etb_status check_operands(const MethodState& state, std::span<const std::span<std::byte>> arenas,
                          etb_error* error) noexcept {
  uint64_t pair_count = 0;
  for (const Instruction& instruction : state.instructions) {
    const bool has_operands =
        instruction.kind == InstructionKind::kKernel || instruction.kind == InstructionKind::kDelegate;
    if (!has_operands || instruction.checks_overlap) continue;
    OperandCheck check(state, instruction, arenas, error);
    etb_status status = check.run();
    pair_count += check.pair_count();
    if (status == ETB_OK && pair_count > kMaxMethodPairs) status = fail_pairs(error);
    if (status == ETB_OK) continue;
    int32_t chain = 0;
    int32_t index = 0;
    state.locate(static_cast<uint32_t>(&instruction - state.instructions.data()), &chain, &index);
    return fail_in(error, status, "chain %d, instruction %d", chain, index);
  }
  return ETB_OK;
}

etb_status check_operands(MethodState& state, const Instruction& instruction) noexcept {
  return OperandCheck(state, instruction, {}, &state.error).run();
}

}  // namespace etb::host
