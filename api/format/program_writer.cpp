// SPDX-License-Identifier: Apache-2.0
#include "api/format/program_writer.hpp"

#include <algorithm>
#include <array>
#include <cassert>
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
      call = fb::CreateFreeCall(out, spec.a).Union();  // an unknown kind, which the verifier rejects
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
  const auto container =
      fb::CreateContainerMetadataDirect(out, spec.input_tree.c_str(), spec.output_tree.c_str());
  return fb::CreateMethodDirect(out, spec.name.c_str(), container, &values, &spec.inputs, &spec.outputs,
                                &chains, &operators, &delegates, &spec.arena_sizes);
}

uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

template <class T>
void put(std::vector<std::byte>& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

Offset<fb::Program> write_tables(Builder& out, const ProgramParts& parts,
                                 const std::vector<uint64_t>& segment_offsets) {
  std::vector<Offset<fb::Method>> methods;
  for (const auto& method : parts.methods) methods.push_back(write_method(out, method));
  std::vector<Offset<fb::DataSegment>> segments;
  for (size_t i = 0; i < segment_offsets.size(); ++i) {
    segments.push_back(fb::CreateDataSegment(out, segment_offsets[i], parts.segment_nbytes[i]));
  }
  const auto constants =
      parts.constant_offsets.empty()
          ? Offset<fb::SubsegmentOffsets>()
          : fb::CreateSubsegmentOffsetsDirect(out, parts.constant_segment, &parts.constant_offsets);
  std::vector<Offset<fb::SubsegmentOffsets>> mutables;
  if (!parts.mutable_offsets.empty()) {
    mutables.push_back(fb::CreateSubsegmentOffsetsDirect(out, parts.mutable_segment, &parts.mutable_offsets));
  }
  std::vector<Offset<fb::NamedData>> named;
  for (const auto& [key, segment] : parts.named_data) {
    named.push_back(fb::CreateNamedDataDirect(out, key.c_str(), segment));
  }
  const auto aligned = [&](const std::string& text) {
    out.ForceVectorAlignment(text.size(), 1, 16);
    return out.CreateVector(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  std::vector<Offset<fb::InlineBuffer>> inline_constants;
  for (const auto& bytes : parts.inline_constants) {
    inline_constants.push_back(fb::CreateInlineBuffer(out, aligned(bytes)));
  }
  std::vector<Offset<fb::InlinePayload>> inline_payloads;
  for (const auto& bytes : parts.inline_payloads) {
    inline_payloads.push_back(fb::CreateInlinePayload(out, aligned(bytes)));
  }
  return fb::CreateProgramDirect(out, parts.version, &methods, &inline_constants, &inline_payloads, &segments,
                                 constants, &mutables, &named);
}

// Writes zeros without a buffer of their length.
Status write_zeros(uint64_t count, const ByteSink& sink) {
  static constexpr std::array<std::byte, 4096> kZeros{};
  for (; count > 0;) {
    const auto part = static_cast<size_t>(std::min<uint64_t>(count, kZeros.size()));
    ETB_TRY(sink(std::span(kZeros).first(part)));
    count -= part;
  }
  return {};
}

}  // namespace

ProgramHead make_program_head(const ProgramParts& parts) {
  constexpr size_t kInserted = 32;  // the extended header
  ProgramHead head;
  uint64_t segments_nbytes = 0;
  auto inside = parts.segments_inside.begin();
  for (uint32_t i = 0; i < parts.segment_nbytes.size(); ++i) {
    if (inside != parts.segments_inside.end() && inside->segment == i) {
      head.segment_offsets.push_back(head.segment_offsets[inside->outer] + inside->offset);
      ++inside;
      continue;
    }
    head.segment_offsets.push_back(align_up(segments_nbytes, parts.segment_alignment));
    segments_nbytes = head.segment_offsets.back() + parts.segment_nbytes[i];
  }
  Builder out;
  fb::FinishProgramBuffer(out, write_tables(out, parts, head.segment_offsets));

  // The extended header is inserted after byte 8, so only the root offset changes.
  const auto* body = reinterpret_cast<const std::byte*>(out.GetBufferPointer());
  const bool has_header = parts.header_length != 0 && !parts.segment_nbytes.empty();
  const size_t inserted = has_header ? kInserted : 0;
  head.bytes.assign(body, body + 8);
  head.bytes.resize(8 + inserted);
  head.bytes.insert(head.bytes.end(), body + 8, body + out.GetSize());
  uint32_t root = 0;
  std::memcpy(&root, body, sizeof(root));
  put(head.bytes, 0, static_cast<uint32_t>(root + inserted));
  head.file_nbytes = head.bytes.size();
  if (!has_header) return head;
  head.segment_base = align_up(head.bytes.size(), parts.segment_alignment);
  head.file_nbytes = head.segment_base + segments_nbytes;
  std::memcpy(head.bytes.data() + 8, "eh00", 4);
  put(head.bytes, 12, parts.header_length);
  put(head.bytes, 16, uint64_t{head.bytes.size()});
  put(head.bytes, 24, head.segment_base);
  put(head.bytes, 32, uint64_t{parts.header_length >= 32 ? segments_nbytes : 0});
  return head;
}

Status write_program(const ProgramParts& parts, std::span<const std::vector<SegmentPiece>> segments,
                     const ByteSink& sink) {
  const ProgramHead head = make_program_head(parts);
  ETB_TRY(sink(head.bytes));
  uint64_t at = head.bytes.size();
  const auto fill_to = [&](uint64_t place) -> Status {
    assert(place >= at);
    ETB_TRY(write_zeros(place - at, sink));
    at = place;
    return {};
  };
  if (head.segment_base == 0) return {};  // without an extended header no field has the segments' offset
  auto inside = parts.segments_inside.begin();
  for (size_t i = 0; i < segments.size(); ++i) {
    if (inside != parts.segments_inside.end() && inside->segment == i) {
      ++inside;
      continue;
    }
    const uint64_t start = head.segment_base + head.segment_offsets[i];
    for (const SegmentPiece& piece : segments[i]) {
      ETB_TRY(fill_to(start + piece.offset));
      ETB_ASSIGN(const uint64_t nbytes, write_piece(piece, sink));
      at += nbytes;
    }
    ETB_TRY(fill_to(start + parts.segment_nbytes[i]));
  }
  return fill_to(head.file_nbytes);
}

Result<uint64_t> write_piece(const SegmentPiece& piece, const ByteSink& sink) {
  uint64_t nbytes = piece.bytes.size();
  if (!piece.give) {
    ETB_TRY(sink(piece.bytes));
    return nbytes;
  }
  nbytes = 0;
  ETB_TRY(piece.give([&](std::span<const std::byte> bytes) {
    nbytes += bytes.size();
    return sink(bytes);
  }));
  return nbytes;
}

}  // namespace etb::format
