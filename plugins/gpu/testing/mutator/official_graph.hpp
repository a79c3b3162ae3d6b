// SPDX-License-Identifier: Apache-2.0
// An official payload whose fields can be changed, for the mutator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "etb_schema/vulkan_graph_generated.h"

namespace etb::gpu {

// Only the fields of its kind are written.
struct OfficialValue {
  vulkan_schema::Content kind = vulkan_schema::Content::Nothing;
  int64_t integer = 0;                 // Integer; Size; Truth: 0 or 1
  double number = 0;                   // Number
  std::string text = {};               // Text
  std::vector<int64_t> integers = {};  // Integers; Truths: 0 or 1
  std::vector<double> numbers = {};    // Numbers
  std::vector<int32_t> values = {};    // Values
  // Tensor:
  int8_t element_type = 5, staging_type = 127;
  std::vector<uint32_t> sizes = {};
  int32_t constant = -1;
};

struct OfficialCall {
  std::string op;
  std::vector<int32_t> arguments;
  uint32_t debug_id = 0;
};

struct OfficialConstant {
  std::string key;  // "": its bytes are in the payload
  uint64_t nbytes = 0;
  std::vector<std::byte> bytes = {};
};

struct OfficialGraph {
  std::vector<OfficialValue> values;
  std::vector<OfficialCall> calls;
  std::vector<OfficialConstant> constants;
  std::vector<uint32_t> inputs, outputs;
};

// Returns nothing for bytes that are no payload.
std::optional<OfficialGraph> decode_official(std::span<const std::byte> bytes);
std::vector<std::byte> write_official(const OfficialGraph& graph);

}  // namespace etb::gpu
