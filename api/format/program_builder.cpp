#include "api/format/program_builder.hpp"

#include <cstring>
#include <numeric>

#include "etb_schema/program_generated.h"

namespace etb::format {

namespace {

namespace fb = schema;
using Builder = flatbuffers::FlatBufferBuilder;
template <class T>
using Offset = flatbuffers::Offset<T>;

Offset<fb::Tensor> write_tensor(Builder& out, const TensorSpec& tensor) {
  std::vector<uint8_t> order = tensor.dim_order;
  if (order.empty()) {
    order.resize(tensor.sizes.size());
    std::iota(order.begin(), order.end(), uint8_t{0});
  }
  Offset<fb::Allocation> allocation;
  if (tensor.memory_id != 0) {
    allocation = fb::CreateAllocation(out, tensor.memory_id, static_cast<uint32_t>(tensor.memory_offset),
                                      static_cast<uint32_t>(tensor.memory_offset >> 32));
  }
  Offset<fb::TensorExtra> extra;
  if (!tensor.name.empty() || tensor.is_external) {
    extra = fb::CreateTensorExtraDirect(
        out, 0, tensor.name.c_str(),
        tensor.is_external ? fb::DataLocation::EXTERNAL : fb::DataLocation::SEGMENT);
  }
  return fb::CreateTensorDirect(out, tensor.dtype, tensor.storage_offset, &tensor.sizes, &order, false,
                                tensor.data_index, allocation, 0, static_cast<fb::Dynamism>(tensor.dynamism),
                                extra);
}

struct ValueWriter {
  Builder& out;
  using Written = std::pair<fb::ValueUnion, Offset<void>>;

  Written operator()(std::monostate) const { return {fb::ValueUnion::Null, fb::CreateNull(out).Union()}; }
  Written operator()(int64_t value) const { return {fb::ValueUnion::Int, fb::CreateInt(out, value).Union()}; }
  Written operator()(bool value) const { return {fb::ValueUnion::Bool, fb::CreateBool(out, value).Union()}; }
  Written operator()(double value) const {
    return {fb::ValueUnion::Double, fb::CreateDouble(out, value).Union()};
  }
  Written operator()(const std::string& value) const {
    return {fb::ValueUnion::String, fb::CreateStringDirect(out, value.c_str()).Union()};
  }
  Written operator()(const TensorSpec& value) const {
    return {fb::ValueUnion::Tensor, write_tensor(out, value).Union()};
  }
  Written operator()(const IntListSpec& value) const {
    return {fb::ValueUnion::IntList, fb::CreateIntListDirect(out, &value.items).Union()};
  }
  Written operator()(const DoubleListSpec& value) const {
    return {fb::ValueUnion::DoubleList, fb::CreateDoubleListDirect(out, &value.items).Union()};
  }
  Written operator()(const BoolListSpec& value) const {
    return {fb::ValueUnion::BoolList, fb::CreateBoolListDirect(out, &value.items).Union()};
  }
  Written operator()(const TensorListSpec& value) const {
    return {fb::ValueUnion::TensorList, fb::CreateTensorListDirect(out, &value.items).Union()};
  }
  Written operator()(const OptionalTensorListSpec& value) const {
    return {fb::ValueUnion::OptionalTensorList,
            fb::CreateOptionalTensorListDirect(out, &value.items).Union()};
  }
};

Offset<fb::Instruction> write_instruction(Builder& out, const InstructionSpec& spec) {
  Offset<void> call;
  switch (static_cast<fb::InstructionUnion>(spec.kind)) {
    case fb::InstructionUnion::KernelCall:
      call = fb::CreateKernelCallDirect(out, spec.a, &spec.args).Union();
      break;
    case fb::InstructionUnion::DelegateCall:
      call = fb::CreateDelegateCallDirect(out, spec.a, &spec.args).Union();
      break;
    case fb::InstructionUnion::MoveCall:
      call = fb::CreateMoveCall(out, spec.a, spec.b).Union();
      break;
    case fb::InstructionUnion::JumpFalseCall:
      call = fb::CreateJumpFalseCall(out, spec.a, spec.b).Union();
      break;
    case fb::InstructionUnion::FreeCall:
      call = fb::CreateFreeCall(out, spec.a).Union();
      break;
    default:
      call = fb::CreateFreeCall(out, spec.a).Union();  // an unknown kind, for the verifier to refuse
  }
  return fb::CreateInstruction(out, static_cast<fb::InstructionUnion>(spec.kind), call);
}

Offset<fb::Delegate> write_delegate(Builder& out, const DelegateSpec& spec) {
  std::vector<Offset<fb::CompileSpec>> specs;
  for (const auto& [key, value] : spec.compile_specs) {
    const std::vector<uint8_t> bytes(value.begin(), value.end());
    specs.push_back(fb::CreateCompileSpecDirect(out, key.c_str(), &bytes));
  }
  const auto payload =
      fb::CreatePayloadReference(out, static_cast<fb::PayloadLocation>(spec.location), spec.index);
  return fb::CreateDelegateDirect(out, spec.id.c_str(), payload, &specs);
}

Offset<fb::Method> write_method(Builder& out, const MethodSpec& spec) {
  std::vector<Offset<fb::Value>> values;
  for (const ValueSpec& value : spec.values) {
    const auto [type, content] = std::visit(ValueWriter{out}, value);
    values.push_back(fb::CreateValue(out, type, content));
  }
  std::vector<Offset<fb::Instruction>> instructions;
  for (const auto& instruction : spec.instructions)
    instructions.push_back(write_instruction(out, instruction));
  std::vector<Offset<fb::Chain>> chains;
  if (spec.has_chain) chains.push_back(fb::CreateChainDirect(out, nullptr, nullptr, &instructions));
  std::vector<Offset<fb::Operator>> operators;
  for (const auto& op : spec.operators) {
    operators.push_back(fb::CreateOperatorDirect(out, op.name.c_str(), op.overload.c_str()));
  }
  std::vector<Offset<fb::Delegate>> delegates;
  for (const auto& delegate : spec.delegates) delegates.push_back(write_delegate(out, delegate));
  return fb::CreateMethodDirect(out, spec.name.c_str(), 0, &values, &spec.inputs, &spec.outputs, &chains,
                                &operators, &delegates, &spec.arena_sizes);
}

size_t align_up(size_t value, size_t alignment) { return (value + alignment - 1) / alignment * alignment; }

template <class T>
void put(std::vector<std::byte>& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

}  // namespace

std::vector<std::byte> build_program(const ProgramSpec& spec) {
  Builder out;
  std::vector<Offset<fb::Method>> methods;
  for (const auto& method : spec.methods) methods.push_back(write_method(out, method));

  std::vector<Offset<fb::DataSegment>> segments;
  std::vector<size_t> offsets;
  size_t segments_nbytes = 0;
  for (const std::string& bytes : spec.segments) {
    offsets.push_back(align_up(segments_nbytes, spec.segment_alignment));
    segments.push_back(fb::CreateDataSegment(out, offsets.back(), bytes.size()));
    segments_nbytes = offsets.back() + bytes.size();
  }
  const auto constants =
      spec.constant_offsets.empty()
          ? Offset<fb::SubsegmentOffsets>()
          : fb::CreateSubsegmentOffsetsDirect(out, spec.constant_segment, &spec.constant_offsets);
  std::vector<Offset<fb::SubsegmentOffsets>> mutables;
  if (!spec.mutable_offsets.empty()) {
    mutables.push_back(fb::CreateSubsegmentOffsetsDirect(out, spec.mutable_segment, &spec.mutable_offsets));
  }
  std::vector<Offset<fb::NamedData>> named;
  for (const auto& [key, segment] : spec.named_data) {
    named.push_back(fb::CreateNamedDataDirect(out, key.c_str(), segment));
  }
  const auto aligned = [&](const std::string& text) {
    out.ForceVectorAlignment(text.size(), 1, 16);
    return out.CreateVector(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  std::vector<Offset<fb::InlineBuffer>> inline_constants;
  for (const auto& bytes : spec.inline_constants) {
    inline_constants.push_back(fb::CreateInlineBuffer(out, aligned(bytes)));
  }
  std::vector<Offset<fb::InlinePayload>> inline_payloads;
  for (const auto& bytes : spec.inline_payloads) {
    inline_payloads.push_back(fb::CreateInlinePayload(out, aligned(bytes)));
  }
  fb::FinishProgramBuffer(
      out, fb::CreateProgramDirect(out, spec.version, &methods, &inline_constants, &inline_payloads,
                                   &segments, constants, &mutables, &named));

  // The extended header goes between byte 8 and the rest, so only the root offset changes.
  const auto* body = reinterpret_cast<const std::byte*>(out.GetBufferPointer());
  const bool has_header = spec.header_length != 0 && !spec.segments.empty();
  const size_t inserted = has_header ? 32 : 0;
  std::vector<std::byte> file(body, body + 8);
  file.resize(8 + inserted);
  file.insert(file.end(), body + 8, body + out.GetSize());
  uint32_t root;
  std::memcpy(&root, body, sizeof(root));
  put(file, 0, static_cast<uint32_t>(root + inserted));
  if (!has_header) return file;
  const size_t flatbuffer_nbytes = file.size();
  const size_t base = align_up(flatbuffer_nbytes, spec.segment_alignment);
  std::memcpy(file.data() + 8, "eh00", 4);
  put(file, 12, spec.header_length);
  put(file, 16, uint64_t{flatbuffer_nbytes});
  put(file, 24, uint64_t{base});
  put(file, 32, uint64_t{spec.header_length >= 32 ? segments_nbytes : 0});
  file.resize(base + segments_nbytes);
  for (size_t i = 0; i < spec.segments.size(); ++i) {
    std::memcpy(file.data() + base + offsets[i], spec.segments[i].data(), spec.segments[i].size());
  }
  return file;
}

ProgramSpec add_program(int32_t count) {
  const int64_t nbytes = (int64_t{count} * 4 + 15) / 16 * 16;
  const auto vector_at = [&](int64_t offset) {
    TensorSpec tensor;
    tensor.sizes = {count};
    tensor.memory_id = 1;
    tensor.memory_offset = static_cast<uint64_t>(offset);
    return tensor;
  };
  MethodSpec method;
  method.values = {vector_at(0), vector_at(nbytes), vector_at(2 * nbytes), int64_t{1}};
  method.inputs = {0, 1};
  method.outputs = {2};
  method.operators = {{"aten::add", "out"}};
  method.instructions = {{1, 0, 0, {0, 1, 3, 2, 2}}};
  method.arena_sizes = {0, 3 * nbytes};
  ProgramSpec program;
  program.methods = {method};
  return program;
}

}  // namespace etb::format
