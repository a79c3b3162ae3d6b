// SPDX-License-Identifier: Apache-2.0
// Verifies methods: values, memory plan, operators, delegates, instructions.
#include <cinttypes>

#include "api/format/program_verify.hpp"
#include "api/format/program_view.hpp"
#include "api/format/tensor_layout.hpp"

namespace etb::format {

namespace {

namespace fb = schema;

class MethodVerifier {
 public:
  MethodVerifier(VerifyContext& context, const fb::Method& method) noexcept
      : context_(context), program_(context.program), method_(method), error_(context.error) {}

  etb_status verify() noexcept {
    ETB_CHECK(verify_arenas());
    ETB_CHECK(context_.spend(count_of(method_.values())));
    for (uint32_t i = 0; i < count_of(method_.values()); ++i) {
      if (const etb_status status = verify_value(*method_.values()->Get(i)); status != ETB_OK) {
        return fail_in(error_, status, "value %u", i);
      }
    }
    ETB_CHECK(verify_indices(method_.inputs(), "input"));
    ETB_CHECK(verify_indices(method_.outputs(), "output"));
    ETB_CHECK(verify_operators());
    ETB_CHECK(verify_delegates());
    return verify_chains();
  }

 private:
  uint32_t value_count() const noexcept { return count_of(method_.values()); }

  // Returns the kind of a value, or NONE when the index is out of range.
  fb::ValueUnion kind_of(int64_t index) const noexcept {
    if (index < 0 || index >= value_count()) return fb::ValueUnion::NONE;
    return method_.values()->Get(static_cast<uint32_t>(index))->val_type();
  }

  bool is_value(int64_t index) const noexcept { return index >= 0 && index < value_count(); }

  etb_status out_of_range(const char* what, uint32_t position, int64_t index) const noexcept {
    return fail(error_, ETB_INVALID_PROGRAM, "%s %u: value %" PRId64 ", the method has %u values", what,
                position, index, value_count());
  }

  etb_status verify_arenas() noexcept {
    const auto* sizes = method_.arena_sizes();
    // Each arena is searched in the list of devices.
    ETB_CHECK(
        context_.spend((uint64_t{count_of(sizes)} + 1) * (uint64_t{count_of(method_.arena_devices())} + 1)));
    if (!is_aligned(sizes))
      return fail(error_, ETB_INVALID_PROGRAM, "arena sizes are not on an 8-byte boundary");
    for (uint32_t i = 0; i < count_of(sizes); ++i) {
      if (sizes->Get(i) >= 0) continue;
      return fail(error_, ETB_INVALID_PROGRAM, "arena %u: size %" PRId64, i, sizes->Get(i));
    }
    return ETB_OK;
  }

  etb_status verify_value(const fb::Value& value) noexcept {
    if (value.val() == nullptr) return fail(error_, ETB_INVALID_PROGRAM, "has no content");
    switch (value.val_type()) {
      case fb::ValueUnion::Null:
      case fb::ValueUnion::Int:
      case fb::ValueUnion::Bool:
      case fb::ValueUnion::Double:
        return ETB_OK;
      case fb::ValueUnion::String:
        if (value.val_as_String()->string_val() != nullptr) return ETB_OK;
        return fail(error_, ETB_INVALID_PROGRAM, "string without text");
      case fb::ValueUnion::Tensor:
        return verify_tensor(*value.val_as_Tensor());
      case fb::ValueUnion::IntList:
        return verify_list(value.val_as_IntList()->items(), fb::ValueUnion::Int, false);
      case fb::ValueUnion::TensorList:
        return verify_list(value.val_as_TensorList()->items(), fb::ValueUnion::Tensor, false);
      case fb::ValueUnion::OptionalTensorList:
        return verify_list(value.val_as_OptionalTensorList()->items(), fb::ValueUnion::Tensor, true);
      case fb::ValueUnion::DoubleList:
        return verify_literals(value.val_as_DoubleList()->items());
      case fb::ValueUnion::BoolList:
        return verify_literals(value.val_as_BoolList()->items());
      case fb::ValueUnion::NONE:
        break;
    }
    return fail(error_, ETB_INVALID_PROGRAM, "kind %u, expected 1 to %u",
                static_cast<unsigned>(value.val_type()), kValueKindCount - 1U);
  }

  template <class T>
  etb_status verify_literals(const flatbuffers::Vector<T>* items) noexcept {
    ETB_CHECK(context_.spend(count_of(items)));
    return is_aligned(items) ? ETB_OK : fail(error_, ETB_INVALID_PROGRAM, "list items are not aligned");
  }

  template <class T>
  etb_status verify_list(const flatbuffers::Vector<T>* items, fb::ValueUnion expected,
                         bool may_be_none) noexcept {
    ETB_CHECK(verify_literals(items));
    for (uint32_t i = 0; i < count_of(items); ++i) {
      const int64_t index = items->Get(i);
      if ((may_be_none && index == -1) || kind_of(index) == expected) continue;
      if (!is_value(index)) return out_of_range("list item", i, index);
      return fail(error_, ETB_INVALID_PROGRAM, "list item %u: value %" PRId64 " is a %s, expected a %s", i,
                  index, to_text(static_cast<ValueKind>(kind_of(index))),
                  to_text(static_cast<ValueKind>(expected)));
    }
    return ETB_OK;
  }

  etb_status verify_tensor(const fb::Tensor& tensor) noexcept {
    const auto dtype = static_cast<uint8_t>(tensor.dtype());
    const uint32_t element = element_nbytes(dtype);
    if (element == 0) return fail(error_, ETB_INVALID_PROGRAM, "tensor of dtype code %u", dtype);
    if (tensor.storage_offset() != 0) {
      return fail(error_, ETB_INVALID_PROGRAM, "tensor with storage offset %d, expected 0",
                  tensor.storage_offset());
    }
    const auto* sizes = tensor.sizes();
    const auto* order = tensor.dim_order();
    if (sizes == nullptr || order == nullptr) {
      return fail(error_, ETB_INVALID_PROGRAM, "tensor without %s", sizes == nullptr ? "sizes" : "dim order");
    }
    if (sizes->size() > kMaxRank || sizes->size() != order->size()) {
      return fail(error_, ETB_INVALID_PROGRAM,
                  "tensor of rank %u with a dim order of %u, expected equal and at most %zu", sizes->size(),
                  order->size(), kMaxRank);
    }
    ETB_CHECK(context_.spend(sizes->size()));
    if (!is_permutation({order->Data(), order->size()})) {
      return fail(error_, ETB_INVALID_PROGRAM,
                  "tensor whose dim order is no permutation of its %u dimensions", order->size());
    }
    const auto nbytes =
        checked_nbytes(dtype, {reinterpret_cast<const int32_t*>(sizes->Data()), sizes->size()});
    if (!nbytes) return fail(error_, ETB_INVALID_PROGRAM, "tensor with a negative size or too many elements");
    if (tensor.dynamism() < fb::Dynamism::STATIC || tensor.dynamism() > fb::Dynamism::UNBOUNDED) {
      return fail(error_, ETB_INVALID_PROGRAM, "tensor of dynamism %d, expected 0 to 2",
                  static_cast<int>(tensor.dynamism()));
    }
    return verify_storage(tensor, element, *nbytes);
  }

  etb_status verify_storage(const fb::Tensor& tensor, uint32_t element, uint64_t nbytes) noexcept {
    const bool is_external =
        tensor.extra() != nullptr && tensor.extra()->location() != fb::DataLocation::SEGMENT;
    if (is_external && tensor.extra()->location() != fb::DataLocation::EXTERNAL) {
      return fail(error_, ETB_INVALID_PROGRAM, "tensor with data location %d, expected 0 or 1",
                  static_cast<int>(tensor.extra()->location()));
    }
    if (is_external && count_of(tensor.extra()->fully_qualified_name()) == 0) {
      return fail(error_, ETB_INVALID_PROGRAM, "external tensor without a name");
    }
    if (is_external) ETB_CHECK(context_.verify_name(tensor.extra()->fully_qualified_name()));
    if (tensor.allocation() != nullptr) ETB_CHECK(verify_allocation(*tensor.allocation(), element, nbytes));
    if (is_external || tensor.data_index() == 0) return ETB_OK;
    return tensor.allocation() != nullptr ? verify_initial_value(tensor.data_index(), nbytes)
                                          : verify_constant(tensor.data_index(), element, nbytes);
  }

  etb_status verify_allocation(const fb::Allocation& allocation, uint32_t element, uint64_t nbytes) noexcept {
    const uint32_t arena = allocation.memory_id();
    const uint32_t count = count_of(method_.arena_sizes());
    if (arena == 0 || arena >= count) {
      return fail(error_, ETB_INVALID_PROGRAM, "tensor in arena %u, the method has arenas 1 to %u", arena,
                  count == 0 ? 0 : count - 1);
    }
    const uint64_t offset = uint64_t{allocation.offset_high()} << 32 | allocation.offset_low();
    const auto size = static_cast<uint64_t>(method_.arena_sizes()->Get(arena));
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

  etb_status verify_initial_value(uint32_t index, uint64_t nbytes) noexcept {
    const auto* lists = program_.mutable_data();
    const auto* list = count_of(lists) == 0 ? nullptr : lists->Get(0);
    const uint32_t count = list == nullptr ? 0 : count_of(list->offsets());
    if (index >= count) {
      return fail(error_, ETB_INVALID_PROGRAM, "tensor with initial value %u, the program has %u", index,
                  count);
    }
    const uint64_t size = program_.segments()->Get(list->segment_index())->size();
    if (nbytes > size - list->offsets()->Get(index)) {
      return fail(error_, ETB_INVALID_PROGRAM, "initial value %u: %llu bytes at %llu in a segment of %llu",
                  index, static_cast<Count>(nbytes), static_cast<Count>(list->offsets()->Get(index)),
                  static_cast<Count>(size));
    }
    return ETB_OK;
  }

  etb_status verify_constant(uint32_t index, uint32_t element, uint64_t nbytes) noexcept {
    const auto* constants = program_.constants();
    const uint32_t count = constants == nullptr ? 0 : count_of(constants->offsets());
    if (count == 0) return verify_inline_constant(index, nbytes);
    if (index >= count) {
      return fail(error_, ETB_INVALID_PROGRAM, "tensor with constant %u, the program has %u", index, count);
    }
    const auto* segment = program_.segments()->Get(constants->segment_index());
    const uint64_t offset = constants->offsets()->Get(index);
    if (nbytes > segment->size() - offset) {
      return fail(error_, ETB_INVALID_PROGRAM, "constant %u: %llu bytes at %llu in a segment of %llu", index,
                  static_cast<Count>(nbytes), static_cast<Count>(offset),
                  static_cast<Count>(segment->size()));
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
    const auto* constants = program_.inline_constants();
    if (index >= count_of(constants)) {
      return fail(error_, ETB_INVALID_PROGRAM, "tensor with inline constant %u, the program has %u", index,
                  count_of(constants));
    }
    const uint64_t size = count_of(constants->Get(index)->storage());
    if (nbytes <= size) return ETB_OK;
    return fail(error_, ETB_INVALID_PROGRAM, "inline constant %u: holds %llu bytes, the tensor needs %llu",
                index, static_cast<Count>(size), static_cast<Count>(nbytes));
  }

  etb_status verify_indices(const flatbuffers::Vector<int32_t>* indices, const char* what) noexcept {
    ETB_CHECK(context_.spend(count_of(indices)));
    for (uint32_t i = 0; i < count_of(indices); ++i) {
      if (!is_value(indices->Get(i))) return out_of_range(what, i, indices->Get(i));
    }
    return ETB_OK;
  }

  etb_status verify_operators() noexcept {
    ETB_CHECK(context_.spend(count_of(method_.operators())));
    for (uint32_t i = 0; i < count_of(method_.operators()); ++i) {
      if (count_of(method_.operators()->Get(i)->name()) == 0) {
        return fail(error_, ETB_INVALID_PROGRAM, "operator %u: has no name", i);
      }
      ETB_CHECK(context_.verify_name(method_.operators()->Get(i)->name()));
      ETB_CHECK(context_.verify_name(method_.operators()->Get(i)->overload()));
    }
    return ETB_OK;
  }

  etb_status verify_delegates() noexcept {
    ETB_CHECK(context_.spend(count_of(method_.delegates())));
    for (uint32_t i = 0; i < count_of(method_.delegates()); ++i) {
      if (const etb_status status = verify_delegate(*method_.delegates()->Get(i)); status != ETB_OK) {
        return fail_in(error_, status, "delegate %u", i);
      }
    }
    return ETB_OK;
  }

  etb_status verify_delegate(const fb::Delegate& delegate) noexcept {
    if (count_of(delegate.id()) == 0) return fail(error_, ETB_INVALID_PROGRAM, "has no id");
    ETB_CHECK(context_.verify_name(delegate.id()));
    const auto* payload = delegate.payload();
    if (payload == nullptr) return fail(error_, ETB_INVALID_PROGRAM, "has no payload");
    const bool is_inline = payload->location() == fb::PayloadLocation::INLINE;
    if (!is_inline && payload->location() != fb::PayloadLocation::SEGMENT) {
      return fail(error_, ETB_INVALID_PROGRAM, "payload location %d, expected 0 or 1",
                  static_cast<int>(payload->location()));
    }
    const uint32_t count = is_inline ? count_of(program_.inline_payloads()) : count_of(program_.segments());
    if (payload->index() >= count) {
      return fail(error_, ETB_INVALID_PROGRAM, "payload in %s %u, the program has %u",
                  is_inline ? "inline data" : "segment", payload->index(), count);
    }
    ETB_CHECK(context_.spend(count_of(delegate.compile_specs())));
    for (uint32_t i = 0; i < count_of(delegate.compile_specs()); ++i) {
      if (delegate.compile_specs()->Get(i)->key() == nullptr) {
        return fail(error_, ETB_INVALID_PROGRAM, "compile spec %u: has no key", i);
      }
      ETB_CHECK(context_.verify_name(delegate.compile_specs()->Get(i)->key()));
    }
    return ETB_OK;
  }

  etb_status verify_chains() noexcept {
    const auto* chains = method_.chains();
    if (count_of(chains) == 0) return fail(error_, ETB_INVALID_PROGRAM, "has no chain of instructions");
    ETB_CHECK(context_.spend(chains->size()));
    for (uint32_t c = 0; c < chains->size(); ++c) {
      const auto* instructions = chains->Get(c)->instructions();
      ETB_CHECK(context_.spend(count_of(instructions)));
      for (uint32_t i = 0; i < count_of(instructions); ++i) {
        const etb_status status = verify_instruction(*instructions->Get(i), count_of(instructions));
        if (status != ETB_OK) return fail_in(error_, status, "chain %u, instruction %u", c, i);
      }
    }
    return ETB_OK;
  }

  etb_status verify_instruction(const fb::Instruction& instruction, uint32_t instruction_count) noexcept {
    if (instruction.call() == nullptr) return fail(error_, ETB_INVALID_PROGRAM, "has no content");
    switch (instruction.call_type()) {
      case fb::InstructionUnion::KernelCall: {
        const auto& call = *instruction.call_as_KernelCall();
        ETB_CHECK(verify_reference("operator", call.op_index(), count_of(method_.operators())));
        return verify_indices(call.args(), "argument");
      }
      case fb::InstructionUnion::DelegateCall: {
        const auto& call = *instruction.call_as_DelegateCall();
        ETB_CHECK(verify_reference("delegate", call.delegate_index(), count_of(method_.delegates())));
        return verify_indices(call.args(), "argument");
      }
      case fb::InstructionUnion::MoveCall: {
        const auto& call = *instruction.call_as_MoveCall();
        ETB_CHECK(verify_reference("move from value", call.from(), value_count()));
        return verify_reference("move to value", call.to(), value_count());
      }
      case fb::InstructionUnion::JumpFalseCall:
        return verify_jump(*instruction.call_as_JumpFalseCall(), instruction_count);
      case fb::InstructionUnion::FreeCall:
        return verify_free(instruction.call_as_FreeCall()->value());
      case fb::InstructionUnion::NONE:
        break;
    }
    return fail(error_, ETB_INVALID_PROGRAM, "kind %u, expected 1 to %u",
                static_cast<unsigned>(instruction.call_type()), kInstructionKindCount - 1U);
  }

  etb_status verify_reference(const char* what, int32_t index, uint32_t count) noexcept {
    if (index >= 0 && static_cast<uint32_t>(index) < count) return ETB_OK;
    return fail(error_, ETB_INVALID_PROGRAM, "%s %d of %u", what, index, count);
  }

  etb_status verify_jump(const fb::JumpFalseCall& call, uint32_t instruction_count) noexcept {
    ETB_CHECK(verify_reference("condition value", call.condition(), value_count()));
    // A MoveCall may change a value's kind. This checks the kind in the file; the runtime checks again.
    const auto kind = kind_of(call.condition());
    if (kind != fb::ValueUnion::Bool && kind != fb::ValueUnion::Tensor) {
      return fail(error_, ETB_INVALID_PROGRAM, "jump on value %d, a %s; expected a bool or a bool tensor",
                  call.condition(), to_text(static_cast<ValueKind>(kind)));
    }
    // A jump to one past the last instruction ends the chain.
    if (call.destination() >= 0 && static_cast<uint32_t>(call.destination()) <= instruction_count)
      return ETB_OK;
    return fail(error_, ETB_INVALID_PROGRAM, "jump to instruction %d, the chain has %u", call.destination(),
                instruction_count);
  }

  etb_status verify_free(int32_t index) noexcept {
    ETB_CHECK(verify_reference("free of value", index, value_count()));
    if (kind_of(index) == fb::ValueUnion::Tensor) return ETB_OK;
    return fail(error_, ETB_INVALID_PROGRAM, "free of value %d, a %s; expected a tensor", index,
                to_text(static_cast<ValueKind>(kind_of(index))));
  }

  VerifyContext& context_;
  const fb::Program& program_;
  const fb::Method& method_;
  etb_error* error_;
};

}  // namespace

etb_status verify_method(VerifyContext& context, const schema::Method& method) noexcept {
  return MethodVerifier(context, method).verify();
}

}  // namespace etb::format
