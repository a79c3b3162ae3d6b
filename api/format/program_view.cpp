// SPDX-License-Identifier: Apache-2.0
#include "api/format/program_view.hpp"

#include "api/format/tensor_layout.hpp"
#include "etb_schema/program_generated.h"

namespace etb::format {

namespace {

namespace fb = schema;

template <class T>
const T* as(const void* table) noexcept {
  return static_cast<const T*>(table);
}

template <class T, class Vector>
std::span<const T> to_span(const Vector* vector) noexcept {
  if (vector == nullptr) return {};
  return {reinterpret_cast<const T*>(vector->Data()), vector->size()};
}

std::string_view to_view(const flatbuffers::String* string) noexcept {
  return string == nullptr ? std::string_view() : std::string_view(string->c_str(), string->size());
}

template <class Vector>
uint32_t count_of(const Vector* vector) noexcept {
  return vector == nullptr ? 0 : vector->size();
}

Storage storage_of(const fb::Tensor& tensor) noexcept {
  const bool planned = tensor.allocation() != nullptr;
  const auto* extra = tensor.extra();
  if (extra != nullptr && extra->location() == fb::DataLocation::EXTERNAL) {
    return planned ? Storage::kPlannedExternal : Storage::kExternal;
  }
  if (planned) return tensor.data_index() == 0 ? Storage::kPlanned : Storage::kPlannedInitialized;
  return tensor.data_index() == 0 ? Storage::kCaller : Storage::kConstant;
}

}  // namespace

const char* to_text(ValueKind kind) noexcept {
  constexpr const char* kTexts[kValueKindCount] = {
      "invalid", "none",     "int",         "bool",      "double",      "tensor",
      "string",  "int list", "double list", "bool list", "tensor list", "optional tensor list"};
  const auto index = static_cast<uint8_t>(kind);
  return kTexts[index < kValueKindCount ? index : 0];
}

int64_t ValueView::as_int() const noexcept { return as<fb::Int>(table_)->int_val(); }
bool ValueView::as_bool() const noexcept { return as<fb::Bool>(table_)->bool_val(); }
double ValueView::as_double() const noexcept { return as<fb::Double>(table_)->double_val(); }
std::string_view ValueView::as_string() const noexcept {
  return to_view(as<fb::String>(table_)->string_val());
}
std::span<const int64_t> ValueView::int_list() const noexcept {
  return to_span<int64_t>(as<fb::IntList>(table_)->items());
}
std::span<const double> ValueView::double_list() const noexcept {
  return to_span<double>(as<fb::DoubleList>(table_)->items());
}
std::span<const uint8_t> ValueView::bool_list() const noexcept {
  return to_span<uint8_t>(as<fb::BoolList>(table_)->items());
}
std::span<const int32_t> ValueView::tensor_list() const noexcept {
  // Both tables have only this field.
  return to_span<int32_t>(as<fb::TensorList>(table_)->items());
}

TensorRecord ValueView::as_tensor() const noexcept {
  const auto& tensor = *as<fb::Tensor>(table_);
  TensorRecord record;
  record.dtype = static_cast<uint8_t>(tensor.dtype());
  record.dynamism = static_cast<Dynamism>(tensor.dynamism());
  record.storage = storage_of(tensor);
  record.sizes = to_span<int32_t>(tensor.sizes());
  record.dim_order = to_span<uint8_t>(tensor.dim_order());
  record.nbytes = checked_nbytes(record.dtype, record.sizes).value_or(0);
  record.data_index = tensor.data_index();
  if (const auto* allocation = tensor.allocation()) {
    record.memory_id = allocation->memory_id();
    record.memory_offset = uint64_t{allocation->offset_high()} << 32 | allocation->offset_low();
  }
  if (const auto* extra = tensor.extra()) {
    record.device_type = static_cast<uint8_t>(extra->device_type());
    record.name = to_view(extra->fully_qualified_name());
  }
  return record;
}

uint32_t ChainView::instruction_count() const noexcept {
  return count_of(as<fb::Chain>(table_)->instructions());
}

InstructionView ChainView::instruction(uint32_t index) const noexcept {
  const auto* instruction = as<fb::Chain>(table_)->instructions()->Get(index);
  InstructionView view{static_cast<InstructionKind>(instruction->call_type()), 0, 0, {}};
  switch (view.kind) {
    case InstructionKind::kKernel: {
      const auto* call = instruction->call_as_KernelCall();
      view.a = static_cast<uint32_t>(call->op_index());
      view.args = to_span<int32_t>(call->args());
      break;
    }
    case InstructionKind::kDelegate: {
      const auto* call = instruction->call_as_DelegateCall();
      view.a = static_cast<uint32_t>(call->delegate_index());
      view.args = to_span<int32_t>(call->args());
      break;
    }
    case InstructionKind::kMove:
      view.a = static_cast<uint32_t>(instruction->call_as_MoveCall()->from());
      view.b = static_cast<uint32_t>(instruction->call_as_MoveCall()->to());
      break;
    case InstructionKind::kJumpFalse:
      view.a = static_cast<uint32_t>(instruction->call_as_JumpFalseCall()->condition());
      view.b = static_cast<uint32_t>(instruction->call_as_JumpFalseCall()->destination());
      break;
    case InstructionKind::kFree:
      view.a = static_cast<uint32_t>(instruction->call_as_FreeCall()->value());
      break;
  }
  return view;
}

std::string_view DelegateView::id() const noexcept { return to_view(as<fb::Delegate>(table_)->id()); }
bool DelegateView::is_inline() const noexcept {
  return as<fb::Delegate>(table_)->payload()->location() == fb::PayloadLocation::INLINE;
}
uint32_t DelegateView::payload_index() const noexcept { return as<fb::Delegate>(table_)->payload()->index(); }
uint32_t DelegateView::compile_spec_count() const noexcept {
  return count_of(as<fb::Delegate>(table_)->compile_specs());
}
CompileSpecView DelegateView::compile_spec(uint32_t index) const noexcept {
  const auto* spec = as<fb::Delegate>(table_)->compile_specs()->Get(index);
  return {to_view(spec->key()), to_span<std::byte>(spec->value())};
}

std::string_view MethodView::name() const noexcept { return to_view(as<fb::Method>(table_)->name()); }
std::span<const int32_t> MethodView::inputs() const noexcept {
  return to_span<int32_t>(as<fb::Method>(table_)->inputs());
}
std::span<const int32_t> MethodView::outputs() const noexcept {
  return to_span<int32_t>(as<fb::Method>(table_)->outputs());
}
uint32_t MethodView::value_count() const noexcept { return count_of(as<fb::Method>(table_)->values()); }
ValueView MethodView::value(uint32_t index) const noexcept {
  const auto* value = as<fb::Method>(table_)->values()->Get(index);
  return {static_cast<ValueKind>(value->val_type()), value->val()};
}
uint32_t MethodView::chain_count() const noexcept { return count_of(as<fb::Method>(table_)->chains()); }
ChainView MethodView::chain(uint32_t index) const noexcept {
  return ChainView(as<fb::Method>(table_)->chains()->Get(index));
}
uint32_t MethodView::operator_count() const noexcept { return count_of(as<fb::Method>(table_)->operators()); }
OperatorView MethodView::op(uint32_t index) const noexcept {
  const auto* op = as<fb::Method>(table_)->operators()->Get(index);
  return {to_view(op->name()), to_view(op->overload())};
}
uint32_t MethodView::delegate_count() const noexcept { return count_of(as<fb::Method>(table_)->delegates()); }
DelegateView MethodView::delegate(uint32_t index) const noexcept {
  return DelegateView(as<fb::Method>(table_)->delegates()->Get(index));
}
std::span<const int64_t> MethodView::arena_sizes() const noexcept {
  return to_span<int64_t>(as<fb::Method>(table_)->arena_sizes());
}
bool MethodView::is_arena_on_cpu(uint32_t memory_id) const noexcept {
  const auto* devices = as<fb::Method>(table_)->arena_devices();
  for (uint32_t i = 0; i < count_of(devices); ++i) {
    const auto* device = devices->Get(i);
    if (device->arena_index() == static_cast<int64_t>(memory_id) && device->device_type() != 0) return false;
  }
  return true;
}

uint32_t ProgramView::version() const noexcept { return as<fb::Program>(root_)->version(); }
uint32_t ProgramView::method_count() const noexcept {
  return root_ == nullptr ? 0 : count_of(as<fb::Program>(root_)->methods());
}
MethodView ProgramView::method(uint32_t index) const noexcept {
  return MethodView(as<fb::Program>(root_)->methods()->Get(index));
}
uint32_t ProgramView::segment_count() const noexcept { return count_of(as<fb::Program>(root_)->segments()); }
SegmentRange ProgramView::segment(uint32_t index) const noexcept {
  const auto* segment = as<fb::Program>(root_)->segments()->Get(index);
  return {segment->offset(), segment->size()};
}
std::span<const std::byte> ProgramView::inline_payload(uint32_t index) const noexcept {
  return to_span<std::byte>(as<fb::Program>(root_)->inline_payloads()->Get(index)->data());
}
uint32_t ProgramView::named_data_count() const noexcept {
  return count_of(as<fb::Program>(root_)->named_data());
}
std::string_view ProgramView::named_data_key(uint32_t index) const noexcept {
  return to_view(as<fb::Program>(root_)->named_data()->Get(index)->key());
}
uint32_t ProgramView::named_data_segment(uint32_t index) const noexcept {
  return as<fb::Program>(root_)->named_data()->Get(index)->segment_index();
}
bool ProgramView::has_inline_constants() const noexcept {
  const auto* constants = as<fb::Program>(root_)->constants();
  return constants == nullptr || count_of(constants->offsets()) == 0;
}
uint32_t ProgramView::constant_count() const noexcept {
  const auto* program = as<fb::Program>(root_);
  return has_inline_constants() ? count_of(program->inline_constants())
                                : count_of(program->constants()->offsets());
}
std::span<const std::byte> ProgramView::inline_constant(uint32_t data_index) const noexcept {
  return to_span<std::byte>(as<fb::Program>(root_)->inline_constants()->Get(data_index)->storage());
}
SegmentRange ProgramView::constant_segment() const noexcept {
  // One entry is only the placeholder: no constants, and possibly no segment.
  if (has_inline_constants() || constant_count() <= 1) return {};
  return segment(as<fb::Program>(root_)->constants()->segment_index());
}
uint64_t ProgramView::constant_offset(uint32_t data_index) const noexcept {
  return as<fb::Program>(root_)->constants()->offsets()->Get(data_index);
}
SegmentRange ProgramView::mutable_data(uint32_t data_index) const noexcept {
  // Releases up to 1.5 read list 0 for every tensor.
  const auto* list = as<fb::Program>(root_)->mutable_data()->Get(0);
  const auto range = segment(list->segment_index());
  const uint64_t offset = list->offsets()->Get(data_index);
  return {range.offset + offset, range.nbytes - offset};
}

}  // namespace etb::format
