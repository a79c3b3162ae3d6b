// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/quantised_layer.hpp"

#include <algorithm>
#include <cmath>

namespace etb::conformance {
namespace {

using graph::float_arg;
using graph::ints_arg;
using graph::value_arg;

double channel_scale(const QuantisedLayer& layer, int64_t channel) {
  if (!layer.is_per_channel) return layer.weight_scale;
  return layer.weight_scale * std::ldexp(1.0, channel == 2 ? -14 : -static_cast<int>(channel * 5 % 4));
}

// Neighbours differ, also in sign.
int64_t channel_zero(const QuantisedLayer& layer, int64_t channel) {
  return layer.weight_zero * (channel % 3 - 1);
}

// Adds the nodes of a layer; the result stays real with `is_reference`.
class LayerNodes {
 public:
  LayerNodes(const QuantisedLayer& layer, size_t operand_count, std::vector<FormNode>& nodes)
      : layer_(layer), nodes_(nodes, operand_count) {}

  void add(bool is_reference) {
    const uint32_t x = dequantised(layer_.is_behind_relu ? relu() : 0);
    const uint32_t w = layer_.has_weight() ? weight() : 0;
    uint32_t bias = bias_operand();
    if (layer_.bias_factor != 0)
      bias =
          nodes_.add(kDequantise,
                     tensor_quant_args(bias, layer_.bias_scale(), 0, {ETB_DTYPE_INT32, INT32_MIN, INT32_MAX}),
                     Shape{ETB_DTYPE_FLOAT32, {layer_.bias_count()}, {}});
    const uint32_t y = clamped(node(x, w, bias));
    const Shape result = layer_.result();
    if (is_reference)
      add_real_codes(nodes_, y, layer_.result_scale, layer_.result_zero, layer_.result_range(), real(result));
    else
      nodes_.add(kQuantise,
                 tensor_quant_args(y, layer_.result_scale, layer_.result_zero, layer_.result_range()),
                 result);
  }

 private:
  static Shape real(Shape shape) {
    shape.dtype = ETB_DTYPE_FLOAT32;
    return shape;
  }

  uint32_t dequantised(uint32_t codes) {
    return nodes_.add(kDequantise,
                      tensor_quant_args(codes, layer_.input_scale, layer_.input_zero, layer_.codes),
                      real(layer_.input));
  }

  // Codes of the same scale, so that none is rounded.
  uint32_t relu() {
    const uint32_t y =
        nodes_.add("aten.relu.default", {value_arg(dequantised(0), "self")}, real(layer_.input));
    return nodes_.add(kQuantise, tensor_quant_args(y, layer_.input_scale, layer_.input_zero, layer_.codes),
                      layer_.input);
  }

  // Operands: the input; the weight with its scales and zero points, if it has them; the bias.
  uint32_t bias_operand() const { return !layer_.has_weight() ? 1 : layer_.is_per_channel ? 4 : 2; }

  uint32_t weight() {
    const Shape shape = real(layer_.weight());
    if (!layer_.is_per_channel)
      return nodes_.add(kDequantise,
                        tensor_quant_args(1, layer_.weight_scale, layer_.weight_zero, layer_.weight_codes),
                        shape);
    return nodes_.add("quantized_decomposed.dequantize_per_channel.default",
                      channel_quant_args(1, 2, 3, layer_.weight_axis(), layer_.weight_codes), shape);
  }

  uint32_t node(uint32_t x, uint32_t w, uint32_t z) {
    const Shape result = real(layer_.result());
    const graph::ArgumentDesc bias = layer_.has_bias ? value_arg(z, "bias") : graph::none_arg("bias");
    const auto op = [&](std::vector<graph::ArgumentDesc> args) {
      return nodes_.add(layer_.op(), std::move(args), result);
    };
    switch (layer_.kind) {
      case LayerKind::kLinear:
        return op({value_arg(x, "input"), value_arg(w, "weight"), bias});
      case LayerKind::kAddmm:
        return op({value_arg(z, "self"), value_arg(x, "mat1"), value_arg(w, "mat2")});
      case LayerKind::kMm:
        return op({value_arg(x, "self"), value_arg(w, "mat2")});
      case LayerKind::kConvolution:
        return op(convolution_args(layer_.convolution, x, w, bias));
      case LayerKind::kMean:
        return op({value_arg(x, "self"), ints_arg({-1, -2}, "dim"), graph::bool_arg(true, "keepdim")});
      case LayerKind::kAdaptiveMean:
        return op({value_arg(x, "self"), ints_arg({1, 1}, "output_size")});
      case LayerKind::kAdd:
        return op({value_arg(x, "self"), value_arg(w, "other")});
      case LayerKind::kMaximum:
      case LayerKind::kPaddedMaximum:
        break;
    }
    Shape indices = result;
    indices.dtype = ETB_DTYPE_INT64;
    if (layer_.kind == LayerKind::kPaddedMaximum)
      return nodes_.add(layer_.op(),
                        {value_arg(x, "self"), ints_arg({3, 3}, "kernel_size"), ints_arg({2, 1}, "stride"),
                         ints_arg({1, 1}, "padding")},
                        std::vector<Shape>{result, indices});
    return nodes_.add(layer_.op(),
                      {value_arg(x, "self"), ints_arg({2, 2}, "kernel_size"), ints_arg({2, 2}, "stride")},
                      std::vector<Shape>{result, indices});
  }

  uint32_t clamped(uint32_t y) {
    const Shape result = real(layer_.result());
    if (layer_.clamp == LayerClamp::kNone) return y;
    if (layer_.clamp == LayerClamp::kRelu)
      return nodes_.add("aten.relu.default", {value_arg(y, "self")}, result);
    return nodes_.add("aten.hardtanh.default",
                      {value_arg(y, "self"), float_arg(0, "min_val"), float_arg(6, "max_val")}, result);
  }

  const QuantisedLayer& layer_;
  FormNodes nodes_;
};

void add_weight_operands(const QuantisedLayer& layer, OpForm& form) {
  const Shape shape = layer.weight();
  form.operands.push_back({shape, Values::kStatistical, layer.weight_codes.domain(), true});
  if (!layer.is_per_channel) return;
  const Numbers count = {shape.sizes[static_cast<size_t>(layer.weight_axis())]};
  form.operands.push_back(
      constant_of({ETB_DTYPE_FLOAT32, count, {}}, [layer](int64_t i) { return channel_scale(layer, i); }));
  form.operands.push_back(constant_of({ETB_DTYPE_INT64, count, {}}, [layer](int64_t i) {
    return static_cast<double>(channel_zero(layer, i));
  }));
}

// Integers keep a bias as a multiple of both scales, which it is here.
Operand bias_of(const QuantisedLayer& layer) {
  Operand out{{ETB_DTYPE_FLOAT32, {layer.bias_count()}, {}}};
  out.is_constant = true;
  if (layer.bias_factor != 0) {
    out.shape.dtype = ETB_DTYPE_INT32;
    out.domain = {-1500, 1500};
    return out;
  }
  out.fill = [layer](TensorData& data, Random& random) {
    data = filled(data.shape, [&](int64_t i) {
      return static_cast<double>(random.between(-3000, 3000)) * layer.input_scale * channel_scale(layer, i);
    });
  };
  return out;
}

std::string word_of(const QuantisedLayer& layer) {
  std::string text = "codes";
  if (layer.kind == LayerKind::kConvolution) {
    const Convolution& c = layer.convolution;
    text += "_s" + number_text(c.stride) + "_p" + number_text(c.padding) + "_d" + number_text(c.dilation) +
            "_g" + number_text(c.channels.groups) + (c.is_transposed ? "_transposed" : "");
  }
  text += ".s" + real_text(layer.input_scale) + "_z" + number_text(layer.input_zero) + "_to_s" +
          real_text(layer.result_scale) + "_z" + number_text(layer.result_zero);
  if (layer.has_weight()) text += layer.is_per_channel ? ".per_channel" : ".per_tensor";
  if (layer.has_weight() && layer.weight_zero != 0) text += "_zw" + number_text(layer.weight_zero);
  if (layer.has_weight() && layer.has_wide_weight()) text += ".w16";
  text += layer.clamp == LayerClamp::kRelu ? ".relu" : layer.clamp == LayerClamp::kSix ? ".relu6" : "";
  if (layer.kind == LayerKind::kPaddedMaximum) text += ".padded";
  if (layer.bias_factor != 0) text += ".bias_codes_" + real_text(layer.bias_factor);
  if (layer.is_behind_relu) text += ".behind_relu";
  return text + (layer.is_large ? ".large" : "");
}

}  // namespace

OpForm layer_form(const QuantisedLayer& layer) {
  OpForm form;
  form.op = layer.op();
  form.group = "quant";
  form.word = word_of(layer);
  Domain domain = layer.codes.domain();
  if (layer.kind == LayerKind::kMean || layer.kind == LayerKind::kAdaptiveMean) {
    // Codes on one side of the zero point would have an average that no code of the result holds.
    const auto zero = static_cast<double>(layer.input_zero);
    const double most = layer.codes.dtype == ETB_DTYPE_INT16 ? 12288 : 48;
    domain = {std::max(domain.low, zero - most), std::min(domain.high, zero + most)};
  }
  const bool is_wide_result = layer.result_range().dtype == ETB_DTYPE_INT16;
  form.operands = {{layer.input, Values::kStatistical, domain}};
  if (layer.has_weight()) add_weight_operands(layer, form);
  if (layer.has_bias) form.operands.push_back(bias_of(layer));
  LayerNodes(layer, form.operands.size(), form.nodes).add(false);
  LayerNodes(layer, form.operands.size(), form.reference.nodes).add(true);
  form.error_model = layer.is_wide() ? wide_code_model(layer.result_zero, is_wide_result ? 0.5 : 0x1p-4)
                                     : code_model(layer.result_zero);
  return form;
}

Maker maker_of(const QuantisedLayer& base) {
  return [base](const Sizes& sizes) {
    QuantisedLayer layer = base;
    layer.input.sizes = sizes;
    if (layer.kind == LayerKind::kConvolution) {
      layer.convolution.batch = sizes[0];
      layer.convolution.channels.in = sizes[1];
      layer.convolution.size = {sizes[2], sizes[3]};
    }
    return layer_form(layer);
  };
}

double result_scale(const QuantisedLayer& layer, bool is_power) {
  const auto width = [](const CodeRange& codes) {
    return static_cast<double>(codes.high - codes.low + 1) / 256;
  };
  const double weight_scale = layer.weight_scale * (layer.has_wide_weight() ? 256 : 1);
  const double deviation = layer.input_scale * width(layer.codes) * weight_scale * 74 * 73 *
                           std::sqrt(static_cast<double>(layer.length()));
  const double wanted = deviation / 60 / width(layer.result_range());
  return is_power ? std::ldexp(1.0, static_cast<int>(std::floor(std::log2(wanted)))) : wanted;
}

}  // namespace etb::conformance
