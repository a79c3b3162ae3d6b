// SPDX-License-Identifier: Apache-2.0
// The XnnpackBackend payload, read and verified into plain structs: a header with the magic "XH00"
// (api/format/delegate_sections.hpp), a graph (a FlatBuffer, "XN01", or "XN00" in 0.1), and constants that are not named data
// (none since 0.6). Without the header the whole payload is a graph with its constants inside (0.1).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"

namespace etb::xnnpack {

// Element types by their number in the file. XNNPACK's own numbers differ from 10 on.
enum class XnnDatatype : int16_t {
  kInvalid = 0,
  kFloat32 = 1,
  kFloat16 = 2,
  kQint8 = 3,
  kQuint8 = 4,
  kQint32 = 5,
  kQcint8 = 6,
  kQcint32 = 7,
  kQcint4 = 8,
  kQdint8 = 9,
  kQbint4 = 10,
  kQpint8 = 11,
  kInt32 = 12,
  kPfloat32 = 13,
  kBfloat16 = 14,
};

// Returns "float32", "qcint8", or "?" for an unknown number.
const char* to_text(XnnDatatype datatype);

enum class XnnOperator : uint8_t {
  kNone = 0,
#define ETB_XNN_OPERATOR(name, ...) k##name,
#include "plugins/xnnpack/payload/operators.def"
#undef ETB_XNN_OPERATOR
};
inline constexpr uint8_t kXnnOperatorCount = 0
#define ETB_XNN_OPERATOR(name, ...) +1
#include "plugins/xnnpack/payload/operators.def"
#undef ETB_XNN_OPERATOR
    ;

// Returns "Conv2d", or "?" for an unknown number.
const char* to_text(XnnOperator op);

// Bytes of a constant: named data, or a piece of the payload.
struct XnnConstant {
  std::string key;                   // "" when `bytes` has them
  std::span<const std::byte> bytes;  // borrowed from the payload
};

enum class XnnQuantisation : uint8_t { kNone, kPerChannel, kPerTensor, kPerToken, kPerChannelGroup };

struct XnnValue {
  uint32_t id = 0;
  XnnDatatype datatype = XnnDatatype::kInvalid;
  std::vector<uint32_t> sizes;          // for a node's output: inferred from the sizes of its inputs
  uint32_t constant_index = 0;          // into XnnPayload::constants; 0: no constant
  std::optional<uint32_t> external_id;  // position among the delegate's arguments
  bool is_input = false;                // an input of the whole graph
  bool is_output = false;

  XnnQuantisation quantisation = XnnQuantisation::kNone;
  float scale = 0;         // per tensor
  int32_t zero_point = 0;  // per tensor
  uint32_t channel_dim = 0;
  uint32_t group_size = 0;
  uint32_t nonbatch_dim_count = 0;    // per token
  std::vector<float> scales;          // per channel (group), when stored in the graph
  std::vector<uint16_t> scales_bf16;  // per channel group, when stored in the graph
  uint32_t scale_constant_index = 0;  // else the constant with scale_count of them
  uint32_t scale_count = 0;
};

struct XnnWindow {
  uint32_t padding_top = 0, padding_right = 0, padding_bottom = 0, padding_left = 0;
  uint32_t kernel_height = 0, kernel_width = 0;
  uint32_t stride_height = 1, stride_width = 1;
  uint32_t dilation_height = 1, dilation_width = 1;
  uint32_t adjustment_height = 0, adjustment_width = 0;
  uint32_t groups = 1, group_input_channels = 0, group_output_channels = 0;
};

inline constexpr uint32_t kXnnNoValue = 0xffffffffu;

// One operator. Ids are those of XnnValue. A missing bias is kXnnNoValue.
struct XnnNode {
  XnnOperator op = XnnOperator::kNone;
  uint32_t debug_handle = 0;
  bool is_clamped = false;
  float clamp_min = 0, clamp_max = 0;
  uint32_t flags = 0;
  // In file order: FullyConnected and convolutions input, filter, bias; attention q, k, v, scale, mask.
  std::array<uint32_t, 5> inputs{};
  uint32_t input_count = 0;
  std::array<uint32_t, 2> outputs{};
  uint32_t output_count = 0;
  XnnWindow window;  // convolutions and pooling
  // Permutation, reshape sizes, slice offsets, padding before, resize {height, width}.
  std::vector<uint32_t> first;
  std::vector<uint32_t> second;  // slice sizes, padding after
  float value = 0;               // alpha, slope, padding value
  int32_t axis = 0;              // concatenation; negative counts from the end
};

struct XnnPayload {
  std::vector<XnnValue> values;        // in file order
  std::vector<uint32_t> value_of_id;   // id -> position in values
  std::vector<XnnNode> nodes;          // each after the nodes of its inputs
  std::vector<XnnConstant> constants;  // 0 is a placeholder
  std::vector<uint32_t> input_ids;  // external inputs and outputs by their order in the delegate's arguments
  std::vector<uint32_t> output_ids;
  // Arguments before the outputs that belong to no value. The official exporter passes sizes, which are numbers, to
  // payloads of graphs with dynamic sizes; the external ids of the inputs skip them.
  uint32_t ignored_input_count = 0;

  // Number of the delegate's arguments before its outputs.
  uint32_t input_argument_count() const {
    return static_cast<uint32_t>(input_ids.size()) + ignored_input_count;
  }
  const XnnValue& value(uint32_t id) const { return values[value_of_id[id]]; }
};

// Reads a payload of untrusted bytes. Verifies every id, index, flag, datatype, size, window, quantisation
// parameter and order, and infers sizes node by node (shapes.hpp). The result can be read without
// further checks, except named data: its size and scales are known only when it is fetched.
//
// Errors name node or value: INCOMPATIBLE (unknown identifier or operator number, flags or a datatype that no exporter
// writes, a layer that this XNNPACK does not have), INVALID_DATA (everything else).
// The result borrows constants from `payload`.
[[nodiscard]] Result<XnnPayload> read_xnnpack_payload(std::span<const std::byte> payload);

// True if the first bytes look like such a payload.
bool is_xnnpack_payload(std::span<const std::byte> prefix);

// Checks that this reader knows the operator of every node. INCOMPATIBLE names the first unknown one. Fast,
// for a graph that is completely in `prefix`. Succeeds for any other and for damaged graphs.
[[nodiscard]] Status check_xnnpack_operators(std::span<const std::byte> prefix);

// Returns the nearest bfloat16 of a finite number, ties to even: the storage format of group scales.
uint16_t to_bfloat16(float value);

// Bytes of `count` elements of a type in a constant. 4-bit types have two in a byte.
std::optional<uint64_t> xnn_nbytes(XnnDatatype datatype, std::span<const uint32_t> sizes);

}  // namespace etb::xnnpack
