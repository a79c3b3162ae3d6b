// SPDX-License-Identifier: Apache-2.0
// Writer of ETDump files.
#include <algorithm>

#include "api/format/etdump.hpp"
#include "etb_schema/etdump_generated.h"

namespace etb::format {
namespace {

namespace fb = etdump_schema;
using Builder = flatbuffers::FlatBufferBuilder;
template <class T>
using Offset = flatbuffers::Offset<T>;

constexpr uint32_t kVersion = 0;
// Lower bounds on the bytes of an event: the sum of all stays far below the limit of a flatbuffer.
constexpr uint64_t kEventNbytes = 128, kDimNbytes = 16;
constexpr uint64_t kMaxNbytes = uint64_t{1} << 30;

Offset<flatbuffers::String> text_or_none(Builder& out, const std::string& text) {
  return text.empty() ? 0 : out.CreateSharedString(text);
}

Offset<fb::Event> add_event(Builder& out, const EtdumpEvent& event) {
  // An event inside a delegate has ids instead of a name, and its metadata even when empty.
  const bool is_inside = event.is_of_delegate();
  const auto name = is_inside ? text_or_none(out, event.name) : out.CreateSharedString(event.name);
  const auto debug_name = text_or_none(out, event.delegate_debug_name);
  const auto metadata = is_inside ? out.CreateVector(reinterpret_cast<const uint8_t*>(event.metadata.data()),
                                                     event.metadata.size())
                                  : Offset<flatbuffers::Vector<uint8_t>>();
  return fb::CreateEvent(out, fb::CreateProfileEvent(out, name, event.chain_index, event.instruction_index,
                                                     event.delegate_debug_id, debug_name, metadata,
                                                     event.begin_ns, event.end_ns));
}

Offset<fb::TensorValue> add_tensor(Builder& out, const EtdumpTensor& tensor) {
  const auto sizes = out.CreateVector(tensor.sizes);
  const auto strides = out.CreateVector(tensor.strides);
  return fb::CreateTensorValue(out, static_cast<int8_t>(tensor.dtype), sizes, strides, tensor.offset);
}

Offset<fb::Value> add_value(Builder& out, const EtdumpValue& value, bool is_output) {
  Offset<fb::TensorValue> tensor;
  Offset<fb::TensorListValue> list;
  Offset<fb::IntValue> integer;
  Offset<fb::FloatValue> single;
  Offset<fb::DoubleValue> real;
  Offset<fb::BoolValue> boolean;
  switch (value.kind) {
    case EtdumpValueKind::kNone:
    case EtdumpValueKind::kString:
      break;
    case EtdumpValueKind::kInt:
      integer = fb::CreateIntValue(out, value.integer);
      break;
    case EtdumpValueKind::kBool:
      boolean = fb::CreateBoolValue(out, value.boolean);
      break;
    case EtdumpValueKind::kFloat:
      single = fb::CreateFloatValue(out, static_cast<float>(value.real));
      break;
    case EtdumpValueKind::kDouble:
      real = fb::CreateDoubleValue(out, value.real);
      break;
    case EtdumpValueKind::kTensor:
      tensor = add_tensor(out, value.tensors.empty() ? EtdumpTensor() : value.tensors.front());
      break;
    case EtdumpValueKind::kTensorList: {
      std::vector<Offset<fb::TensorValue>> tensors;
      tensors.reserve(value.tensors.size());
      for (const EtdumpTensor& item : value.tensors) tensors.push_back(add_tensor(out, item));
      list = fb::CreateTensorListValue(out, out.CreateVector(tensors));
      break;
    }
  }
  const auto output = is_output ? fb::CreateBoolValue(out, true) : Offset<fb::BoolValue>();
  return fb::CreateValue(out, static_cast<fb::ValueKind>(value.kind), tensor, list, integer, single, real,
                         boolean, output);
}

Offset<fb::Event> add_debug_event(Builder& out, const EtdumpDebugEvent& event) {
  const auto value = add_value(out, event.value, event.is_output);
  const auto debug_name = text_or_none(out, event.delegate_debug_name);
  const auto name = text_or_none(out, event.name);
  // -1 is the largest number of the field.
  const auto chain = static_cast<uint64_t>(int64_t{event.chain_index});
  return fb::CreateEvent(out, 0, 0,
                         fb::CreateDebugEvent(out, chain, event.instruction_index, value,
                                              event.delegate_debug_id, debug_name, name));
}

Offset<fb::Event> add_allocation(Builder& out, const EtdumpAllocation& allocation) {
  return fb::CreateEvent(out, 0,
                         fb::CreateAllocationEvent(out, allocation.allocator_index, allocation.nbytes));
}

Offset<fb::Block> add_block(Builder& out, const EtdumpBlock& block) {
  std::vector<std::pair<uint32_t, Offset<fb::Event>>> placed;
  placed.reserve(block.events.size() + block.allocations.size() + block.values.size());
  for (const EtdumpEvent& event : block.events) placed.emplace_back(event.position, add_event(out, event));
  for (const EtdumpAllocation& allocation : block.allocations)
    placed.emplace_back(allocation.position, add_allocation(out, allocation));
  for (const EtdumpDebugEvent& value : block.values)
    placed.emplace_back(value.position, add_debug_event(out, value));
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Offset<fb::Event>> events;
  events.reserve(placed.size());
  for (const auto& [position, event] : placed) events.push_back(event);
  std::vector<Offset<fb::Allocator>> allocators;
  for (const std::string& name : block.allocators)
    allocators.push_back(fb::CreateAllocator(out, out.CreateSharedString(name)));
  const auto name = out.CreateString(block.name);
  const auto named = allocators.empty() ? Offset<flatbuffers::Vector<Offset<fb::Allocator>>>()
                                        : out.CreateVector(allocators);
  return fb::CreateBlock(out, name, block.bundled_input_index, named, out.CreateVector(events));
}

uint64_t nbytes_of(const EtdumpBlock& block) {
  uint64_t nbytes = kEventNbytes * block.allocations.size();
  for (const std::string& name : block.allocators) nbytes += kDimNbytes + name.size();
  for (const EtdumpEvent& event : block.events)
    nbytes += kEventNbytes + event.name.size() + event.delegate_debug_name.size() + event.metadata.size();
  for (const EtdumpDebugEvent& event : block.values) {
    nbytes += kEventNbytes + event.name.size() + event.delegate_debug_name.size();
    for (const EtdumpTensor& tensor : event.value.tensors)
      nbytes += kEventNbytes + kDimNbytes * tensor.sizes.size();
  }
  return nbytes;
}

}  // namespace

Result<std::vector<std::byte>> write_etdump(std::span<const EtdumpBlock> blocks) {
  uint64_t nbytes = 0;
  for (const EtdumpBlock& block : blocks) nbytes += nbytes_of(block);
  if (nbytes > kMaxNbytes)
    return make_error(Code::OUT_OF_RESOURCES, "events of about " + std::to_string(nbytes) +
                                                  " bytes, expected at most " + std::to_string(kMaxNbytes) +
                                                  "\nhint: record fewer runs");
  Builder out;
  std::vector<Offset<fb::Block>> rows;
  for (const EtdumpBlock& block : blocks) rows.push_back(add_block(out, block));
  fb::FinishSizePrefixedDumpBuffer(out, fb::CreateDump(out, kVersion, out.CreateVector(rows)));
  const auto* const bytes = reinterpret_cast<const std::byte*>(out.GetBufferPointer());
  return std::vector<std::byte>(bytes, bytes + out.GetSize());
}

}  // namespace etb::format
