// SPDX-License-Identifier: Apache-2.0
// Layers between codes, as PT2E writes them: input and weight are dequantised, the result is quantised again.
// Plugins compute them on integers. Zero points are at both ends and inside, also where padding must have them;
// scales are per tensor or per channel, with one tiny channel.
#include <algorithm>
#include <cmath>
#include <functional>

#include "conformance/cases/convolution_design.hpp"
#include "conformance/cases/quantised_design.hpp"

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
  kAdd
};  // kAdd: a constant
enum class Clamp { kNone, kRelu, kSix };

struct Layer {
  Kind kind = Kind::kLinear;
  CodeRange codes;  // of input and result
  Shape input;      // of codes
  Convolution convolution;
  int64_t outputs = 1;  // of products
  double input_scale = 1, weight_scale = 1, result_scale = 1;
  int64_t input_zero = 0, result_zero = 0, weight_zero = 0;
  bool is_per_channel = false, has_bias = false, is_large = false;
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
    if (kind == Kind::kMaximum) out.sizes = {out.sizes[0], out.sizes[1], out.sizes[2] / 2, out.sizes[3] / 2};
    return out;
  }
  const char* op() const {
    constexpr const char* kOps[] = {"aten.linear.default",
                                    "aten.addmm.default",
                                    "aten.mm.default",
                                    "aten.convolution.default",
                                    "aten.mean.dim",
                                    "aten._adaptive_avg_pool2d.default",
                                    "aten.max_pool2d_with_indices.default",
                                    "aten.add.Tensor"};
    return kOps[static_cast<size_t>(kind)];
  }
  std::string name() const;
};

std::string Layer::name() const {
  std::string text =
      "quant" + op_word(op()).substr(2) + "." + short_name(codes.dtype) + "." + shape_text(input);
  if (is_product()) text += ".o" + std::to_string(outputs);
  if (kind == Kind::kConvolution) {
    const Convolution& c = convolution;
    text += ".o" + std::to_string(c.channels.out) + "_k" + number_text(c.kernel) + "_s" +
            number_text(c.stride) + "_p" + number_text(c.padding) + "_d" + number_text(c.dilation) + "_g" +
            std::to_string(c.channels.groups) + (c.is_transposed ? "_transposed" : "");
  }
  text += ".s" + real_text(input_scale) + "_z" + number_text({input_zero}) + "_to_s" +
          real_text(result_scale) + "_z" + number_text({result_zero});
  if (has_weight()) text += is_per_channel ? ".per_channel" : ".per_tensor";
  if (has_weight() && weight_zero != 0) text += "_zw" + number_text({weight_zero});
  text += has_bias ? "_bias" : "";
  return text +
         (clamp == Clamp::kRelu  ? ".relu"
          : clamp == Clamp::kSix ? ".relu6"
                                 : "") +
         (is_large ? ".large" : "") + ".stat";
}

double channel_scale(const Layer& layer, int64_t channel) {
  if (!layer.is_per_channel) return layer.weight_scale;
  return layer.weight_scale * std::ldexp(1.0, channel == 2 ? -14 : -static_cast<int>(channel * 5 % 4));
}

// Builds the nodes of a layer; the result stays real with `is_reference`.
class LayerBuilder {
 public:
  LayerBuilder(const Layer& layer, CaseBuilder& builder) : layer_(layer), builder_(builder) {}

  void build(bool is_reference) {
    const uint32_t codes = builder_.input(
        make_values(layer_.input, Values::kStatistical,
                    {static_cast<double>(layer_.codes.low), static_cast<double>(layer_.codes.high)}, 0,
                    builder_.random()));
    // Constants have numbers before those of results.
    const Weight constants = layer_.has_weight() ? weight_constants() : Weight{};
    const uint32_t z = layer_.has_bias ? bias() : 0;
    const uint32_t x = builder_.node(
        "quantized_decomposed.dequantize_per_tensor.default",
        tensor_quant_args(codes, layer_.input_scale, layer_.input_zero, layer_.codes), real(layer_.input));
    const uint32_t w = layer_.has_weight() ? weight(constants) : 0;
    const uint32_t y = clamped(node(x, w, z));
    builder_.output(is_reference ? real_codes(builder_, y, layer_.result_scale, layer_.result_zero,
                                              layer_.codes, real(layer_.result()))
                                 : builder_.node("quantized_decomposed.quantize_per_tensor.default",
                                                 tensor_quant_args(y, layer_.result_scale, layer_.result_zero,
                                                                   layer_.codes),
                                                 layer_.result()));
  }

 private:
  static Shape real(Shape shape) {
    shape.dtype = ETB_DTYPE_FLOAT32;
    return shape;
  }

  int64_t channels() const {
    return layer_.kind == Kind::kConvolution ? layer_.convolution.channels.out : layer_.outputs;
  }

  struct Weight {
    uint32_t codes = 0, scales = 0, zeros = 0;
  };
  Weight weight_constants() {
    const Shape shape = layer_.weight();
    Weight out;
    out.codes =
        builder_.constant(make_values(shape, Values::kStatistical, {-127, 127}, 1, builder_.random()));
    if (!layer_.is_per_channel) return out;
    const int64_t count = shape.sizes[static_cast<size_t>(layer_.weight_axis())];
    out.scales = builder_.constant(
        filled({ETB_DTYPE_FLOAT32, {count}, {}}, [&](int64_t i) { return channel_scale(layer_, i); }));
    out.zeros = builder_.constant(filled({ETB_DTYPE_INT64, {count}, {}}, [](int64_t) { return 0.0; }));
    return out;
  }

  uint32_t weight(const Weight& constants) {
    const Shape shape = real(layer_.weight());
    if (!layer_.is_per_channel)
      return builder_.node("quantized_decomposed.dequantize_per_tensor.default",
                           tensor_quant_args(constants.codes, layer_.weight_scale, layer_.weight_zero,
                                             {ETB_DTYPE_INT8, -127, 127}),
                           shape);
    return builder_.node("quantized_decomposed.dequantize_per_channel.default",
                         {value_arg(constants.codes, "input"), value_arg(constants.scales, "scales"),
                          value_arg(constants.zeros, "zero_points"), int_arg(layer_.weight_axis(), "axis"),
                          int_arg(-127, "quant_min"), int_arg(127, "quant_max"),
                          graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, "dtype")},
                         shape);
  }

  // Integers keep it as a multiple of both scales, which it is here.
  uint32_t bias() {
    return builder_.constant(filled({ETB_DTYPE_FLOAT32, {channels()}, {}}, [&](int64_t i) {
      return static_cast<double>(builder_.random().between(-3000, 3000)) * layer_.input_scale *
             channel_scale(layer_, i);
    }));
  }

  uint32_t node(uint32_t x, uint32_t w, uint32_t z) {
    const Shape result = real(layer_.result());
    const graph::ArgumentDesc bias = layer_.has_bias ? value_arg(z, "bias") : graph::none_arg("bias");
    const auto op = [&](std::vector<graph::ArgumentDesc> args) {
      return builder_.node(layer_.op(), std::move(args), result);
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
        break;
    }
    Shape indices = result;
    indices.dtype = ETB_DTYPE_INT64;
    return builder_.node(layer_.op(),
                         {value_arg(x, "self"), ints_arg({2, 2}, "kernel_size"), ints_arg({2, 2}, "stride")},
                         std::vector<Shape>{result, indices});
  }

  uint32_t clamped(uint32_t y) {
    const Shape result = real(layer_.result());
    if (layer_.clamp == Clamp::kNone) return y;
    if (layer_.clamp == Clamp::kRelu)
      return builder_.node("aten.relu.default", {value_arg(y, "self")}, result);
    return builder_.node("aten.hardtanh.default",
                         {value_arg(y, "self"), float_arg(0, "min_val"), float_arg(6, "max_val")}, result);
  }

  const Layer& layer_;
  CaseBuilder& builder_;
};

void add_layer(CaseList& out, const Layer& layer) {
  out.add({layer.name(), layer.op(), layer.codes.dtype, [layer](std::string_view name) -> Result<BuiltCase> {
             CaseBuilder builder(name), parts(name);
             LayerBuilder(layer, builder).build(false);
             LayerBuilder(layer, parts).build(true);
             ErrorModel error_model;
             error_model.rule = Rule::kQuantized;
             error_model.zero_point = layer.result_zero;
             ETB_ASSIGN(BuiltCase built, builder.finish(std::move(error_model)));
             ETB_ASSIGN(BuiltCase reference, parts.finish({}));
             built.reference_image = std::move(reference.image);
             return built;
           }});
}

// Returns a scale with which sums of `length` products fill the codes and some saturate.
double result_scale(const Layer& layer, bool is_power) {
  const double deviation =
      layer.input_scale * layer.weight_scale * 74 * 73 * std::sqrt(static_cast<double>(layer.length()));
  const double wanted = deviation / 60;
  return is_power ? std::ldexp(1.0, static_cast<int>(std::floor(std::log2(wanted)))) : wanted;
}

const CodeRange kInt8{ETB_DTYPE_INT8, -128, 127}, kUint8{ETB_DTYPE_UINT8, 0, 255};

// Factors that all layers have.
struct CommonFactors {
  explicit CommonFactors(Design& design)
      : codes(design.add<CodeRange>({kInt8, kInt8, kInt8, kUint8})),
        input_zero(design.add<double>({0, 0.25, 1, 0.55})),
        result_zero(design.add<double>({0.5, 0, 1, 0.3})),
        is_power(design.add<bool>({true, false})),
        is_per_channel(design.add<bool>({true, false})),
        weight_zero(design.add<int64_t>({0, 0, 0, 0, 5})),  // plugins without some reject such rows
        has_bias(design.add<bool>({true, false})),
        clamp(design.add<Clamp>({Clamp::kNone, Clamp::kRelu, Clamp::kNone, Clamp::kSix})) {}

  void apply(const Levels& row, Layer& layer) const {
    layer.codes = codes(row);
    layer.input.dtype = layer.codes.dtype;
    const auto zero = [&](double part) {
      return layer.codes.low + static_cast<int64_t>(std::lround(
                                   part * static_cast<double>(layer.codes.high - layer.codes.low)));
    };
    layer.input_zero = zero(input_zero(row));
    layer.result_zero = zero(result_zero(row));
    layer.input_scale = is_power(row) ? 0x1p-5 : 0.0173;
    layer.weight_scale = is_power(row) ? 0x1p-6 : 0.0047;
    layer.is_per_channel = is_per_channel(row);
    layer.weight_zero = layer.is_per_channel ? 0 : weight_zero(row);
    layer.has_bias = has_bias(row);
    layer.clamp = clamp(row);
  }

  Factor<CodeRange> codes;
  Factor<double> input_zero, result_zero;  // as a part of the range
  Factor<bool> is_power, is_per_channel;
  Factor<int64_t> weight_zero;
  Factor<bool> has_bias;
  Factor<Clamp> clamp;
};

void add_products(CaseList& out) {
  Design design;
  const CommonFactors common(design);
  const auto kind = design.add<Kind>({Kind::kLinear, Kind::kLinear, Kind::kAddmm, Kind::kMm});
  const auto rows = design.add<Numbers>({{1}, {3}, {8}, {2, 5}, {1, 17}, {2, 2, 3}});
  const auto inputs = design.add<int64_t>({1, 7, 8, 16, 31, 64, 65, 129}),
             outputs = design.add<int64_t>({1, 4, 7, 8, 9, 16, 17, 33});
  Names names;
  for (const char* seed : {"products of codes", "products of codes, again"})
    for (const Levels& row : design.rows(seed)) {
      Layer layer;
      layer.kind = kind(row);
      layer.input.sizes = layer.kind == Kind::kLinear ? rows(row) : Numbers{rows(row).back()};
      layer.input.sizes.push_back(inputs(row));
      layer.outputs = outputs(row);
      common.apply(row, layer);
      if (layer.kind != Kind::kLinear) layer.has_bias = layer.kind == Kind::kAddmm;
      layer.result_scale = result_scale(layer, common.is_power(row));
      if (names.is_new(layer.name())) add_layer(out, layer);
    }
}

void add_convolutions(CaseList& out) {
  Design design;
  const CommonFactors common(design);
  const auto channels = design.add<Channels>(
      {{3, 8, 1}, {8, 5, 1}, {1, 1, 1}, {6, 4, 2}, {4, 4, 4}, {5, 10, 5}, {17, 17, 17}, {33, 16, 1}});
  const auto size = design.add<Numbers>({{5, 7}, {9, 8}, {11, 6}});
  const auto kernel = design.add<Numbers>({{3, 3}, {1, 1}, {3, 2}, {2, 5}, {5, 5}});
  const auto stride = design.add<Numbers>({{1, 1}, {2, 1}, {2, 2}, {1, 3}}),
             padding = design.add<Numbers>({{1, 1}, {0, 0}, {2, 0}, {0, 1}}),
             dilation = design.add<Numbers>({{1, 1}, {1, 1}, {1, 2}});
  const auto batch = design.add<int64_t>({1, 3});
  const auto is_last = design.add<bool>({true, false});
  const auto is_transposed = design.add<bool>({false, false, true});
  const auto layer_of = [&](const Levels& row) {
    Layer layer;
    layer.kind = Kind::kConvolution;
    Convolution& c = layer.convolution;
    c.batch = batch(row);
    c.channels = channels(row);
    c.size = size(row);
    c.kernel = kernel(row);
    c.stride = stride(row);
    c.padding = padding(row);
    c.dilation = dilation(row);
    c.output_padding = {0, 0};
    c.is_transposed = is_transposed(row);
    c.is_last = is_last(row);
    layer.input = c.input_shape();
    common.apply(row, layer);
    layer.result_scale = result_scale(layer, common.is_power(row));
    return layer;
  };
  Names names;
  for (const char* seed : {"convolutions of codes", "convolutions of codes, again"})
    for (const Levels& row : design.rows(seed, [&](const Levels& levels) {
           const Convolution c = layer_of(levels).convolution;
           // A scale an output of a group would be shared by the groups.
           const bool is_shared = c.is_transposed && c.channels.groups != 1 && common.is_per_channel(levels);
           const Numbers made = c.result_size();
           return !is_shared && made[0] > 0 && made[1] > 0;
         }))
      if (const Layer layer = layer_of(row); names.is_new(layer.name())) add_layer(out, layer);
}

// Means have a scale of their own; maxima keep the scale. A constant that is added has a zero point.
void add_windows(CaseList& out) {
  Design design;
  const CommonFactors common(design);
  const auto kind = design.add<Kind>({Kind::kMean, Kind::kAdaptiveMean, Kind::kMaximum, Kind::kAdd});
  const auto size = design.add<Numbers>({{1, 3, 4, 6}, {2, 8, 5, 7}, {3, 17, 2, 2}, {1, 5, 9, 3}});
  const auto is_last = design.add<bool>({true, false});
  Names names;
  for (const Levels& row : design.rows("windows of codes")) {
    Layer layer;
    layer.kind = kind(row);
    layer.input.sizes = size(row);
    if (is_last(row)) layer.input.dim_order = channels_last(4);
    common.apply(row, layer);
    layer.has_bias = layer.is_per_channel = false;
    layer.weight_zero = layer.kind == Kind::kAdd ? 37 : 0;
    layer.result_scale = layer.input_scale * (common.is_power(row) ? 0.25 : 0.31);
    if (layer.kind == Kind::kAdd) layer.input.dim_order = {};
    if (layer.kind == Kind::kMaximum) {
      layer.result_scale = layer.input_scale;
      layer.result_zero = layer.input_zero;
    }
    if (names.is_new(layer.name())) add_layer(out, layer);
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
  for (const Product& product :
       {Product{{3, 1031}, 65}, Product{{5, 4096}, 9}, Product{{2, 33}, 1025}, Product{{130, 64}, 33}}) {
    layer.input = {ETB_DTYPE_INT8, product.sizes, {}};
    layer.outputs = product.outputs;
    layer.result_scale = result_scale(layer, true);
    add_layer(out, layer);
  }
  layer.kind = Kind::kConvolution;
  for (const Channels& channels : {Channels{520, 33, 1}, Channels{17, 515, 1}, Channels{513, 513, 513}}) {
    Convolution& c = layer.convolution;
    c.channels = channels;
    c.size = {6, 5};
    c.kernel = {3, 3};
    c.stride = c.padding = c.dilation = {1, 1};
    c.output_padding = {0, 0};
    layer.input = {ETB_DTYPE_INT8, c.input_shape().sizes, {}};
    layer.result_scale = result_scale(layer, true);
    add_layer(out, layer);
  }
}

}  // namespace

void add_quantised_layers(CaseList& out) {
  add_products(out);
  add_convolutions(out);
  add_windows(out);
  add_large(out);
}

}  // namespace etb::conformance
