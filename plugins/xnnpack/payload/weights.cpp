// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/payload/weights.hpp"

#include <algorithm>

#include "plugins/xnnpack/payload/reader.hpp"

namespace etb::xnnpack {

namespace {

constexpr uint64_t kMaxChannels = 1u << 30;

std::string sizes_text(std::span<const uint64_t> sizes) {
  std::string text = "[";
  for (const uint64_t size : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

Status expect_sizes(const char* what, const XnnValue& value, std::initializer_list<uint64_t> expected) {
  if (std::equal(value.sizes.begin(), value.sizes.end(), expected.begin(), expected.end())) return {};
  const std::vector<uint64_t> found(value.sizes.begin(), value.sizes.end());
  return make_error(Code::INVALID_DATA, std::string(what) + " of sizes " + sizes_text(found) + ", expected " +
                                            sizes_text({expected.begin(), expected.size()}));
}

// Checks that the bias is absent or a constant with one element for each output channel.
Status verify_bias(const XnnPayload& payload, const XnnNode& node, uint64_t channels) {
  if (node.inputs[2] == kXnnNoValue) return {};
  const XnnValue& bias = payload.value(node.inputs[2]);
  if (bias.constant_index == 0) return make_error(Code::INCOMPATIBLE, "a bias that is no constant");
  return expect_sizes("bias", bias, {channels});
}

// Checks that weights quantised by channel have the channel in the dimension that XNNPACK expects.
Status verify_channel(const XnnValue& filter, uint32_t channel_dim) {
  if (filter.quantisation != XnnQuantisation::kPerChannel || filter.channel_dim == channel_dim) return {};
  return make_error(Code::INVALID_DATA, "weights quantised along dimension " +
                                            std::to_string(filter.channel_dim) + ", expected " +
                                            std::to_string(channel_dim));
}

Status verify_convolution(const XnnPayload& payload, const XnnNode& node) {
  const XnnValue& filter = payload.value(node.inputs[1]);
  if (filter.constant_index == 0) return make_error(Code::INCOMPATIBLE, "a filter that is no constant");
  const XnnWindow& window = node.window;
  const uint64_t outputs = uint64_t{window.groups} * window.group_output_channels;
  const uint64_t inputs = uint64_t{window.groups} * window.group_input_channels;
  if (outputs > kMaxChannels || inputs > kMaxChannels)
    return make_error(Code::INVALID_DATA, "too many channels");
  ETB_TRY(verify_bias(payload, node, outputs));
  if (node.op == XnnOperator::kDepthwiseConv2d) {
    if (window.group_input_channels != 1) {
      return make_error(Code::INVALID_DATA,
                        std::to_string(window.group_input_channels) + " channels a group, expected 1");
    }
    ETB_TRY(verify_channel(filter, 3));
    return expect_sizes("filter", filter, {1, window.kernel_height, window.kernel_width, outputs});
  }
  ETB_TRY(verify_channel(filter, 0));
  return expect_sizes("filter", filter,
                      {outputs, window.kernel_height, window.kernel_width, window.group_input_channels});
}

Status verify_fully_connected(const XnnPayload& payload, const XnnNode& node) {
  const XnnValue& filter = payload.value(node.inputs[1]);
  const XnnValue& input = payload.value(node.inputs[0]);
  if (input.quantisation == XnnQuantisation::kPerToken && input.nonbatch_dim_count != 1) {
    return make_error(Code::INVALID_DATA,
                      std::to_string(input.nonbatch_dim_count) + " dimensions a token, expected 1");
  }
  const uint32_t channel_dim = (node.flags & kXnnFlagTransposed) != 0 ? 1 : 0;
  ETB_TRY(verify_channel(filter, channel_dim));
  return verify_bias(payload, node, filter.sizes[channel_dim]);
}

// Rejects several matrices quantised by channel: XNNPACK needs scales for each matrix of the batch, and
// a value has them for one.
Status verify_matrices(const XnnPayload& payload, const XnnNode& node) {
  const XnnValue& factor = payload.value(node.inputs[1]);
  if (factor.quantisation != XnnQuantisation::kPerChannel) return {};
  const size_t rank = factor.sizes.size();
  ETB_TRY(
      verify_channel(factor, static_cast<uint32_t>(rank - ((node.flags & kXnnFlagTransposed) != 0 ? 2 : 1))));
  if (std::all_of(factor.sizes.begin(), factor.sizes.end() - 2, [](uint32_t size) { return size == 1; }))
    return {};
  return make_error(Code::INCOMPATIBLE, "several matrices quantised by channel");
}

}  // namespace

Status verify_xnnpack_weights(const XnnPayload& payload, const XnnNode& node) {
  switch (node.op) {
    case XnnOperator::kConv2d:
    case XnnOperator::kDepthwiseConv2d:
    case XnnOperator::kConvTranspose2d:
      return verify_convolution(payload, node);
    case XnnOperator::kFullyConnected:
      return verify_fully_connected(payload, node);
    case XnnOperator::kBatchMatrixMultiply:
      return verify_matrices(payload, node);
    default:
      return {};
  }
}

}  // namespace etb::xnnpack
