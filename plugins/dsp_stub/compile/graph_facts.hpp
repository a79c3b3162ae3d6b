// SPDX-License-Identifier: Apache-2.0
// Uses and producers of a graph's values, and quantisation nodes read as numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plugins/dsp_stub/payload.hpp"
#include "plugins/gpu/compile/arguments.hpp"

namespace etb::dsp_stub {

using gpu::Arguments;
using gpu::reject;

// A group's reasons in reverse DNS.
inline constexpr const char* kPatternReason = "org.etbackend.dsp-stub.pattern";
inline constexpr const char* kSharedReason = "org.etbackend.dsp-stub.shared";
inline constexpr const char* kMemoryReason = "org.etbackend.dsp-stub.memory";

// Limits of codes of `width` bytes.
constexpr int32_t lowest_code(uint32_t width) { return width == 2 ? INT16_MIN : INT8_MIN; }
constexpr int32_t highest_code(uint32_t width) { return width == 2 ? INT16_MAX : INT8_MAX; }

// Scale and zero point of codes, and the range that quantising limits them to.
struct Params {
  double scale = 1;
  int32_t zero = 0;
  int32_t low = -128, high = 127;
  uint32_t width = 1;  // bytes of a code: int8 or int16
  bool operator==(const Params&) const = default;

  // True if no code of the width is excluded.
  bool is_whole() const { return low == lowest_code(width) && high == highest_code(width); }
  Params whole() const { return {scale, zero, lowest_code(width), highest_code(width), width}; }
  // True if codes of both mean the same numbers.
  bool has_codes_of(const Params& other) const {
    return scale == other.scale && zero == other.zero && width == other.width;
  }
};

class GraphFacts {
 public:
  // `payload_version`: the newest that payloads may have.
  explicit GraphFacts(const Graph& graph, uint32_t payload_version = kPayloadVersion);

  const Graph& graph() const { return *graph_; }
  // Version 3: int16 codes and weights, and averages of codes.
  bool allows_version_3() const { return payload_version_ >= kWidePayloadVersion; }
  // Returns the index of the node that computes a value, kNone for an input.
  uint32_t producer(uint32_t value) const { return producers_[value]; }
  // Returns the nodes that read a value, each once.
  const std::vector<uint32_t>& readers(uint32_t value) const { return readers_[value]; }
  bool is_output(uint32_t value) const { return is_output_[value]; }
  // True if one node reads the value, and nothing else does.
  bool has_one_reader(uint32_t value) const { return readers_[value].size() == 1 && !is_output_[value]; }
  bool is_constant(uint32_t value) const;
  std::vector<int64_t> sizes(uint32_t value) const;

 private:
  const Graph* graph_;
  uint32_t payload_version_;
  std::vector<uint32_t> producers_;
  std::vector<std::vector<uint32_t>> readers_;
  std::vector<bool> is_output_;
};

bool is_quantize(const Node& node);    // per tensor, with numbers
bool is_dequantize(const Node& node);  // the same
// Reads one of these nodes: int8, or int16 with zero point 0, and a scale that is a normal number. `codes` is the value with the
// codes.
[[nodiscard]] Result<Params> read_params(const GraphFacts& facts, const Node& node, uint32_t codes);
// Rejects values that no layer has: dynamic or empty sizes, and more than 2^31 elements.
[[nodiscard]] Status check_sizes(const Value& value);

}  // namespace etb::dsp_stub
