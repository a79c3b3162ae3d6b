// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/payload/writer.hpp"

#include <cstring>
#include <limits>

#include "etb_schema/xnnpack_graph_generated.h"

namespace etb::xnnpack {

namespace fb = xnnpack_schema;

namespace {

constexpr size_t kHeaderNbytes = 30, kGraphOffset = 32;
constexpr uint32_t kFlagInput = 1, kFlagOutput = 2;

class Writer {
 public:
  explicit Writer(const XnnPayload& graph) : graph_(graph) {}

  std::vector<std::byte> write() {
    std::vector<flatbuffers::Offset<fb::ValueHolder>> values;
    for (const XnnValue& value : graph_.values) values.push_back(write_value(value));
    std::vector<flatbuffers::Offset<fb::Node>> nodes;
    for (const XnnNode& node : graph_.nodes) nodes.push_back(write_node(node));
    std::vector<flatbuffers::Offset<fb::ConstantRange>> constants;
    for (const XnnConstant& constant : graph_.constants) {
      constants.push_back(fb::CreateConstantRangeDirect(builder_, std::numeric_limits<uint64_t>::max(), 0,
                                                        constant.key.c_str()));
    }
    const auto external_count = graph_.input_argument_count() + static_cast<uint32_t>(graph_.output_ids.size());
    builder_.Finish(fb::CreateGraphDirect(builder_, "0", &nodes, &values, external_count, &graph_.input_ids,
                                          &graph_.output_ids, nullptr, nullptr, &constants),
                    fb::GraphIdentifier());
    return with_header();
  }

 private:
  template <class T>
  static void put(std::vector<std::byte>& out, size_t offset, T value) {
    std::memcpy(out.data() + offset, &value, sizeof value);  // the format and our targets are little-endian
  }

  std::vector<std::byte> with_header() const {
    const size_t graph_nbytes = builder_.GetSize();
    const size_t constants_offset = (kGraphOffset + graph_nbytes + 15) / 16 * 16;
    std::vector<std::byte> out(constants_offset);
    std::memcpy(out.data() + 4, "XH00", 4);
    put(out, 8, static_cast<uint16_t>(kHeaderNbytes));
    put(out, 10, static_cast<uint32_t>(kGraphOffset));
    put(out, 14, static_cast<uint32_t>(graph_nbytes));
    put(out, 18, static_cast<uint32_t>(constants_offset));
    put(out, 22, uint64_t{0});
    std::memcpy(out.data() + kGraphOffset, builder_.GetBufferPointer(), graph_nbytes);
    return out;
  }

  flatbuffers::Offset<fb::ValueHolder> write_value(const XnnValue& value) {
    const uint32_t flags = (value.is_input ? kFlagInput : 0) | (value.is_output ? kFlagOutput : 0);
    const auto dense = fb::CreateDenseValueDirect(
        builder_, static_cast<int16_t>(value.datatype), static_cast<uint32_t>(value.sizes.size()),
        &value.sizes, value.constant_index, value.external_id.value_or(kXnnNoValue), flags, value.id);
    if (value.quantisation == XnnQuantisation::kNone)
      return fb::CreateValueHolder(builder_, fb::Value::DenseValue, dense.Union());
    const auto [kind, params] = write_quantisation(value);
    const auto quantised = fb::CreateQuantisedValue(builder_, dense, kind, params);
    return fb::CreateValueHolder(builder_, fb::Value::QuantisedValue, quantised.Union());
  }

  std::pair<fb::Quantisation, flatbuffers::Offset<void>> write_quantisation(const XnnValue& value) {
    const auto channel_dim = static_cast<int32_t>(value.channel_dim);
    switch (value.quantisation) {
      case XnnQuantisation::kPerTensor:
        return {fb::Quantisation::PerTensor,
                fb::CreatePerTensor(builder_, value.scale, value.zero_point).Union()};
      case XnnQuantisation::kPerChannel: {
        const auto scales = value.scales.empty() ? flatbuffers::Offset<flatbuffers::Vector<float>>()
                                                 : builder_.CreateVector(value.scales);
        return {
            fb::Quantisation::PerChannel,
            fb::CreatePerChannel(builder_, scales, channel_dim, value.scale_constant_index, value.scale_count)
                .Union()};
      }
      case XnnQuantisation::kPerToken:
        return {fb::Quantisation::PerToken,
                fb::CreatePerToken(builder_, static_cast<int32_t>(value.nonbatch_dim_count)).Union()};
      case XnnQuantisation::kPerChannelGroup: {
        const auto scales = value.scales_bf16.empty() ? flatbuffers::Offset<flatbuffers::Vector<uint16_t>>()
                                                      : builder_.CreateVector(value.scales_bf16);
        return {fb::Quantisation::PerChannelGroup,
                fb::CreatePerChannelGroup(builder_, 0, channel_dim, static_cast<int32_t>(value.group_size),
                                          scales, value.scale_constant_index, value.scale_count)
                    .Union()};
      }
      case XnnQuantisation::kNone:
        break;
    }
    return {fb::Quantisation::NONE, 0};
  }

  flatbuffers::Offset<fb::Node> write_node(const XnnNode& node) {
    flatbuffers::Offset<void> body;
    switch (node.op) {
#define ETB_XNN_OPERATOR(name, Table, ...)                     \
  case XnnOperator::k##name:                                   \
    body = write_body(node, static_cast<fb::Table*>(nullptr)); \
    break;
#include "plugins/xnnpack/payload/operators.def"
#undef ETB_XNN_OPERATOR
      case XnnOperator::kNone:
        break;
    }
    flatbuffers::Offset<fb::ClampRange> clamp;
    if (node.is_clamped) clamp = fb::CreateClampRange(builder_, node.clamp_min, node.clamp_max);
    return fb::CreateNode(builder_, static_cast<fb::Operator>(node.op), body, node.debug_handle, clamp);
  }

  // One function for each body. The second argument only selects the overload.

  flatbuffers::Offset<void> write_body(const XnnNode& node, fb::Unary*) {
    return fb::CreateUnary(builder_, node.inputs[0], node.outputs[0], node.flags).Union();
  }
  flatbuffers::Offset<void> write_body(const XnnNode& node, fb::Binary*) {
    return fb::CreateBinary(builder_, node.inputs[0], node.inputs[1], node.outputs[0], node.flags).Union();
  }
  flatbuffers::Offset<void> write_body(const XnnNode& node, fb::Linear*) {
    return fb::CreateLinear(builder_, node.inputs[0], node.inputs[1], node.inputs[2], node.outputs[0],
                            node.flags)
        .Union();
  }
  flatbuffers::Offset<void> write_body(const XnnNode& node, fb::Slope*) {
    return fb::CreateSlope(builder_, node.value, node.inputs[0], node.outputs[0], node.flags).Union();
  }
  flatbuffers::Offset<void> write_body(const XnnNode& node, fb::Transpose*) {
    return fb::CreateTransposeDirect(builder_, static_cast<uint32_t>(node.first.size()), &node.first,
                                     node.inputs[0], node.outputs[0], node.flags)
        .Union();
  }
  flatbuffers::Offset<void> write_body(const XnnNode& node, fb::Reshape*) {
    return fb::CreateReshapeDirect(builder_, static_cast<uint32_t>(node.first.size()), &node.first,
                                   node.inputs[0], node.outputs[0], node.flags)
        .Union();
  }
  flatbuffers::Offset<void> write_body(const XnnNode& node, fb::Resize*) {
    return fb::CreateResize(builder_, node.first[0], node.first[1], node.inputs[0], node.outputs[0],
                            node.flags)
        .Union();
  }
  flatbuffers::Offset<void> write_body(const XnnNode& node, fb::Pad*) {
    return fb::CreatePadDirect(builder_, &node.first, &node.second, node.value, node.inputs[0],
                               node.outputs[0], node.flags)
        .Union();
  }
  flatbuffers::Offset<void> write_body(const XnnNode& node, fb::Slice*) {
    return fb::CreateSliceDirect(builder_, static_cast<uint32_t>(node.first.size()), &node.first,
                                 &node.second, node.inputs[0], node.outputs[0], node.flags)
        .Union();
  }
  flatbuffers::Offset<void> write_body(const XnnNode& node, fb::Concatenate*) {
    std::array<uint32_t, 5> inputs;
    for (uint32_t i = 0; i < inputs.size(); ++i)
      inputs[i] = i < node.input_count ? node.inputs[i] : kXnnNoValue;
    return fb::CreateConcatenate(builder_, static_cast<uint32_t>(node.axis), inputs[0], inputs[1], inputs[2],
                                 inputs[3], node.outputs[0], node.flags, inputs[4])
        .Union();
  }
  flatbuffers::Offset<void> write_body(const XnnNode& node, fb::Convolution*) {
    const XnnWindow& w = node.window;
    return fb::CreateConvolution(builder_, w.padding_top, w.padding_right, w.padding_bottom, w.padding_left,
                                 w.kernel_height, w.kernel_width, w.stride_height, w.stride_width,
                                 w.dilation_height, w.dilation_width, w.group_input_channels,
                                 w.group_output_channels, w.groups, w.adjustment_height, w.adjustment_width,
                                 node.inputs[0], node.inputs[1], node.inputs[2], node.outputs[0], node.flags)
        .Union();
  }
  flatbuffers::Offset<void> write_body(const XnnNode& node, fb::Pooling*) {
    const XnnWindow& w = node.window;
    return fb::CreatePooling(builder_, w.padding_top, w.padding_right, w.padding_bottom, w.padding_left,
                             w.kernel_height, w.kernel_width, w.stride_height, w.stride_width,
                             w.dilation_height, w.dilation_width, node.inputs[0], node.outputs[0], node.flags)
        .Union();
  }
  flatbuffers::Offset<void> write_body(const XnnNode& node, fb::ArgMaxPooling*) {
    const XnnWindow& w = node.window;
    return fb::CreateArgMaxPooling(builder_, w.padding_top, w.padding_right, w.padding_bottom, w.padding_left,
                                   w.kernel_height, w.kernel_width, node.inputs[0], node.outputs[0],
                                   node.outputs[1], node.flags)
        .Union();
  }
  flatbuffers::Offset<void> write_body(const XnnNode& node, fb::Attention*) {
    return fb::CreateAttention(builder_, node.inputs[0], node.inputs[1], node.inputs[2], node.inputs[3],
                               node.inputs[4], node.outputs[0], node.flags)
        .Union();
  }

  const XnnPayload& graph_;
  flatbuffers::FlatBufferBuilder builder_;
};

}  // namespace

std::vector<std::byte> write_xnnpack_payload(const XnnPayload& graph) { return Writer(graph).write(); }

}  // namespace etb::xnnpack
