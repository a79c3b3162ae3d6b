// SPDX-License-Identifier: Apache-2.0
// Verifies methods: values, memory plan, operators, delegates, instructions.
#include <algorithm>
#include <cinttypes>

#include "api/format/program_verify.hpp"
#include "api/format/program_view.hpp"
#include "api/format/tensor_layout.hpp"

namespace etb::format {

namespace {

namespace fb = schema;

class MethodVerifier {
 public:
  MethodVerifier(VerifyContext& context, FlatTable method) noexcept
      : context_(context), program_(context.program), method_(method), error_(context.error) {}

  etb_status verify() noexcept {
    ETB_CHECK(verify_arenas());
    const TableList values = method_.tables(fb::Method::VT_VALUES);
    value_count_ = values.size();
    ETB_CHECK(context_.spend(value_count_));
    for (uint32_t i = 0; i < value_count_; ++i) {
      if (const etb_status status = verify_value(values[i]); status != ETB_OK) {
        return fail_in(error_, status, "value %u", i);
      }
    }
    ETB_CHECK(verify_indices(method_, fb::Method::VT_INPUTS, "input"));
    ETB_CHECK(verify_indices(method_, fb::Method::VT_OUTPUTS, "output"));
    ETB_CHECK(verify_operators());
    ETB_CHECK(verify_delegates());
    return verify_chains();
  }

 private:
  // Returns the kind of a value, or NONE when the index is out of range.
  fb::ValueUnion kind_of(int64_t index) const noexcept {
    if (!is_value(index)) return fb::ValueUnion::NONE;
    const FlatTable value = method_.tables(fb::Method::VT_VALUES)[static_cast<uint32_t>(index)];
    return value.get<fb::ValueUnion>(fb::Value::VT_VAL_TYPE);
  }

  bool is_value(int64_t index) const noexcept { return static_cast<uint64_t>(index) < value_count_; }

  etb_status out_of_range(const char* what, uint32_t position, int64_t index) const noexcept {
    return fail(error_, ETB_INVALID_PROGRAM, "%s %u: value %" PRId64 ", the method has %u values", what,
                position, index, value_count_);
  }

  etb_status verify_arenas() noexcept {
    const auto sizes = arena_sizes();
    // Each arena is searched in the list of devices.
    const uint64_t work =
        (uint64_t{sizes.size()} + 1) * (uint64_t{method_.count(fb::Method::VT_ARENA_DEVICES)} + 1);
    ETB_CHECK(context_.spend(static_cast<size_t>(std::min<uint64_t>(work, SIZE_MAX))));
    if (!is_aligned(sizes))
      return fail(error_, ETB_INVALID_PROGRAM, "arena sizes are not on an 8-byte boundary");
    for (uint32_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] >= 0) continue;
      return fail(error_, ETB_INVALID_PROGRAM, "arena %u: size %" PRId64, i, sizes[i]);
    }
    return ETB_OK;
  }

  std::span<const int64_t> arena_sizes() const noexcept {
    return method_.items<int64_t>(fb::Method::VT_ARENA_SIZES);
  }

  etb_status verify_value(FlatTable value) noexcept {
    const FlatTable content = value.table(fb::Value::VT_VAL);
    if (!content) return fail(error_, ETB_INVALID_PROGRAM, "has no content");
    const auto kind = value.get<fb::ValueUnion>(fb::Value::VT_VAL_TYPE);
    // Both lists of tensors have only this field.
    static_assert(fb::TensorList::VT_ITEMS == 4 && fb::OptionalTensorList::VT_ITEMS == 4);
    switch (kind) {
      case fb::ValueUnion::Null:
      case fb::ValueUnion::Int:
      case fb::ValueUnion::Bool:
      case fb::ValueUnion::Double:
        return ETB_OK;
      case fb::ValueUnion::String:
        if (content.has(fb::String::VT_STRING_VAL)) return ETB_OK;
        return fail(error_, ETB_INVALID_PROGRAM, "string without text");
      case fb::ValueUnion::Tensor:
        return verify_tensor(content);
      case fb::ValueUnion::IntList:
        return verify_list(content.items<int64_t>(fb::IntList::VT_ITEMS), fb::ValueUnion::Int, false);
      case fb::ValueUnion::TensorList:
      case fb::ValueUnion::OptionalTensorList:
        return verify_list(content.items<int32_t>(fb::TensorList::VT_ITEMS), fb::ValueUnion::Tensor,
                           kind == fb::ValueUnion::OptionalTensorList);
      case fb::ValueUnion::DoubleList:
        return verify_literals(content.items<double>(fb::DoubleList::VT_ITEMS));
      case fb::ValueUnion::BoolList:
        return verify_literals(content.items<uint8_t>(fb::BoolList::VT_ITEMS));
      case fb::ValueUnion::NONE:
        break;
    }
    return fail(error_, ETB_INVALID_PROGRAM, "kind %u, expected 1 to %u", static_cast<unsigned>(kind),
                kValueKindCount - 1U);
  }

  template <class T>
  etb_status verify_literals(std::span<const T> items) noexcept {
    ETB_CHECK(context_.spend(items.size()));
    return is_aligned(items) ? ETB_OK : fail(error_, ETB_INVALID_PROGRAM, "list items are not aligned");
  }

  template <class T>
  etb_status verify_list(std::span<const T> items, fb::ValueUnion expected, bool may_be_none) noexcept {
    ETB_CHECK(verify_literals(items));
    for (uint32_t i = 0; i < items.size(); ++i) {
      const int64_t index = items[i];
      if ((may_be_none && index == -1) || kind_of(index) == expected) continue;
      if (!is_value(index)) return out_of_range("list item", i, index);
      return fail(error_, ETB_INVALID_PROGRAM, "list item %u: value %" PRId64 " is a %s, expected a %s", i,
                  index, to_text(static_cast<ValueKind>(kind_of(index))),
                  to_text(static_cast<ValueKind>(expected)));
    }
    return ETB_OK;
  }

  etb_status verify_tensor(FlatTable tensor) noexcept {
    const auto dtype = tensor.get<uint8_t>(fb::Tensor::VT_DTYPE);
    const uint32_t element = element_nbytes(dtype);
    if (element == 0) return fail(error_, ETB_INVALID_PROGRAM, "tensor of dtype code %u", dtype);
    if (const auto offset = tensor.get<int32_t>(fb::Tensor::VT_STORAGE_OFFSET); offset != 0) {
      return fail(error_, ETB_INVALID_PROGRAM, "tensor with storage offset %d, expected 0", offset);
    }
    const bool has_sizes = tensor.has(fb::Tensor::VT_SIZES);
    if (!has_sizes || !tensor.has(fb::Tensor::VT_DIM_ORDER)) {
      return fail(error_, ETB_INVALID_PROGRAM, "tensor without %s", has_sizes ? "dim order" : "sizes");
    }
    const auto sizes = tensor.items<int32_t>(fb::Tensor::VT_SIZES);
    const auto order = tensor.items<uint8_t>(fb::Tensor::VT_DIM_ORDER);
    if (sizes.size() > kMaxRank || sizes.size() != order.size()) {
      return fail(error_, ETB_INVALID_PROGRAM,
                  "tensor of rank %zu with a dim order of %zu, expected equal and at most %zu", sizes.size(),
                  order.size(), kMaxRank);
    }
    ETB_CHECK(context_.spend(sizes.size()));
    if (!is_permutation(order)) {
      return fail(error_, ETB_INVALID_PROGRAM,
                  "tensor whose dim order is no permutation of its %zu dimensions", order.size());
    }
    const auto nbytes = checked_nbytes(dtype, sizes);
    if (!nbytes) return fail(error_, ETB_INVALID_PROGRAM, "tensor with a negative size or too many elements");
    const auto dynamism = tensor.get<int8_t>(fb::Tensor::VT_DYNAMISM);
    if (static_cast<uint8_t>(dynamism) > static_cast<uint8_t>(fb::Dynamism::UNBOUNDED)) {
      return fail(error_, ETB_INVALID_PROGRAM, "tensor of dynamism %d, expected 0 to 2", dynamism);
    }
    return verify_storage(tensor, element, *nbytes);
  }

  etb_status verify_storage(FlatTable tensor, uint32_t element, uint64_t nbytes) noexcept {
    bool is_external = false;
    if (const FlatTable extra = tensor.table(fb::Tensor::VT_EXTRA)) {
      const auto location = extra.get<int8_t>(fb::TensorExtra::VT_LOCATION);
      is_external = location != static_cast<int8_t>(fb::DataLocation::SEGMENT);
      if (is_external && location != static_cast<int8_t>(fb::DataLocation::EXTERNAL)) {
        return fail(error_, ETB_INVALID_PROGRAM, "tensor with data location %d, expected 0 or 1", location);
      }
      const std::string_view name = extra.text(fb::TensorExtra::VT_FULLY_QUALIFIED_NAME);
      if (is_external && name.empty()) {
        return fail(error_, ETB_INVALID_PROGRAM, "external tensor without a name");
      }
      if (is_external) ETB_CHECK(context_.verify_name(name));
    }
    const FlatTable allocation = tensor.table(fb::Tensor::VT_ALLOCATION);
    if (allocation) ETB_CHECK(verify_allocation(allocation, element, nbytes));
    const auto index = tensor.get<uint32_t>(fb::Tensor::VT_DATA_INDEX);
    if (is_external || index == 0) return ETB_OK;
    return allocation ? verify_initial_value(index, nbytes) : verify_constant(index, element, nbytes);
  }

  etb_status verify_allocation(FlatTable allocation, uint32_t element, uint64_t nbytes) noexcept {
    const auto arena = allocation.get<uint32_t>(fb::Allocation::VT_MEMORY_ID);
    const auto sizes = arena_sizes();
    if (arena == 0 || arena >= sizes.size()) {
      return fail(error_, ETB_INVALID_PROGRAM, "tensor in arena %u, the method has arenas 1 to %zu", arena,
                  sizes.empty() ? 0 : sizes.size() - 1);
    }
    const uint64_t offset = uint64_t{allocation.get<uint32_t>(fb::Allocation::VT_OFFSET_HIGH)} << 32 |
                            allocation.get<uint32_t>(fb::Allocation::VT_OFFSET_LOW);
    const auto size = static_cast<uint64_t>(sizes[arena]);
    if (offset > size || nbytes > size - offset) {
      return fail(error_, ETB_INVALID_PROGRAM, "tensor of %llu bytes at %llu in arena %u of %llu bytes",
                  static_cast<Count>(nbytes), static_cast<Count>(offset), arena, static_cast<Count>(size));
    }
    if (offset % element != 0) {
      return fail(error_, ETB_INVALID_PROGRAM,
                  "tensor at %llu in arena %u, expected a multiple of its element size %u",
                  static_cast<Count>(offset), arena, element);
    }
    return ETB_OK;
  }

  // Bytes of the segment of a list that verify_subsegment checked.
  uint64_t segment_nbytes(FlatTable list) const noexcept {
    const auto segment = list.get<uint32_t>(fb::SubsegmentOffsets::VT_SEGMENT_INDEX);
    return program_.tables(fb::Program::VT_SEGMENTS)[segment].get<uint64_t>(fb::DataSegment::VT_SIZE);
  }

  etb_status verify_initial_value(uint32_t index, uint64_t nbytes) noexcept {
    const TableList lists = program_.tables(fb::Program::VT_MUTABLE_DATA);
    const uint32_t count = lists.size() == 0 ? 0 : lists[0].count(fb::SubsegmentOffsets::VT_OFFSETS);
    if (index >= count) {
      return fail(error_, ETB_INVALID_PROGRAM, "tensor with initial value %u, the program has %u", index,
                  count);
    }
    const uint64_t offset = lists[0].items<uint64_t>(fb::SubsegmentOffsets::VT_OFFSETS)[index];
    const uint64_t size = segment_nbytes(lists[0]);
    if (nbytes > size - offset) {
      return fail(error_, ETB_INVALID_PROGRAM, "initial value %u: %llu bytes at %llu in a segment of %llu",
                  index, static_cast<Count>(nbytes), static_cast<Count>(offset), static_cast<Count>(size));
    }
    return ETB_OK;
  }

  etb_status verify_constant(uint32_t index, uint32_t element, uint64_t nbytes) noexcept {
    const FlatTable constants = program_.table(fb::Program::VT_CONSTANTS);
    const uint32_t count = constants ? constants.count(fb::SubsegmentOffsets::VT_OFFSETS) : 0;
    if (count == 0) return verify_inline_constant(index, nbytes);
    if (index >= count) {
      return fail(error_, ETB_INVALID_PROGRAM, "tensor with constant %u, the program has %u", index, count);
    }
    const uint64_t size = segment_nbytes(constants);
    const uint64_t offset = constants.items<uint64_t>(fb::SubsegmentOffsets::VT_OFFSETS)[index];
    if (nbytes > size - offset) {
      return fail(error_, ETB_INVALID_PROGRAM, "constant %u: %llu bytes at %llu in a segment of %llu", index,
                  static_cast<Count>(nbytes), static_cast<Count>(offset), static_cast<Count>(size));
    }
    if (offset % element != 0) {
      return fail(error_, ETB_INVALID_PROGRAM,
                  "constant %u: offset %llu, expected a multiple of its element size %u", index,
                  static_cast<Count>(offset), element);
    }
    return ETB_OK;
  }

  // Releases before 0.2 stored constants in the flatbuffer.
  etb_status verify_inline_constant(uint32_t index, uint64_t nbytes) noexcept {
    const TableList constants = program_.tables(fb::Program::VT_INLINE_CONSTANTS);
    if (index >= constants.size()) {
      return fail(error_, ETB_INVALID_PROGRAM, "tensor with inline constant %u, the program has %u", index,
                  constants.size());
    }
    const uint32_t size = constants[index].count(fb::InlineBuffer::VT_STORAGE);
    if (nbytes <= size) return ETB_OK;
    return fail(error_, ETB_INVALID_PROGRAM, "inline constant %u: holds %u bytes, the tensor needs %llu",
                index, size, static_cast<Count>(nbytes));
  }

  etb_status verify_indices(FlatTable table, uint16_t slot, const char* what) noexcept {
    const auto indices = table.items<int32_t>(slot);
    ETB_CHECK(context_.spend(indices.size()));
    for (uint32_t i = 0; i < indices.size(); ++i) {
      if (!is_value(indices[i])) return out_of_range(what, i, indices[i]);
    }
    return ETB_OK;
  }

  etb_status verify_operators() noexcept {
    const TableList operators = method_.tables(fb::Method::VT_OPERATORS);
    operator_count_ = operators.size();
    ETB_CHECK(context_.spend(operator_count_));
    for (uint32_t i = 0; i < operator_count_; ++i) {
      const std::string_view name = operators[i].text(fb::Operator::VT_NAME);
      if (name.empty()) return fail(error_, ETB_INVALID_PROGRAM, "operator %u: has no name", i);
      ETB_CHECK(context_.verify_name(name));
      ETB_CHECK(context_.verify_name(operators[i].text(fb::Operator::VT_OVERLOAD)));
    }
    return ETB_OK;
  }

  etb_status verify_delegates() noexcept {
    const TableList delegates = method_.tables(fb::Method::VT_DELEGATES);
    delegate_count_ = delegates.size();
    ETB_CHECK(context_.spend(delegate_count_));
    for (uint32_t i = 0; i < delegate_count_; ++i) {
      if (const etb_status status = verify_delegate(delegates[i]); status != ETB_OK) {
        return fail_in(error_, status, "delegate %u", i);
      }
    }
    return ETB_OK;
  }

  etb_status verify_delegate(FlatTable delegate) noexcept {
    const std::string_view id = delegate.text(fb::Delegate::VT_ID);
    if (id.empty()) return fail(error_, ETB_INVALID_PROGRAM, "has no id");
    ETB_CHECK(context_.verify_name(id));
    const FlatTable payload = delegate.table(fb::Delegate::VT_PAYLOAD);
    if (!payload) return fail(error_, ETB_INVALID_PROGRAM, "has no payload");
    const auto location = payload.get<int8_t>(fb::PayloadReference::VT_LOCATION);
    const bool is_inline = location == static_cast<int8_t>(fb::PayloadLocation::INLINE);
    if (!is_inline && location != static_cast<int8_t>(fb::PayloadLocation::SEGMENT)) {
      return fail(error_, ETB_INVALID_PROGRAM, "payload location %d, expected 0 or 1", location);
    }
    const uint32_t count =
        program_.count(is_inline ? fb::Program::VT_INLINE_PAYLOADS : fb::Program::VT_SEGMENTS);
    const auto index = payload.get<uint32_t>(fb::PayloadReference::VT_INDEX);
    if (index >= count) {
      return fail(error_, ETB_INVALID_PROGRAM, "payload in %s %u, the program has %u",
                  is_inline ? "inline data" : "segment", index, count);
    }
    const TableList specs = delegate.tables(fb::Delegate::VT_COMPILE_SPECS);
    ETB_CHECK(context_.spend(specs.size()));
    for (uint32_t i = 0; i < specs.size(); ++i) {
      if (!specs[i].has(fb::CompileSpec::VT_KEY)) {
        return fail(error_, ETB_INVALID_PROGRAM, "compile spec %u: has no key", i);
      }
      ETB_CHECK(context_.verify_name(specs[i].text(fb::CompileSpec::VT_KEY)));
    }
    return ETB_OK;
  }

  etb_status verify_chains() noexcept {
    const TableList chains = method_.tables(fb::Method::VT_CHAINS);
    if (chains.size() == 0) return fail(error_, ETB_INVALID_PROGRAM, "has no chain of instructions");
    ETB_CHECK(context_.spend(chains.size()));
    for (uint32_t c = 0; c < chains.size(); ++c) {
      const TableList instructions = chains[c].tables(fb::Chain::VT_INSTRUCTIONS);
      ETB_CHECK(context_.spend(instructions.size()));
      for (uint32_t i = 0; i < instructions.size(); ++i) {
        const etb_status status = verify_instruction(instructions[i], instructions.size());
        if (status != ETB_OK) return fail_in(error_, status, "chain %u, instruction %u", c, i);
      }
    }
    return ETB_OK;
  }

  etb_status verify_instruction(FlatTable instruction, uint32_t instruction_count) noexcept {
    const FlatTable call = instruction.table(fb::Instruction::VT_CALL);
    if (!call) return fail(error_, ETB_INVALID_PROGRAM, "has no content");
    const auto kind = instruction.get<fb::InstructionUnion>(fb::Instruction::VT_CALL_TYPE);
    switch (kind) {
      case fb::InstructionUnion::KernelCall:
        ETB_CHECK(
            verify_reference("operator", call.get<int32_t>(fb::KernelCall::VT_OP_INDEX), operator_count_));
        return verify_indices(call, fb::KernelCall::VT_ARGS, "argument");
      case fb::InstructionUnion::DelegateCall:
        ETB_CHECK(verify_reference("delegate", call.get<int32_t>(fb::DelegateCall::VT_DELEGATE_INDEX),
                                   delegate_count_));
        return verify_indices(call, fb::DelegateCall::VT_ARGS, "argument");
      case fb::InstructionUnion::MoveCall:
        ETB_CHECK(
            verify_reference("move from value", call.get<int32_t>(fb::MoveCall::VT_FROM), value_count_));
        return verify_reference("move to value", call.get<int32_t>(fb::MoveCall::VT_TO), value_count_);
      case fb::InstructionUnion::JumpFalseCall:
        return verify_jump(call.get<int32_t>(fb::JumpFalseCall::VT_CONDITION),
                           call.get<int32_t>(fb::JumpFalseCall::VT_DESTINATION), instruction_count);
      case fb::InstructionUnion::FreeCall:
        return verify_free(call.get<int32_t>(fb::FreeCall::VT_VALUE));
      case fb::InstructionUnion::NONE:
        break;
    }
    return fail(error_, ETB_INVALID_PROGRAM, "kind %u, expected 1 to %u", static_cast<unsigned>(kind),
                kInstructionKindCount - 1U);
  }

  etb_status verify_reference(const char* what, int32_t index, uint32_t count) noexcept {
    if (static_cast<uint32_t>(index) < count && index >= 0) return ETB_OK;
    return fail(error_, ETB_INVALID_PROGRAM, "%s %d of %u", what, index, count);
  }

  etb_status verify_jump(int32_t condition, int32_t destination, uint32_t instruction_count) noexcept {
    ETB_CHECK(verify_reference("condition value", condition, value_count_));
    // A MoveCall may change a value's kind. This checks the kind in the file; the runtime checks again.
    const auto kind = kind_of(condition);
    if (kind != fb::ValueUnion::Bool && kind != fb::ValueUnion::Tensor) {
      return fail(error_, ETB_INVALID_PROGRAM, "jump on value %d, a %s; expected a bool or a bool tensor",
                  condition, to_text(static_cast<ValueKind>(kind)));
    }
    // A jump to one past the last instruction ends the chain.
    if (destination >= 0 && static_cast<uint32_t>(destination) <= instruction_count) return ETB_OK;
    return fail(error_, ETB_INVALID_PROGRAM, "jump to instruction %d, the chain has %u", destination,
                instruction_count);
  }

  etb_status verify_free(int32_t index) noexcept {
    ETB_CHECK(verify_reference("free of value", index, value_count_));
    if (kind_of(index) == fb::ValueUnion::Tensor) return ETB_OK;
    return fail(error_, ETB_INVALID_PROGRAM, "free of value %d, a %s; expected a tensor", index,
                to_text(static_cast<ValueKind>(kind_of(index))));
  }

  VerifyContext& context_;
  const FlatTable program_;
  const FlatTable method_;
  etb_error* error_;
  uint32_t value_count_ = 0;
  uint32_t operator_count_ = 0;
  uint32_t delegate_count_ = 0;
};

}  // namespace

etb_status verify_method(VerifyContext& context, FlatTable method) noexcept {
  return MethodVerifier(context, method).verify();
}

}  // namespace etb::format
