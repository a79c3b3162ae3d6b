// SPDX-License-Identifier: Apache-2.0
#include "api/format/program_view.hpp"

#include "api/format/flat_table.hpp"
#include "api/format/tensor_layout.hpp"
#include "etb_schema/program_generated.h"

namespace etb::format {

namespace fb = schema;

const char* to_text(ValueKind kind) noexcept {
  constexpr const char* kTexts[kValueKindCount] = {
      "invalid", "none",     "int",         "bool",      "double",      "tensor",
      "string",  "int list", "double list", "bool list", "tensor list", "optional tensor list"};
  const auto index = static_cast<uint8_t>(kind);
  return kTexts[index < kValueKindCount ? index : 0];
}

int64_t ValueView::as_int() const noexcept { return FlatTable(table_).get<int64_t>(fb::Int::VT_INT_VAL); }
bool ValueView::as_bool() const noexcept {
  return FlatTable(table_).get<uint8_t>(fb::Bool::VT_BOOL_VAL) != 0;
}
double ValueView::as_double() const noexcept {
  return FlatTable(table_).get<double>(fb::Double::VT_DOUBLE_VAL);
}
std::string_view ValueView::as_string() const noexcept {
  return FlatTable(table_).text(fb::String::VT_STRING_VAL);
}
std::span<const int64_t> ValueView::int_list() const noexcept {
  return FlatTable(table_).items<int64_t>(fb::IntList::VT_ITEMS);
}
std::span<const double> ValueView::double_list() const noexcept {
  return FlatTable(table_).items<double>(fb::DoubleList::VT_ITEMS);
}
std::span<const uint8_t> ValueView::bool_list() const noexcept {
  return FlatTable(table_).items<uint8_t>(fb::BoolList::VT_ITEMS);
}
std::span<const int32_t> ValueView::tensor_list() const noexcept {
  // Both tables have only this field.
  return FlatTable(table_).items<int32_t>(fb::TensorList::VT_ITEMS);
}

TensorRecord ValueView::as_tensor() const noexcept {
  const FlatTable tensor(table_);
  TensorRecord record;
  record.dtype = tensor.get<uint8_t>(fb::Tensor::VT_DTYPE);
  record.dynamism = tensor.get<Dynamism>(fb::Tensor::VT_DYNAMISM);
  record.sizes = tensor.items<int32_t>(fb::Tensor::VT_SIZES);
  record.dim_order = tensor.items<uint8_t>(fb::Tensor::VT_DIM_ORDER);
  record.nbytes = checked_nbytes(record.dtype, record.sizes).value_or(0);
  record.data_index = tensor.get<uint32_t>(fb::Tensor::VT_DATA_INDEX);
  const FlatTable allocation = tensor.table(fb::Tensor::VT_ALLOCATION);
  if (allocation) {
    record.memory_id = allocation.get<uint32_t>(fb::Allocation::VT_MEMORY_ID);
    record.memory_offset = uint64_t{allocation.get<uint32_t>(fb::Allocation::VT_OFFSET_HIGH)} << 32 |
                           allocation.get<uint32_t>(fb::Allocation::VT_OFFSET_LOW);
    record.storage = record.data_index == 0 ? Storage::kPlanned : Storage::kPlannedInitialized;
  } else if (record.data_index != 0) {
    record.storage = Storage::kConstant;
  }
  if (const FlatTable extra = tensor.table(fb::Tensor::VT_EXTRA)) {
    record.device_type = extra.get<uint8_t>(fb::TensorExtra::VT_DEVICE_TYPE);
    record.name = extra.text(fb::TensorExtra::VT_FULLY_QUALIFIED_NAME);
    if (extra.get<fb::DataLocation>(fb::TensorExtra::VT_LOCATION) == fb::DataLocation::EXTERNAL)
      record.storage = allocation ? Storage::kPlannedExternal : Storage::kExternal;
  }
  return record;
}

uint32_t ChainView::instruction_count() const noexcept {
  return FlatTable(table_).count(fb::Chain::VT_INSTRUCTIONS);
}

InstructionView ChainView::instruction(uint32_t index) const noexcept {
  const FlatTable instruction = FlatTable(table_).tables(fb::Chain::VT_INSTRUCTIONS)[index];
  const FlatTable call = instruction.table(fb::Instruction::VT_CALL);
  InstructionView view{instruction.get<InstructionKind>(fb::Instruction::VT_CALL_TYPE), 0, 0, {}};
  // The first field of each call is a number of 32 bits. The second one is another, or the arguments.
  static_assert(fb::KernelCall::VT_OP_INDEX == 4 && fb::DelegateCall::VT_DELEGATE_INDEX == 4 &&
                fb::MoveCall::VT_FROM == 4 && fb::JumpFalseCall::VT_CONDITION == 4 &&
                fb::FreeCall::VT_VALUE == 4);
  static_assert(fb::KernelCall::VT_ARGS == 6 && fb::DelegateCall::VT_ARGS == 6 && fb::MoveCall::VT_TO == 6 &&
                fb::JumpFalseCall::VT_DESTINATION == 6);
  view.a = call.get<uint32_t>(fb::KernelCall::VT_OP_INDEX);
  if (view.kind <= InstructionKind::kDelegate) {
    view.args = call.items<int32_t>(fb::KernelCall::VT_ARGS);
  } else if (view.kind != InstructionKind::kFree) {
    view.b = call.get<uint32_t>(fb::MoveCall::VT_TO);
  }
  return view;
}

std::string_view DelegateView::id() const noexcept { return FlatTable(table_).text(fb::Delegate::VT_ID); }
bool DelegateView::is_inline() const noexcept {
  return FlatTable(table_)
             .table(fb::Delegate::VT_PAYLOAD)
             .get<fb::PayloadLocation>(fb::PayloadReference::VT_LOCATION) == fb::PayloadLocation::INLINE;
}
uint32_t DelegateView::payload_index() const noexcept {
  return FlatTable(table_).table(fb::Delegate::VT_PAYLOAD).get<uint32_t>(fb::PayloadReference::VT_INDEX);
}
uint32_t DelegateView::compile_spec_count() const noexcept {
  return FlatTable(table_).count(fb::Delegate::VT_COMPILE_SPECS);
}
CompileSpecView DelegateView::compile_spec(uint32_t index) const noexcept {
  const FlatTable spec = FlatTable(table_).tables(fb::Delegate::VT_COMPILE_SPECS)[index];
  return {spec.text(fb::CompileSpec::VT_KEY), spec.items<std::byte>(fb::CompileSpec::VT_VALUE)};
}

std::string_view MethodView::name() const noexcept { return FlatTable(table_).text(fb::Method::VT_NAME); }
std::span<const int32_t> MethodView::inputs() const noexcept {
  return FlatTable(table_).items<int32_t>(fb::Method::VT_INPUTS);
}
std::span<const int32_t> MethodView::outputs() const noexcept {
  return FlatTable(table_).items<int32_t>(fb::Method::VT_OUTPUTS);
}
uint32_t MethodView::value_count() const noexcept { return FlatTable(table_).count(fb::Method::VT_VALUES); }
ValueView MethodView::value(uint32_t index) const noexcept {
  const FlatTable value = FlatTable(table_).tables(fb::Method::VT_VALUES)[index];
  return {value.get<ValueKind>(fb::Value::VT_VAL_TYPE), value.table(fb::Value::VT_VAL).address()};
}
uint32_t MethodView::chain_count() const noexcept { return FlatTable(table_).count(fb::Method::VT_CHAINS); }
ChainView MethodView::chain(uint32_t index) const noexcept {
  return ChainView(FlatTable(table_).tables(fb::Method::VT_CHAINS)[index].address());
}
uint32_t MethodView::operator_count() const noexcept {
  return FlatTable(table_).count(fb::Method::VT_OPERATORS);
}
OperatorView MethodView::op(uint32_t index) const noexcept {
  const FlatTable op = FlatTable(table_).tables(fb::Method::VT_OPERATORS)[index];
  return {op.text(fb::Operator::VT_NAME), op.text(fb::Operator::VT_OVERLOAD)};
}
uint32_t MethodView::delegate_count() const noexcept {
  return FlatTable(table_).count(fb::Method::VT_DELEGATES);
}
DelegateView MethodView::delegate(uint32_t index) const noexcept {
  return DelegateView(FlatTable(table_).tables(fb::Method::VT_DELEGATES)[index].address());
}
std::span<const int64_t> MethodView::arena_sizes() const noexcept {
  return FlatTable(table_).items<int64_t>(fb::Method::VT_ARENA_SIZES);
}
bool MethodView::is_arena_on_cpu(uint32_t memory_id) const noexcept {
  const TableList devices = FlatTable(table_).tables(fb::Method::VT_ARENA_DEVICES);
  for (uint32_t i = 0; i < devices.size(); ++i) {
    if (devices[i].get<uint32_t>(fb::ArenaDevice::VT_ARENA_INDEX) == memory_id &&
        devices[i].get<uint8_t>(fb::ArenaDevice::VT_DEVICE_TYPE) != 0)
      return false;
  }
  return true;
}

uint32_t ProgramView::version() const noexcept {
  return FlatTable(root_).get<uint32_t>(fb::Program::VT_VERSION);
}
uint32_t ProgramView::method_count() const noexcept {
  return root_ == nullptr ? 0 : FlatTable(root_).count(fb::Program::VT_METHODS);
}
MethodView ProgramView::method(uint32_t index) const noexcept {
  return MethodView(FlatTable(root_).tables(fb::Program::VT_METHODS)[index].address());
}
uint32_t ProgramView::segment_count() const noexcept {
  return FlatTable(root_).count(fb::Program::VT_SEGMENTS);
}
SegmentRange ProgramView::segment(uint32_t index) const noexcept {
  const FlatTable segment = FlatTable(root_).tables(fb::Program::VT_SEGMENTS)[index];
  return {segment.get<uint64_t>(fb::DataSegment::VT_OFFSET), segment.get<uint64_t>(fb::DataSegment::VT_SIZE)};
}
std::span<const std::byte> ProgramView::inline_payload(uint32_t index) const noexcept {
  return FlatTable(root_).tables(fb::Program::VT_INLINE_PAYLOADS)[index].items<std::byte>(
      fb::InlinePayload::VT_DATA);
}
uint32_t ProgramView::named_data_count() const noexcept {
  return FlatTable(root_).count(fb::Program::VT_NAMED_DATA);
}
std::string_view ProgramView::named_data_key(uint32_t index) const noexcept {
  return FlatTable(root_).tables(fb::Program::VT_NAMED_DATA)[index].text(fb::NamedData::VT_KEY);
}
uint32_t ProgramView::named_data_segment(uint32_t index) const noexcept {
  return FlatTable(root_).tables(fb::Program::VT_NAMED_DATA)[index].get<uint32_t>(
      fb::NamedData::VT_SEGMENT_INDEX);
}
bool ProgramView::has_inline_constants() const noexcept {
  const FlatTable constants = FlatTable(root_).table(fb::Program::VT_CONSTANTS);
  return !constants || constants.count(fb::SubsegmentOffsets::VT_OFFSETS) == 0;
}
uint32_t ProgramView::constant_count() const noexcept {
  const FlatTable program(root_);
  return has_inline_constants()
             ? program.count(fb::Program::VT_INLINE_CONSTANTS)
             : program.table(fb::Program::VT_CONSTANTS).count(fb::SubsegmentOffsets::VT_OFFSETS);
}
std::span<const std::byte> ProgramView::inline_constant(uint32_t data_index) const noexcept {
  return FlatTable(root_).tables(fb::Program::VT_INLINE_CONSTANTS)[data_index].items<std::byte>(
      fb::InlineBuffer::VT_STORAGE);
}
SegmentRange ProgramView::constant_segment() const noexcept {
  // One entry is only the placeholder: no constants, and possibly no segment.
  if (has_inline_constants() || constant_count() <= 1) return {};
  const FlatTable constants = FlatTable(root_).table(fb::Program::VT_CONSTANTS);
  return segment(constants.get<uint32_t>(fb::SubsegmentOffsets::VT_SEGMENT_INDEX));
}
uint64_t ProgramView::constant_offset(uint32_t data_index) const noexcept {
  return FlatTable(root_)
      .table(fb::Program::VT_CONSTANTS)
      .items<uint64_t>(fb::SubsegmentOffsets::VT_OFFSETS)[data_index];
}
SegmentRange ProgramView::mutable_data(uint32_t data_index) const noexcept {
  // Releases up to 1.5 read list 0 for every tensor.
  const FlatTable list = FlatTable(root_).tables(fb::Program::VT_MUTABLE_DATA)[0];
  const auto range = segment(list.get<uint32_t>(fb::SubsegmentOffsets::VT_SEGMENT_INDEX));
  const uint64_t offset = list.items<uint64_t>(fb::SubsegmentOffsets::VT_OFFSETS)[data_index];
  return {range.offset + offset, range.nbytes - offset};
}

}  // namespace etb::format
