// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/testing/mutator/official_graph.hpp"

#include <cstring>

#include "plugins/gpu/official/file.hpp"
#include "plugins/gpu/testing/official_header.hpp"

namespace etb::gpu {

namespace fb = vulkan_schema;

namespace {

// Items may be at addresses that are not aligned.
template <class To, class T>
std::vector<To> copied(const flatbuffers::Vector<T>* items) {
  std::vector<To> out;
  for (uint32_t i = 0; items != nullptr && i < items->size(); ++i) {
    T item{};
    std::memcpy(&item, items->Data() + i * sizeof(T), sizeof(T));
    out.push_back(static_cast<To>(item));
  }
  return out;
}

OfficialValue decode_value(const fb::Value& from) {
  OfficialValue value;
  value.kind = from.content_type();
  if (const auto* integer = from.content_as_Integer()) value.integer = integer->value();
  if (const auto* size = from.content_as_Size()) value.integer = size->value();
  if (const auto* truth = from.content_as_Truth()) value.integer = truth->value() ? 1 : 0;
  if (const auto* number = from.content_as_Number()) value.number = number->value();
  if (const auto* text = from.content_as_Text(); text != nullptr && text->text() != nullptr)
    value.text = text->text()->str();
  if (const auto* list = from.content_as_Integers()) value.integers = copied<int64_t>(list->items());
  if (const auto* list = from.content_as_Truths()) value.integers = copied<int64_t>(list->items());
  if (const auto* list = from.content_as_Numbers()) value.numbers = copied<double>(list->items());
  if (const auto* list = from.content_as_Values()) value.values = copied<int32_t>(list->items());
  if (const auto* tensor = from.content_as_Tensor()) {
    value.element_type = tensor->element_type();
    value.staging_type = tensor->staging_type();
    value.sizes = copied<uint32_t>(tensor->sizes());
    value.constant = tensor->constant();
  }
  return value;
}

flatbuffers::Offset<void> write_content(flatbuffers::FlatBufferBuilder& builder, const OfficialValue& value) {
  switch (value.kind) {
    case fb::Content::Integer:
      return fb::CreateInteger(builder, value.integer).Union();
    case fb::Content::Number:
      return fb::CreateNumber(builder, value.number).Union();
    case fb::Content::Truth:
      return fb::CreateTruth(builder, value.integer != 0).Union();
    case fb::Content::Tensor:
      return fb::CreateTensorDirect(builder, value.element_type, &value.sizes, value.constant, -1, 255, 255,
                                    value.staging_type)
          .Union();
    case fb::Content::Integers:
      return fb::CreateIntegersDirect(builder, &value.integers).Union();
    case fb::Content::Numbers:
      return fb::CreateNumbersDirect(builder, &value.numbers).Union();
    case fb::Content::Truths: {
      const std::vector<uint8_t> flags(value.integers.begin(), value.integers.end());
      return fb::CreateTruthsDirect(builder, &flags).Union();
    }
    case fb::Content::Values:
      return fb::CreateValuesDirect(builder, &value.values).Union();
    case fb::Content::Text:
      return fb::CreateTextDirect(builder, value.text.c_str()).Union();
    case fb::Content::Size:
      return fb::CreateSize(builder, static_cast<int32_t>(value.integer)).Union();
    default:
      return fb::CreateNothing(builder).Union();
  }
}

}  // namespace

std::optional<OfficialGraph> decode_official(std::span<const std::byte> bytes) {
  const auto file = VulkanFile::read(bytes);
  if (!file) return std::nullopt;
  const fb::Graph& from = file->graph();
  OfficialGraph graph;
  for (uint32_t i = 0; i < file->value_count(); ++i) graph.values.push_back(decode_value(file->value(i)));
  for (uint32_t i = 0; from.calls() != nullptr && i < from.calls()->size(); ++i) {
    const fb::Call& call = *from.calls()->Get(i);
    graph.calls.push_back({call.op()->str(), copied<int32_t>(call.arguments()), call.debug_id()});
  }
  for (uint32_t i = 0; from.constants() != nullptr && i < from.constants()->size(); ++i) {
    const fb::Constant& constant = *from.constants()->Get(i);
    OfficialConstant& made = graph.constants.emplace_back();
    made.nbytes = constant.nbytes();
    if (constant.key() != nullptr) made.key = constant.key()->str();
    if (!made.key.empty()) continue;
    const std::span<const std::byte> stored = file->stored_bytes(constant);
    made.bytes.assign(stored.begin(), stored.end());
  }
  graph.inputs = copied<uint32_t>(from.inputs());
  graph.outputs = copied<uint32_t>(from.outputs());
  return graph;
}

std::vector<std::byte> write_official(const OfficialGraph& graph) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::Value>> values;
  std::vector<flatbuffers::Offset<fb::Call>> calls;
  std::vector<flatbuffers::Offset<fb::Constant>> constants;
  std::vector<std::byte> stored;
  for (const OfficialValue& value : graph.values)
    values.push_back(fb::CreateValue(builder, value.kind, write_content(builder, value)));
  for (const OfficialCall& call : graph.calls)
    calls.push_back(fb::CreateCallDirect(builder, call.debug_id, call.op.c_str(), &call.arguments));
  for (const OfficialConstant& constant : graph.constants) {
    const bool has_key = !constant.key.empty();
    constants.push_back(fb::CreateConstantDirect(builder, has_key ? UINT64_MAX : stored.size(),
                                                 constant.nbytes, has_key ? constant.key.c_str() : nullptr));
    if (!has_key) stored.insert(stored.end(), constant.bytes.begin(), constant.bytes.end());
  }
  builder.Finish(
      fb::CreateGraphDirect(builder, "0", &calls, &values, &graph.inputs, &graph.outputs, &constants),
      "VK00");
  return with_official_header({builder.GetBufferPointer(), builder.GetSize()}, stored);
}

}  // namespace etb::gpu
