#include "api/format/xnnpack_weights.hpp"

#include <algorithm>

namespace etb::format {

namespace {

constexpr uint32_t kFlagTransposeWeights = 1;
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

// The filter, and the bias when there is one, are constants; the bias has one element an output channel.
Status verify_bias(const XnnPayload& payload, const XnnNode& node, uint64_t channels) {
  if (node.inputs[2] == kXnnNoValue) return {};
  const XnnValue& bias = payload.value(node.inputs[2]);
  if (bias.constant_index == 0) return make_error(Code::NOT_SUPPORTED, "a bias that is no constant");
  return expect_sizes("bias", bias, {channels});
}

// Weights quantised by channel have the channel where XNNPACK looks for it.
Status verify_channel(const XnnValue& filter, uint32_t channel_dim) {
  if (filter.quantisation != XnnQuantisation::kPerChannel || filter.channel_dim == channel_dim) return {};
  return make_error(Code::INVALID_DATA, "filter quantised along dimension " +
                                            std::to_string(filter.channel_dim) + ", expected " +
                                            std::to_string(channel_dim));
}

Status verify_convolution(const XnnPayload& payload, const XnnNode& node) {
  const XnnValue& filter = payload.value(node.inputs[1]);
  if (filter.constant_index == 0) return make_error(Code::NOT_SUPPORTED, "a filter that is no constant");
  const XnnWindow& window = node.window;
  const uint64_t outputs = uint64_t{window.groups} * window.group_output_channels;
  const uint64_t inputs = uint64_t{window.groups} * window.group_input_channels;
  if (outputs > kMaxChannels || inputs > kMaxChannels)
    return make_error(Code::INVALID_DATA, "too many channels");
  const XnnValue& input = payload.value(node.inputs[0]);
  if (input.sizes.size() != 4 || input.sizes[3] != inputs) {
    return make_error(Code::INVALID_DATA,
                      "input without " + std::to_string(inputs) + " channels in the last of 4 dimensions");
  }
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
  if (filter.sizes.size() != 2) {
    return make_error(Code::INVALID_DATA,
                      "filter of rank " + std::to_string(filter.sizes.size()) + ", expected 2");
  }
  const bool transposed = (node.flags & kFlagTransposeWeights) != 0;
  const uint64_t inputs = filter.sizes[transposed ? 0 : 1], outputs = filter.sizes[transposed ? 1 : 0];
  if (input.sizes.empty() || input.sizes.back() != inputs) {
    return make_error(Code::INVALID_DATA,
                      "input without " + std::to_string(inputs) + " elements in its last dimension");
  }
  if (input.quantisation == XnnQuantisation::kPerToken && input.nonbatch_dim_count != 1) {
    return make_error(Code::INVALID_DATA,
                      std::to_string(input.nonbatch_dim_count) + " dimensions a token, expected 1");
  }
  ETB_TRY(verify_channel(filter, transposed ? 1 : 0));
  return verify_bias(payload, node, outputs);
}

// XNNPACK chooses the kernel of a softmax by its input alone, and writes elements as large as that one's.
Status verify_softmax(const XnnPayload& payload, const XnnNode& node) {
  const XnnDatatype in = payload.value(node.inputs[0]).datatype,
                    out = payload.value(node.outputs[0]).datatype;
  if (in == out) return {};
  return make_error(Code::INVALID_DATA, "output of datatype " + std::to_string(static_cast<int>(out)) +
                                            ", expected " + std::to_string(static_cast<int>(in)));
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
    case XnnOperator::kSoftmax:
      return verify_softmax(payload, node);
    default:
      return {};
  }
}

}  // namespace etb::format
