// SPDX-License-Identifier: Apache-2.0
// Layers between codes, as PT2E writes them: input and weight are dequantised, the result is quantised again.
// Plugins compute them on integers. Zero points are at both ends and inside, also where padding must have them;
// scales are per tensor or per channel, with one tiny channel.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "conformance/cases/design_convolution.hpp"
#include "conformance/cases/design_quantisation.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {
namespace {

using graph::float_arg;
using graph::int_arg;
using graph::ints_arg;
using graph::value_arg;

enum class Kind {
  kLinear,
  kAddmm,
  kMm,
  kConvolution,
  kMean,
  kAdaptiveMean,
  kMaximum,
  kPaddedMaximum,
  kAdd,  // the other operand is a constant
};
enum class Clamp { kNone, kRelu, kSix };

struct Layer {
  Kind kind = Kind::kLinear;
  CodeRange codes;  // input and result have them
  Shape input;
  Convolution convolution;
  int64_t outputs = 1;  // columns of a product
  double input_scale = 1, weight_scale = 1, result_scale = 1;
  int64_t input_zero = 0, result_zero = 0, weight_zero = 0;
  bool is_per_channel = false, has_bias = false, is_large = false;
  bool is_behind_relu = false;  // a layer of its own, whose codes this one reads
  double bias_factor = 0;       // not 0: the bias has codes of its own, with this times the scale of the sums
  Clamp clamp = Clamp::kNone;

  bool is_product() const { return kind == Kind::kLinear || kind == Kind::kAddmm || kind == Kind::kMm; }
  bool has_weight() const { return is_product() || kind == Kind::kConvolution || kind == Kind::kAdd; }
  int64_t length() const { return kind == Kind::kConvolution ? convolution.length() : input.sizes.back(); }
  // The dimension of the weight that has the outputs.
  int64_t weight_axis() const {
    return kind == Kind::kLinear || (kind == Kind::kConvolution && !convolution.is_transposed) ? 0 : 1;
  }
  Shape weight() const {
    if (kind == Kind::kConvolution) return {ETB_DTYPE_INT8, convolution.weight_shape().sizes, {}};
    if (kind == Kind::kAdd) return {ETB_DTYPE_INT8, input.sizes, {}};
    const int64_t inputs = input.sizes.back();
    return {ETB_DTYPE_INT8, kind == Kind::kLinear ? Numbers{outputs, inputs} : Numbers{inputs, outputs}, {}};
  }
  Shape result() const {
    Shape out = input;
    if (kind == Kind::kConvolution) out.sizes = convolution.result_shape().sizes;
    if (is_product()) out.sizes.back() = outputs;
    if (kind == Kind::kMean) out.sizes[2] = out.sizes[3] = 1;
    if (kind == Kind::kAdaptiveMean) out.sizes = {out.sizes[0], out.sizes[1], 1, 1};
    if (kind == Kind::kPaddedMaximum)
      out.sizes = {out.sizes[0], out.sizes[1], (out.sizes[2] - 1) / 2 + 1, out.sizes[3]};
    if (kind == Kind::kMaximum) out.sizes = {out.sizes[0], out.sizes[1], out.sizes[2] / 2, out.sizes[3] / 2};
    return out;
  }
  int64_t bias_count() const { return kind == Kind::kConvolution ? convolution.channels.out : outputs; }
  double bias_scale() const { return bias_factor * input_scale * weight_scale; }
  const char* op() const {
    constexpr const char* kOps[] = {"aten.linear.default",
                                    "aten.addmm.default",
                                    "aten.mm.default",
                                    "aten.convolution.default",
                                    "aten.mean.dim",
                                    "aten._adaptive_avg_pool2d.default",
                                    "aten.max_pool2d_with_indices.default",
                                    "aten.max_pool2d_with_indices.default",
                                    "aten.add.Tensor"};
    return kOps[static_cast<size_t>(kind)];
  }
};

double channel_scale(const Layer& layer, int64_t channel) {
  if (!layer.is_per_channel) return layer.weight_scale;
  return layer.weight_scale * std::ldexp(1.0, channel == 2 ? -14 : -static_cast<int>(channel * 5 % 4));
}

// Neighbours differ, also in sign.
int64_t channel_zero(const Layer& layer, int64_t channel) { return layer.weight_zero * (channel % 3 - 1); }

// Adds the nodes of a layer; the result stays real with `is_reference`.
class LayerNodes {
 public:
  LayerNodes(const Layer& layer, size_t operand_count, std::vector<FormNode>& nodes)
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
    if (is_reference)
      return add_real_codes(nodes_, y, layer_.result_scale, layer_.result_zero, layer_.codes,
                            real(layer_.result()));
    nodes_.add(kQuantise, tensor_quant_args(y, layer_.result_scale, layer_.result_zero, layer_.codes),
               layer_.result());
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
                        tensor_quant_args(1, layer_.weight_scale, layer_.weight_zero, kWeightCodes), shape);
    return nodes_.add("quantized_decomposed.dequantize_per_channel.default",
                      channel_quant_args(1, 2, 3, layer_.weight_axis(), kWeightCodes), shape);
  }

  uint32_t node(uint32_t x, uint32_t w, uint32_t z) {
    const Shape result = real(layer_.result());
    const graph::ArgumentDesc bias = layer_.has_bias ? value_arg(z, "bias") : graph::none_arg("bias");
    const auto op = [&](std::vector<graph::ArgumentDesc> args) {
      return nodes_.add(layer_.op(), std::move(args), result);
    };
    switch (layer_.kind) {
      case Kind::kLinear:
        return op({value_arg(x, "input"), value_arg(w, "weight"), bias});
      case Kind::kAddmm:
        return op({value_arg(z, "self"), value_arg(x, "mat1"), value_arg(w, "mat2")});
      case Kind::kMm:
        return op({value_arg(x, "self"), value_arg(w, "mat2")});
      case Kind::kConvolution:
        return op(convolution_args(layer_.convolution, x, w, bias));
      case Kind::kMean:
        return op({value_arg(x, "self"), ints_arg({-1, -2}, "dim"), graph::bool_arg(true, "keepdim")});
      case Kind::kAdaptiveMean:
        return op({value_arg(x, "self"), ints_arg({1, 1}, "output_size")});
      case Kind::kAdd:
        return op({value_arg(x, "self"), value_arg(w, "other")});
      case Kind::kMaximum:
      case Kind::kPaddedMaximum:
        break;
    }
    Shape indices = result;
    indices.dtype = ETB_DTYPE_INT64;
    if (layer_.kind == Kind::kPaddedMaximum)
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
    if (layer_.clamp == Clamp::kNone) return y;
    if (layer_.clamp == Clamp::kRelu) return nodes_.add("aten.relu.default", {value_arg(y, "self")}, result);
    return nodes_.add("aten.hardtanh.default",
                      {value_arg(y, "self"), float_arg(0, "min_val"), float_arg(6, "max_val")}, result);
  }

  const Layer& layer_;
  FormNodes nodes_;
};

void add_weight_operands(const Layer& layer, OpForm& form) {
  const Shape shape = layer.weight();
  form.operands.push_back({shape, Values::kStatistical, kWeightCodes.domain(), true});
  if (!layer.is_per_channel) return;
  const Numbers count = {shape.sizes[static_cast<size_t>(layer.weight_axis())]};
  form.operands.push_back(
      constant_of({ETB_DTYPE_FLOAT32, count, {}}, [layer](int64_t i) { return channel_scale(layer, i); }));
  form.operands.push_back(constant_of({ETB_DTYPE_INT64, count, {}}, [layer](int64_t i) {
    return static_cast<double>(channel_zero(layer, i));
  }));
}

// Integers keep a bias as a multiple of both scales, which it is here.
Operand bias_of(const Layer& layer) {
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

std::string word_of(const Layer& layer) {
  std::string text = "codes";
  if (layer.kind == Kind::kConvolution) {
    const Convolution& c = layer.convolution;
    text += "_s" + number_text(c.stride) + "_p" + number_text(c.padding) + "_d" + number_text(c.dilation) +
            "_g" + number_text(c.channels.groups) + (c.is_transposed ? "_transposed" : "");
  }
  text += ".s" + real_text(layer.input_scale) + "_z" + number_text(layer.input_zero) + "_to_s" +
          real_text(layer.result_scale) + "_z" + number_text(layer.result_zero);
  if (layer.has_weight()) text += layer.is_per_channel ? ".per_channel" : ".per_tensor";
  if (layer.has_weight() && layer.weight_zero != 0) text += "_zw" + number_text(layer.weight_zero);
  text += layer.clamp == Clamp::kRelu ? ".relu" : layer.clamp == Clamp::kSix ? ".relu6" : "";
  if (layer.kind == Kind::kPaddedMaximum) text += ".padded";
  if (layer.bias_factor != 0) text += ".bias_codes_" + real_text(layer.bias_factor);
  if (layer.is_behind_relu) text += ".behind_relu";
  return text + (layer.is_large ? ".large" : "");
}

OpForm layer_form(const Layer& layer) {
  OpForm form;
  form.op = layer.op();
  form.group = "quant";
  form.word = word_of(layer);
  Domain domain = layer.codes.domain();
  if (layer.kind == Kind::kMean || layer.kind == Kind::kAdaptiveMean) {
    // Codes on one side of the zero point would have an average that no code of the result holds.
    const auto zero = static_cast<double>(layer.input_zero);
    domain = {std::max(domain.low, zero - 48), std::min(domain.high, zero + 48)};
  }
  form.operands = {{layer.input, Values::kStatistical, domain}};
  if (layer.has_weight()) add_weight_operands(layer, form);
  if (layer.has_bias) form.operands.push_back(bias_of(layer));
  LayerNodes(layer, form.operands.size(), form.nodes).add(false);
  LayerNodes(layer, form.operands.size(), form.reference.nodes).add(true);
  form.error_model = code_model(layer.result_zero);
  return form;
}

// A maker of the same layer at other sizes of the input.
Maker maker_of(const Layer& base) {
  return [base](const Sizes& sizes) {
    Layer layer = base;
    layer.input.sizes = sizes;
    if (layer.kind == Kind::kConvolution) {
      layer.convolution.batch = sizes[0];
      layer.convolution.channels.in = sizes[1];
      layer.convolution.size = {sizes[2], sizes[3]};
    }
    return layer_form(layer);
  };
}

// Adds the case, and for some rows a dynamic one of the first dimension, which every plugin has.
void add_row(CaseList& out, const Layer& layer, size_t at) {
  add_form(out, layer.codes.dtype, layer_form(layer));
  if (at % 3 == 0 && layer.kind != Kind::kAdd)
    add_dynamic_form(out, layer.codes.dtype, maker_of(layer), layer.input.sizes, Moving::kFirst,
                     static_cast<Order>(at / 3 % 3));
}

// Returns a scale with which sums of `length` products fill the codes and some saturate.
double result_scale(const Layer& layer, bool is_power) {
  const double deviation =
      layer.input_scale * layer.weight_scale * 74 * 73 * std::sqrt(static_cast<double>(layer.length()));
  const double wanted = deviation / 60;
  return is_power ? std::ldexp(1.0, static_cast<int>(std::floor(std::log2(wanted)))) : wanted;
}

// A row of a design: a layer before its codes have scales and zero points.
struct LayerRow : Layer {
  double input_place = 0, result_place = 0;  // places of the zero points in the range of codes, from 0 to 1
  bool is_power = false;                     // scales are powers of two
  Numbers leading;                           // sizes before the inputs of a product
  int64_t inputs = 1;
};

// Returns a design with the factors that all layers have.
DesignOf<LayerRow> layer_design(Kind kind) {
  LayerRow base;
  base.kind = kind;
  base.convolution.output_padding = {0, 0};
  DesignOf<LayerRow> design(base);
  design.add(&LayerRow::codes, {kInt8, kInt8, kInt8, kUint8});
  design.add(&LayerRow::input_place, {0, 0.25, 1, 0.55});
  design.add(&LayerRow::result_place, {0.5, 0, 1, 0.3});
  design.add(&LayerRow::is_power, {true, false});
  design.add(&LayerRow::is_per_channel, {true, false});
  design.add(&LayerRow::weight_zero, {0, 0, 0, 0, 5});  // few plugins have any, so most rows have none
  design.add(&LayerRow::has_bias, {true, false});
  design.add(&LayerRow::clamp, {Clamp::kNone, Clamp::kRelu, Clamp::kNone, Clamp::kSix});
  return design;
}

// Returns the layer of a row, whose input has its sizes. The result has no scale yet.
Layer layer_of(const LayerRow& row) {
  Layer layer = row;
  const auto zero = [&](double place) {
    return layer.codes.low +
           static_cast<int64_t>(std::lround(place * static_cast<double>(layer.codes.high - layer.codes.low)));
  };
  layer.input.dtype = layer.codes.dtype;
  layer.input_zero = zero(row.input_place);
  layer.result_zero = zero(row.result_place);
  layer.input_scale = row.is_power ? 0x1p-5 : 0.0173;
  layer.weight_scale = row.is_power ? 0x1p-6 : 0.0047;
  return layer;
}

void add_products(CaseList& out) {
  DesignOf<LayerRow> design = layer_design(Kind::kLinear);
  design.add(&LayerRow::kind, {Kind::kLinear, Kind::kLinear, Kind::kAddmm, Kind::kMm});
  design.add(&LayerRow::leading, {{1}, {3}, {8}, {2, 5}, {1, 17}, {2, 2, 3}});
  design.add(&LayerRow::inputs, {1, 7, 8, 16, 31, 64, 65, 129});
  design.add(&LayerRow::outputs, {1, 4, 7, 8, 9, 16, 17, 33});
  size_t at = 0;
  for (const char* seed : {"products of codes", "products of codes, again"})
    for (const LayerRow& row : design.rows(seed)) {
      Layer layer = layer_of(row);
      layer.input.sizes = layer.kind == Kind::kLinear ? row.leading : Numbers{row.leading.back()};
      layer.input.sizes.push_back(row.inputs);
      if (layer.kind != Kind::kLinear) layer.has_bias = layer.kind == Kind::kAddmm;
      layer.result_scale = result_scale(layer, row.is_power);
      add_row(out, layer, at++);
    }
}

void add_convolutions(CaseList& out) {
  DesignOf<LayerRow> design = layer_design(Kind::kConvolution);
  add_image_layer<LayerRow>(
      design, &LayerRow::convolution,
      {{3, 8, 1}, {8, 5, 1}, {1, 1, 1}, {6, 4, 2}, {4, 4, 4}, {5, 10, 5}, {17, 17, 17}, {33, 16, 1}},
      {{{5, 7}, {9, 8}, {11, 6}},
       {{3, 3}, {1, 1}, {3, 2}, {2, 5}, {5, 5}},
       {{1, 1}, {2, 1}, {2, 2}, {1, 3}},
       {{1, 1}, {0, 0}, {2, 0}, {0, 1}},
       {{1, 1}, {1, 1}, {1, 2}}});
  design.add([](LayerRow& row) -> int64_t& { return row.convolution.batch; }, {1, 3});
  design.add([](LayerRow& row) -> bool& { return row.convolution.is_last; }, {true, false});
  design.add([](LayerRow& row) -> bool& { return row.convolution.is_transposed; }, {false, false, true});
  const auto is_allowed = [](const LayerRow& row) {
    const Convolution& c = row.convolution;
    // A scale an output of a group would be shared by the groups.
    const bool is_shared = c.is_transposed && c.channels.groups != 1 && row.is_per_channel;
    const Numbers made = c.result_size();
    return !is_shared && made[0] > 0 && made[1] > 0;
  };
  size_t at = 0;
  for (const char* seed : {"convolutions of codes", "convolutions of codes, again"})
    for (LayerRow row : design.rows(seed, is_allowed)) {
      row.input = row.convolution.input_shape();
      Layer layer = layer_of(row);
      layer.result_scale = result_scale(layer, row.is_power);
      add_row(out, layer, at++);
    }
}

// Means have a scale of their own; maxima keep the scale. A constant that is added has a zero point.
void add_windows(CaseList& out) {
  DesignOf<LayerRow> design = layer_design(Kind::kMean);
  design.add(&LayerRow::kind, {Kind::kMean, Kind::kAdaptiveMean, Kind::kMaximum, Kind::kAdd});
  design.add([](LayerRow& row) -> Sizes& { return row.input.sizes; },
             {{1, 3, 4, 6}, {2, 8, 5, 7}, {3, 17, 2, 2}, {1, 5, 9, 3}});
  design.add([](LayerRow& row) -> std::vector<uint8_t>& { return row.input.dim_order; },
             {channels_last(4), {}});
  size_t at = 0;
  for (const LayerRow& row : design.rows("windows of codes")) {
    Layer layer = layer_of(row);
    layer.has_bias = layer.is_per_channel = false;
    layer.weight_zero = layer.kind == Kind::kAdd ? 37 : 0;
    layer.result_scale = layer.input_scale * (row.is_power ? 0.25 : 0.31);
    if (layer.kind == Kind::kAdd) layer.input.dim_order = {};
    if (layer.kind == Kind::kMaximum) {
      layer.result_scale = layer.input_scale;
      layer.result_zero = layer.input_zero;
    }
    add_row(out, layer, at++);
  }
}

// Maxima of windows that reach beyond the image, where nothing counts.
void add_padded_maxima(CaseList& out) {
  for (const int64_t zero : {-128, 3, 127})
    for (const Sizes& sizes : {Sizes{1, 3, 5, 6}, {2, 8, 7, 5}}) {
      Layer layer;
      layer.kind = Kind::kPaddedMaximum;
      layer.codes = kInt8;
      layer.input = {ETB_DTYPE_INT8, sizes, {}};
      layer.input_scale = layer.result_scale = 0x1p-5;
      layer.input_zero = layer.result_zero = zero;
      add_form(out, ETB_DTYPE_INT8, layer_form(layer));
    }
}

// A bias of codes whose scale is a multiple of that of the sums.
void add_coded_biases(CaseList& out) {
  for (const double factor : {1.0, 2.0, 8.0})
    for (const Kind kind : {Kind::kLinear, Kind::kConvolution}) {
      Layer layer;
      layer.kind = kind;
      layer.codes = kInt8;
      layer.input_scale = 0x1p-5;
      layer.weight_scale = 0x1p-6;
      layer.input_zero = -7;
      layer.result_zero = 5;
      layer.has_bias = true;
      layer.bias_factor = factor;
      layer.outputs = 6;
      layer.input = {ETB_DTYPE_INT8, {3, 17}, {}};
      if (kind == Kind::kConvolution) {
        layer.convolution = even_convolution(ETB_DTYPE_INT8, {3, 6, 1}, {5, 6}, 3, 1, 1);
        layer.convolution.output_padding = {0, 0};
        layer.input = {ETB_DTYPE_INT8, layer.convolution.input_shape().sizes, {}};
      }
      layer.result_scale = result_scale(layer, true);
      add_form(out, ETB_DTYPE_INT8, layer_form(layer));
    }
}

// The codes of one layer fill a quarter to three quarters of a memory of 256 KiB when the next one needs its weights
// there.
void add_products_behind_relu(CaseList& out) {
  struct Product {
    Numbers sizes;
    int64_t outputs;
  };
  for (const Product& product : {Product{{2, 32000}, 6}, Product{{6, 32768}, 5}, Product{{96, 2048}, 67},
                                 Product{{1, 100000}, 3}, Product{{33, 4100}, 20}}) {
    Layer layer;
    layer.codes = kInt8;
    layer.input_scale = 0x1p-5;
    layer.weight_scale = 0x1p-6;
    layer.input_zero = -3;
    layer.is_per_channel = layer.has_bias = layer.is_large = layer.is_behind_relu = true;
    layer.input = {ETB_DTYPE_INT8, product.sizes, {}};
    layer.outputs = product.outputs;
    layer.result_scale = result_scale(layer, true);
    add_form(out, ETB_DTYPE_INT8, layer_form(layer));
  }
}

void add_large(CaseList& out) {
  Layer layer;
  layer.codes = kInt8;
  layer.input_scale = 0x1p-5;
  layer.weight_scale = 0x1p-6;
  layer.input_zero = -7;
  layer.result_zero = 5;
  layer.is_per_channel = layer.has_bias = layer.is_large = true;
  struct Product {
    Numbers sizes;
    int64_t outputs;
  };
  // The last one is the first product behind 512 images of 7 x 7, as in VGG: eight of its rows have 196 KiB.
  for (const Product& product : {Product{{3, 1031}, 65}, Product{{5, 4096}, 9}, Product{{2, 33}, 1025},
                                 Product{{130, 64}, 33}, Product{{2, 25088}, 20}}) {
    layer.input = {ETB_DTYPE_INT8, product.sizes, {}};
    layer.outputs = product.outputs;
    layer.result_scale = result_scale(layer, true);
    add_form(out, ETB_DTYPE_INT8, layer_form(layer));
  }
  layer.kind = Kind::kConvolution;
  struct Image {
    Channels channels;
    Numbers size;
    int64_t batch = 1;
  };
  // Then images, weights, and both, that a memory of 256 KiB holds in parts only.
  for (const Image& image : {Image{{520, 33, 1}, {6, 5}},
                             {{17, 515, 1}, {6, 5}},
                             {{513, 513, 513}, {6, 5}},
                             {{4, 8, 1}, {210, 190}, 2},
                             {{16, 16, 4}, {140, 130}},
                             {{128, 512, 2}, {6, 5}},
                             {{3600, 5, 1}, {6, 10}}}) {
    const Channels& channels = image.channels;
    Convolution& c = layer.convolution;
    c.channels = channels;
    c.size = image.size;
    c.batch = image.batch;
    c.kernel = {3, 3};
    c.stride = c.padding = c.dilation = {1, 1};
    c.output_padding = {0, 0};
    layer.input = {ETB_DTYPE_INT8, c.input_shape().sizes, {}};
    layer.result_scale = result_scale(layer, true);
    add_form(out, ETB_DTYPE_INT8, layer_form(layer));
  }
}

}  // namespace

void add_quantised_layer_designs(CaseList& out) {
  add_products(out);
  add_convolutions(out);
  add_windows(out);
  add_padded_maxima(out);
  add_coded_biases(out);
  add_code_arithmetic(out);
  add_large(out);
  add_products_behind_relu(out);
}

}  // namespace etb::conformance
