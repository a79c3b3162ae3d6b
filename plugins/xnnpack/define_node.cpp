// SPDX-License-Identifier: Apache-2.0
// Adds nodes to an XNNPACK subgraph: one function per kind, selected by the table of operators.
#include <limits>

#include "plugins/xnnpack/subgraph.hpp"

namespace etb::xnnpack {

namespace {

struct Definer {
  xnn_subgraph_t subgraph;
  const XnnPayload& payload;
  const XnnNode& node;
  const std::vector<uint32_t>& id_of;

  uint32_t input(uint32_t i) const {
    return node.inputs[i] == kXnnNoValue ? XNN_INVALID_VALUE_ID : id_of[node.inputs[i]];
  }
  uint32_t output(uint32_t i = 0) const { return id_of[node.outputs[i]]; }
  size_t input_rank() const { return payload.value(node.inputs[0]).sizes.size(); }
  float low() const { return node.is_clamped ? node.clamp_min : -std::numeric_limits<float>::infinity(); }
  float high() const { return node.is_clamped ? node.clamp_max : std::numeric_limits<float>::infinity(); }
  std::vector<size_t> first() const { return {node.first.begin(), node.first.end()}; }
  std::vector<size_t> second() const { return {node.second.begin(), node.second.end()}; }

  xnn_status unary(xnn_unary_operator type) const {
    xnn_unary_params params{};
    switch (type) {
      case xnn_unary_clamp:
        params.clamp.min = low();
        params.clamp.max = high();
        break;
      case xnn_unary_elu:
        params.elu.alpha = node.value;
        break;
      case xnn_unary_leaky_relu:
        params.leaky_relu.negative_slope = node.value;
        break;
      default:
        return xnn_define_unary(subgraph, type, nullptr, input(0), output(), node.flags);
    }
    return xnn_define_unary(subgraph, type, &params, input(0), output(), node.flags);
  }

  xnn_status binary(xnn_binary_operator type) const {
    const xnn_binary_params params = {low(), high()};
    return xnn_define_binary(subgraph, type, node.is_clamped ? &params : nullptr, input(0), input(1),
                             output(), node.flags);
  }

  xnn_status fully_connected() const {
    return xnn_define_fully_connected(subgraph, low(), high(), input(0), input(1), input(2), output(),
                                      node.flags);
  }

  xnn_status batch_matrix_multiply() const {
    return xnn_define_batch_matrix_multiply(subgraph, input(0), input(1), output(), node.flags);
  }

  xnn_status softmax() const { return xnn_define_softmax(subgraph, input(0), output(), node.flags); }

  xnn_status copy() const { return xnn_define_copy(subgraph, input(0), output(), node.flags); }

  xnn_status convolution() const {
    const auto& w = node.window;
    return xnn_define_convolution_2d(subgraph, w.padding_top, w.padding_right, w.padding_bottom,
                                     w.padding_left, w.kernel_height, w.kernel_width, w.stride_height,
                                     w.stride_width, w.dilation_height, w.dilation_width, w.groups,
                                     w.group_input_channels, w.group_output_channels, low(), high(), input(0),
                                     input(1), input(2), output(), node.flags);
  }

  // The file counts channels per group. XNNPACK expects all channels, and the number of outputs of each.
  xnn_status depthwise_convolution() const {
    const auto& w = node.window;
    return xnn_define_depthwise_convolution_2d(
        subgraph, w.padding_top, w.padding_right, w.padding_bottom, w.padding_left, w.kernel_height,
        w.kernel_width, w.stride_height, w.stride_width, w.dilation_height, w.dilation_width,
        w.group_output_channels / w.group_input_channels, w.groups, low(), high(), input(0), input(1),
        input(2), output(), node.flags);
  }

  xnn_status transposed_convolution() const {
    const auto& w = node.window;
    return xnn_define_deconvolution_2d(
        subgraph, w.padding_top, w.padding_right, w.padding_bottom, w.padding_left, w.adjustment_height,
        w.adjustment_width, w.kernel_height, w.kernel_width, w.stride_height, w.stride_width,
        w.dilation_height, w.dilation_width, w.groups, w.group_input_channels, w.group_output_channels, low(),
        high(), input(0), input(1), input(2), output(), node.flags);
  }

  xnn_status average_pooling() const {
    const auto& w = node.window;
    return xnn_define_average_pooling_2d(subgraph, w.padding_top, w.padding_right, w.padding_bottom,
                                         w.padding_left, w.kernel_height, w.kernel_width, w.stride_height,
                                         w.stride_width, low(), high(), input(0), output(), node.flags);
  }

  xnn_status max_pooling() const {
    const auto& w = node.window;
    return xnn_define_max_pooling_2d(subgraph, w.padding_top, w.padding_right, w.padding_bottom,
                                     w.padding_left, w.kernel_height, w.kernel_width, w.stride_height,
                                     w.stride_width, w.dilation_height, w.dilation_width, low(), high(),
                                     input(0), output(), node.flags);
  }

  xnn_status argmax_pooling() const {
    const auto& w = node.window;
    return xnn_define_argmax_pooling_2d(subgraph, w.padding_top, w.padding_right, w.padding_bottom,
                                        w.padding_left, w.kernel_height, w.kernel_width, input(0), output(0),
                                        output(1), node.flags);
  }

  // XNNPACK has no such node, so this adds the mean over height and width of [N, H, W, C].
  xnn_status global_average_pooling() const {
    const size_t axes[] = {1, 2};
    if (input_rank() != 4) return xnn_status_invalid_parameter;
    return xnn_define_static_reduce(subgraph, xnn_reduce_mean, 2, axes, input(0), output(),
                                    node.flags | XNN_FLAG_KEEP_DIMS);
  }

  // Newer releases deprecate these functions for one that concatenates any number. Every release has these.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  xnn_status concatenate() const {
    switch (node.input_count) {
      case 2:
        return xnn_define_concatenate2(subgraph, node.axis, input(0), input(1), output(), node.flags);
      case 3:
        return xnn_define_concatenate3(subgraph, node.axis, input(0), input(1), input(2), output(),
                                       node.flags);
      case 4:
        return xnn_define_concatenate4(subgraph, node.axis, input(0), input(1), input(2), input(3), output(),
                                       node.flags);
      default:
        return xnn_define_concatenate5(subgraph, node.axis, input(0), input(1), input(2), input(3), input(4),
                                       output(), node.flags);
    }
  }

#pragma GCC diagnostic pop

  xnn_status transpose() const {
    if (node.first.size() != input_rank()) return xnn_status_invalid_parameter;
    return xnn_define_static_transpose(subgraph, node.first.size(), first().data(), input(0), output(),
                                       node.flags);
  }

  xnn_status reshape() const {
    return xnn_define_static_reshape(subgraph, node.first.size(), first().data(), input(0), output(),
                                     node.flags);
  }

  xnn_status resize() const {
    return xnn_define_static_resize_bilinear_2d(subgraph, node.first[0], node.first[1], input(0), output(),
                                                node.flags);
  }

  // XNNPACK reads as many paddings as the input has dimensions, even if the array is shorter.
  xnn_status pad() const {
    if (node.first.size() != input_rank()) return xnn_status_invalid_parameter;
    return xnn_define_static_constant_pad(subgraph, first().data(), second().data(), node.value, input(0),
                                          output(), node.flags);
  }

  xnn_status slice() const {
    if (node.first.size() != input_rank() || node.second.size() != input_rank())
      return xnn_status_invalid_parameter;
    return xnn_define_static_slice(subgraph, node.first.size(), first().data(), second().data(), input(0),
                                   output(), node.flags);
  }

#ifdef ETB_XNNPACK_HAS_ATTENTION
  xnn_status attention() const {
    return xnn_define_scaled_dot_product_attention(subgraph, xnn_attention_logits_cap_type_none, nullptr,
                                                   input(0), input(1), input(2), input(3), input(4), output(),
                                                   node.flags);
  }
#else
  // Releases since 2025 have no such node. These nodes compute the same: softmax(query * scale x keys + mask)
  // x values.
  xnn_status attention() const {
    const auto& queries = payload.value(node.inputs[0]);
    const auto& keys = payload.value(node.inputs[1]);
    if (queries.sizes.size() < 2 || keys.sizes.size() < 2) return xnn_status_invalid_parameter;
    std::vector<size_t> sizes(queries.sizes.begin(), queries.sizes.end());
    const auto between = [&](uint32_t& id) {
      return xnn_define_tensor_value(
          subgraph, queries.datatype == XnnDatatype::kFloat16 ? xnn_datatype_fp16 : xnn_datatype_fp32,
          sizes.size(), sizes.data(), nullptr, XNN_INVALID_VALUE_ID, 0, &id);
    };
    uint32_t scaled = 0, scores = 0, masked = 0, weights = 0;
    xnn_status status = between(scaled);
    sizes.back() = keys.sizes[keys.sizes.size() - 2];
    for (uint32_t* id : {&scores, &masked, &weights})
      if (status == xnn_status_success) status = between(*id);
    if (status == xnn_status_success)
      status = xnn_define_binary(subgraph, xnn_binary_multiply, nullptr, input(0), input(3), scaled, 0);
    if (status == xnn_status_success)
      status = xnn_define_batch_matrix_multiply(subgraph, scaled, input(1), scores, XNN_FLAG_TRANSPOSE_B);
    if (status == xnn_status_success)
      status = xnn_define_binary(subgraph, xnn_binary_add, nullptr, scores, input(4), masked, 0);
    if (status == xnn_status_success) status = xnn_define_softmax(subgraph, masked, weights, 0);
    if (status == xnn_status_success)
      status = xnn_define_batch_matrix_multiply(subgraph, weights, input(2), output(), 0);
    return status;
  }
#endif

  xnn_status define() const {
    switch (node.op) {
#define ETB_XNN_OPERATOR(name, body, datatypes, flags, sizes, define, ...) \
  case XnnOperator::k##name:                                               \
    return define;
#include "plugins/xnnpack/payload/operators.def"
#undef ETB_XNN_OPERATOR
      case XnnOperator::kNone:
        return xnn_status_invalid_parameter;
    }
    return xnn_status_unsupported_parameter;
  }
};

}  // namespace

Status define_node(xnn_subgraph_t subgraph, const XnnPayload& payload, const XnnNode& node,
                   const std::vector<uint32_t>& id_of) {
  if (node.op == XnnOperator::kDepthwiseConv2d &&
      node.window.group_output_channels % node.window.group_input_channels != 0) {
    return make_error(Code::INVALID_DATA, "output channels are no multiple of input channels");
  }
#if defined(__x86_64__) && XNN_EXTRA_QUANTIZATION_PARAMS < 13
  if (node.op == XnnOperator::kFullyConnected) {
    const XnnDatatype filter = payload.value(node.inputs[1]).datatype;
    if (filter == XnnDatatype::kQcint4 || filter == XnnDatatype::kQbint4)
      return make_error(
          Code::INCOMPATIBLE,
          "FullyConnected: 4-bit weights, which this release of XNNPACK gets wrong in small batches");
  }
#endif
  return from_xnn(Definer{subgraph, payload, node, id_of}.define(), to_text(node.op));
}

}  // namespace etb::xnnpack
