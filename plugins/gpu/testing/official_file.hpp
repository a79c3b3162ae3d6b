// SPDX-License-Identifier: Apache-2.0
// For tests: writes official payloads and reads them.
#pragma once

#include <string>
#include <vector>

#include "etb_schema/vulkan_graph_generated.h"
#include "plugins/gpu/official/payload.hpp"
#include "plugins/gpu/testing/official_header.hpp"
#include "plugins/gpu/testing/zero_data.hpp"

namespace etb::gpu {

// Element types of tensors.
inline constexpr int8_t kBool = 0, kUint8 = 1, kInt8 = 2, kInt32 = 3, kFloat32 = 5;

// An official payload that a test writes value by value. Functions return the index of the value that they add.
struct OfficialFile {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<vulkan_schema::Value>> values;
  std::vector<flatbuffers::Offset<vulkan_schema::Call>> calls;
  std::vector<flatbuffers::Offset<vulkan_schema::Constant>> constants;
  std::vector<uint32_t> inputs, outputs;

  int32_t add(vulkan_schema::Content kind, flatbuffers::Offset<void> content) {
    values.push_back(vulkan_schema::CreateValue(builder, kind, content));
    return static_cast<int32_t>(values.size() - 1);
  }
  int32_t tensor(std::vector<uint32_t> sizes, int8_t type = kFloat32, int32_t constant = -1) {
    return add(vulkan_schema::Content::Tensor,
               vulkan_schema::CreateTensorDirect(builder, type, &sizes, constant, -1).Union());
  }
  int32_t integer(int64_t value) {
    return add(vulkan_schema::Content::Integer, vulkan_schema::CreateInteger(builder, value).Union());
  }
  int32_t number(double value) {
    return add(vulkan_schema::Content::Number, vulkan_schema::CreateNumber(builder, value).Union());
  }
  int32_t list(std::vector<int32_t> items) {
    return add(vulkan_schema::Content::Values, vulkan_schema::CreateValuesDirect(builder, &items).Union());
  }
  int32_t integers(std::vector<int64_t> items) {
    return add(vulkan_schema::Content::Integers,
               vulkan_schema::CreateIntegersDirect(builder, &items).Union());
  }
  int32_t flag(bool value) {
    return add(vulkan_schema::Content::Truth, vulkan_schema::CreateTruth(builder, value).Union());
  }
  int32_t text(const char* value) {
    return add(vulkan_schema::Content::Text, vulkan_schema::CreateTextDirect(builder, value).Union());
  }
  int32_t size() { return add(vulkan_schema::Content::Size, vulkan_schema::CreateSize(builder, 0).Union()); }
  int32_t nothing() {
    return add(vulkan_schema::Content::Nothing, vulkan_schema::CreateNothing(builder).Union());
  }
  void constant(const char* key, uint64_t nbytes) {
    constants.push_back(vulkan_schema::CreateConstantDirect(builder, UINT64_MAX, nbytes, key));
  }
  void call(const char* op, std::vector<int32_t> arguments) {
    calls.push_back(
        vulkan_schema::CreateCallDirect(builder, static_cast<uint32_t>(calls.size()), op, &arguments));
  }
  std::vector<std::byte> finish(const char* version = "0") {
    builder.Finish(
        vulkan_schema::CreateGraphDirect(builder, version, &calls, &values, &inputs, &outputs, &constants),
        "VK00");
    return with_official_header({builder.GetBufferPointer(), builder.GetSize()});
  }
};

// Reads a payload whose named data is zeros.
inline Result<GpuGraph> read(std::span<const std::byte> bytes) {
  static const etb_named_data kZeros = zero_data();
  return read_official_payload(bytes, NamedData(&kZeros));
}

// Returns the reason why a payload is rejected; "" if it is not.
inline std::string reason_of(std::span<const std::byte> bytes) {
  const auto graph = read(bytes);
  return graph ? "" : graph.error().message;
}
inline std::string reason_of(OfficialFile& bytes) { return reason_of(bytes.finish()); }

}  // namespace etb::gpu
