// SPDX-License-Identifier: Apache-2.0
// Linear layers and convolutions whose input is quantised at run time, with weights of 8 and 4 bits. Each row
// has both ends of its range, so that every implementation finds the same scale and zero point, and no code is
// near a tie: the layer is then a product of known numbers.
#include <algorithm>
#include <cmath>

#include "conformance/cases/convolution_design.hpp"
#include "conformance/cases/quantised_design.hpp"

namespace etb::conformance {
namespace {

using graph::float_arg;
using graph::int_arg;
using graph::ints_arg;
using graph::value_arg;

enum class Scheme { kPt2e, kPt2ePerTensor, kTorchao, kTorchaoInt4 };

struct Layer {
  Scheme scheme = Scheme::kTorchao;
  Numbers leading;                              // before the inputs
  int64_t inputs = 32, outputs = 5, group = 0;  // 0: a scale a row of the weight
  int64_t zero = 0;  // zero point of the first row; the others differ with torchao, which has one a row
  int64_t weight_zero = 0;  // of kPt2ePerTensor
  bool has_bias = false;
  bool is_convolution = false, is_large = false;
  Convolution convolution;

  bool is_torchao() const { return scheme == Scheme::kTorchao || scheme == Scheme::kTorchaoInt4; }
  int64_t limit() const { return scheme == Scheme::kTorchaoInt4 ? 8 : 128; }
  Shape input() const {
    Shape out{ETB_DTYPE_FLOAT32, leading, {}};
    if (is_convolution) return convolution.input_shape();
    out.sizes.push_back(inputs);
    return out;
  }
  Shape weight() const {
    if (is_convolution) return convolution.weight_shape();
    return {ETB_DTYPE_FLOAT32, {outputs, inputs}, {}};
  }
  Shape result() const {
    if (is_convolution) return convolution.result_shape();
    Shape out = input();
    out.sizes.back() = outputs;
    return out;
  }
  // Plugins may quantise the rows of a tensor one by one, also where the graph has one scale for all.
  int64_t row_length() const { return is_convolution ? input().numel() : inputs; }
  int64_t block() const { return group == 0 ? weight().numel() / weight().sizes[0] : group; }
  double weight_scale(int64_t block_index) const {
    if (scheme == Scheme::kPt2ePerTensor) return 0x1p-6;
    return block_index % 7 == 3 ? 0x1p-12 : std::ldexp(1.0, -static_cast<int>(block_index % 4) - 4);
  }
  double input_scale(int64_t row) const {
    return is_torchao() ? std::ldexp(1.0, -static_cast<int>(row % 3) - 4) : 0x1p-5;
  }
  int64_t zero_of(int64_t row) const { return is_torchao() ? (zero + 128 + row * 37) % 256 - 128 : zero; }
  std::string name() const {
    constexpr const char* kSchemes[] = {"pt2e", "pt2e_tensor", "torchao", "torchao_4bit"};
    std::string text = is_convolution ? "quant.convolution_dynamic.f32." : "quant.linear_dynamic.f32.";
    text += shape_text(input()) + "__" + shape_text(weight());
    if (is_convolution)
      text += ".s" + number_text(convolution.stride) + "_p" + number_text(convolution.padding) + "_d" +
              number_text(convolution.dilation) + "_g" + std::to_string(convolution.channels.groups);
    text += std::string(".") + kSchemes[static_cast<size_t>(scheme)];
    text += weight_zero != 0 ? "_zw" + number_text({weight_zero}) : "";
    text += group != 0 ? "_by" + std::to_string(group) : "";
    return text + ".z" + number_text({zero}) + (has_bias ? ".bias" : "") + (is_large ? ".large" : "") +
           ".stat";
  }
};

// Codes from -128 to 127, both in each row, as reals of the row's scale and zero point.
TensorData input_data(const Layer& layer, Random& random) {
  const int64_t length = layer.row_length();
  int64_t low = 0, high = 0;
  return filled(layer.input(), [&](int64_t i) {
    const int64_t row = i / length;
    if (i % length == 0) {
      low = random.between(0, length - 1);
      high = (low + random.between(1, length - 1)) % length;
    }
    const int64_t code = i % length == low ? -128 : i % length == high ? 127 : random.between(-128, 127);
    return static_cast<double>(code - layer.zero_of(row)) * layer.input_scale(row);
  });
}

class LayerBuilder {
 public:
  LayerBuilder(const Layer& layer, CaseBuilder& builder) : layer_(layer), builder_(builder) {}

  void build(bool is_reference) {
    const uint32_t x = builder_.input(input_data(layer_, builder_.random()));
    const Shape shape = layer_.weight();
    const int64_t limit = layer_.limit(), low = limit == 8 ? -8 : -127;
    const TensorData codes = filled({ETB_DTYPE_INT8, shape.sizes, {}}, [&](int64_t) {
      return static_cast<double>(builder_.random().between(low, limit - 1));
    });
    const TensorData bias = filled({ETB_DTYPE_FLOAT32, {layer_.result().sizes[channel_dim()]}, {}},
                                   [&](int64_t) { return builder_.random().uniform() * 8 - 4; });
    const uint32_t z = layer_.has_bias ? builder_.constant(bias) : 0;
    if (is_reference) {
      const uint32_t w = builder_.constant(filled(shape, [&](int64_t i) {
        return (load_element(ETB_DTYPE_INT8, codes.bytes.data(), i) -
                static_cast<double>(layer_.weight_zero)) *
               layer_.weight_scale(i / layer_.block());
      }));
      return builder_.output(product(x, w, z));
    }
    const Weight constants = weight_constants(codes);
    const uint32_t left = layer_.is_torchao() ? torchao_input(x) : pt2e_input(x);
    const uint32_t right = layer_.is_torchao() ? torchao_weight(constants) : pt2e_weight(constants);
    builder_.output(product(left, right, z));
  }

 private:
  size_t channel_dim() const { return layer_.is_convolution ? 1 : layer_.result().sizes.size() - 1; }

  uint32_t product(uint32_t x, uint32_t w, uint32_t z) {
    const graph::ArgumentDesc bias = layer_.has_bias ? value_arg(z, "bias") : graph::none_arg("bias");
    if (layer_.is_convolution)
      return builder_.node("aten.convolution.default", convolution_args(layer_.convolution, x, w, bias),
                           layer_.result());
    return builder_.node("aten.linear.default", {value_arg(x, "input"), value_arg(w, "weight"), bias},
                         layer_.result());
  }

  Shape codes_like(Shape shape) const {
    shape.dtype = ETB_DTYPE_INT8;
    return shape;
  }

  uint32_t pt2e_input(uint32_t x) {
    const uint32_t chosen = builder_.node(
        "quantized_decomposed.choose_qparams.tensor",
        {value_arg(x, "input"), int_arg(-128, "quant_min"), int_arg(127, "quant_max"), float_arg(1e-9, "eps"),
         graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, "dtype")},
        std::vector<Shape>{{ETB_DTYPE_FLOAT64, {1}, {}}, {ETB_DTYPE_INT64, {1}, {}}});
    const auto convert = [&](const char* op, uint32_t from, const Shape& to) {
      return builder_.node(
          op,
          {value_arg(from, "input"), value_arg(chosen, "scale"), value_arg(chosen + 1, "zero_point"),
           int_arg(-128, "quant_min"), int_arg(127, "quant_max"),
           graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, "dtype")},
          to);
    };
    const uint32_t codes =
        convert("quantized_decomposed.quantize_per_tensor.tensor", x, codes_like(layer_.input()));
    return convert("quantized_decomposed.dequantize_per_tensor.tensor", codes, layer_.input());
  }

  struct Weight {
    uint32_t codes = 0, scales = 0, zeros = 0;
  };
  // Constants have numbers before those of results.
  Weight weight_constants(const TensorData& codes) {
    Numbers sizes = {layer_.weight().sizes[0]};
    if (layer_.is_torchao()) sizes.push_back(layer_.inputs / layer_.block());
    Weight out;
    out.codes = builder_.constant(codes);
    if (layer_.scheme == Scheme::kPt2ePerTensor) return out;
    out.scales = builder_.constant(
        filled({ETB_DTYPE_FLOAT32, sizes, {}}, [&](int64_t i) { return layer_.weight_scale(i); }));
    out.zeros = builder_.constant(filled({layer_.is_torchao() ? ETB_DTYPE_INT8 : ETB_DTYPE_INT64, sizes, {}},
                                         [](int64_t) { return 0.0; }));
    return out;
  }

  uint32_t pt2e_weight(const Weight& constants) {
    if (layer_.scheme == Scheme::kPt2ePerTensor)
      return builder_.node("quantized_decomposed.dequantize_per_tensor.default",
                           tensor_quant_args(constants.codes, layer_.weight_scale(0), layer_.weight_zero,
                                             {ETB_DTYPE_INT8, -127, 127}),
                           layer_.weight());
    return builder_.node(
        "quantized_decomposed.dequantize_per_channel.default",
        {value_arg(constants.codes, "input"), value_arg(constants.scales, "scales"),
         value_arg(constants.zeros, "zero_points"), int_arg(0, "axis"), int_arg(-127, "quant_min"),
         int_arg(127, "quant_max"), graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, "dtype")},
        layer_.weight());
  }

  uint32_t affine(const char* op, uint32_t from, const Numbers& block, uint32_t scale, uint32_t zero,
                  int64_t limit, const char* dtype_name, const Shape& to) {
    return builder_.node(
        op,
        {value_arg(from, "input"), ints_arg(block, "block_size"), value_arg(scale, "scale"),
         value_arg(zero, "zero_point"), graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, dtype_name),
         int_arg(-limit, "quant_min"), int_arg(limit - 1, "quant_max")},
        to);
  }

  uint32_t torchao_input(uint32_t x) {
    Numbers block(layer_.input().sizes.size(), 1);
    block.back() = layer_.inputs;
    const uint32_t chosen = builder_.node(
        "torchao.choose_qparams_affine.default",
        {value_arg(x, "input"), graph::string_arg("ASYMMETRIC", "mapping_type"),
         ints_arg(block, "block_size"),
         graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, "target_dtype"),
         int_arg(-128, "quant_min"), int_arg(127, "quant_max")},
        std::vector<Shape>{{ETB_DTYPE_FLOAT32, layer_.leading, {}}, {ETB_DTYPE_INT8, layer_.leading, {}}});
    const uint32_t codes = affine("torchao.quantize_affine.default", x, block, chosen, chosen + 1, 128,
                                  "output_dtype", codes_like(layer_.input()));
    return affine("torchao.dequantize_affine.default", codes, block, chosen, chosen + 1, 128, "input_dtype",
                  layer_.input());
  }

  uint32_t torchao_weight(const Weight& constants) {
    return affine("torchao.dequantize_affine.default", constants.codes, {1, layer_.block()}, constants.scales,
                  constants.zeros, layer_.limit(), "input_dtype", layer_.weight());
  }

  const Layer& layer_;
  CaseBuilder& builder_;
};

void add_layer(CaseList& out, const Layer& layer) {
  const char* op = layer.is_torchao() ? "torchao.choose_qparams_affine.default"
                                      : "quantized_decomposed.choose_qparams.tensor";
  out.add({layer.name(), op, ETB_DTYPE_FLOAT32, [layer](std::string_view name) -> Result<BuiltCase> {
             CaseBuilder builder(name), parts(name);
             LayerBuilder(layer, builder).build(false);
             LayerBuilder(layer, parts).build(true);
             ErrorModel error_model;
             error_model.rule = Rule::kContraction;
             error_model.length = layer.block() * (layer.group != 0 ? layer.inputs / layer.group : 1) +
                                  3;  // products, two scales, the bias
             error_model.has_input_magnitude = true;
             ETB_ASSIGN(BuiltCase built, builder.finish(std::move(error_model)));
             ETB_ASSIGN(BuiltCase reference, parts.finish({}));
             built.reference_image = std::move(reference.image);
             return built;
           }});
}

void add_products(CaseList& out) {
  Design design;
  const auto scheme = design.add<Scheme>(
      {Scheme::kTorchaoInt4, Scheme::kTorchao, Scheme::kPt2e, Scheme::kTorchaoInt4, Scheme::kPt2ePerTensor});
  const auto leading = design.add<Numbers>({{1}, {3}, {8}, {2, 3}, {5}, {17}, {2, 1, 4}});
  const auto inputs = design.add<int64_t>({32, 64, 96, 128, 256, 31, 65, 8}),
             outputs = design.add<int64_t>({5, 1, 7, 8, 16, 17, 33}),
             group = design.add<int64_t>({0, 32, 64, 128});
  const auto zero = design.add<int64_t>({0, -128, 127, 19});
  const auto has_bias = design.add<bool>({false, true}),
             has_weight_zero = design.add<bool>({false, false, false, true});
  const auto layer_of = [&](const Levels& row) {
    Layer layer;
    layer.scheme = scheme(row);
    layer.leading = leading(row);
    layer.inputs = inputs(row);
    layer.outputs = outputs(row);
    layer.group = group(row);
    layer.zero = zero(row);
    layer.has_bias = has_bias(row);
    if (layer.scheme == Scheme::kPt2ePerTensor && has_weight_zero(row)) layer.weight_zero = 5;
    return layer;
  };
  Names names;
  for (const char* seed : {"dynamic layers", "dynamic layers, again"})
    for (const Levels& row : design.rows(seed, [&](const Levels& levels) {
           const Layer layer = layer_of(levels);
           return layer.group == 0 ||
                  (layer.scheme == Scheme::kTorchaoInt4 && layer.inputs % layer.group == 0);
         }))
      if (const Layer layer = layer_of(row); names.is_new(layer.name())) add_layer(out, layer);
}

void add_convolutions(CaseList& out) {
  Design design;
  const auto scheme = design.add<Scheme>({Scheme::kPt2e, Scheme::kPt2ePerTensor});
  const auto channels = design.add<Channels>({{3, 8, 1}, {8, 5, 1}, {6, 4, 2}, {4, 4, 4}, {17, 16, 1}});
  const auto size = design.add<Numbers>({{5, 7}, {9, 8}, {11, 6}}),
             kernel = design.add<Numbers>({{3, 3}, {1, 1}, {3, 2}, {2, 5}}),
             stride = design.add<Numbers>({{1, 1}, {2, 1}, {2, 2}}),
             padding = design.add<Numbers>({{1, 1}, {0, 0}, {2, 0}}),
             dilation = design.add<Numbers>({{1, 1}, {1, 1}, {1, 2}});
  const auto zero = design.add<int64_t>({0, -128, 127, 19});
  const auto has_bias = design.add<bool>({false, true}), is_last = design.add<bool>({true, false});
  Names names;
  for (const Levels& row : design.rows("dynamic convolutions")) {
    Layer layer;
    layer.scheme = scheme(row);
    layer.is_convolution = true;
    Convolution& c = layer.convolution;
    c.channels = channels(row);
    c.size = size(row);
    c.kernel = kernel(row);
    c.stride = stride(row);
    c.padding = padding(row);
    c.dilation = dilation(row);
    c.output_padding = {0, 0};
    c.is_last = is_last(row);
    layer.zero = zero(row);
    layer.has_bias = has_bias(row);
    const Numbers made = c.result_size();
    if (*std::min_element(made.begin(), made.end()) < 1) continue;  // the kernel does not fit
    if (names.is_new(layer.name())) add_layer(out, layer);
  }
}

void add_large(CaseList& out) {
  for (const Scheme scheme : {Scheme::kPt2e, Scheme::kTorchao, Scheme::kTorchaoInt4}) {
    Layer layer;
    layer.scheme = scheme;
    layer.leading = {19};
    layer.inputs = 4096;
    layer.outputs = 33;
    layer.group = scheme == Scheme::kTorchaoInt4 ? 128 : 0;
    layer.zero = 19;
    layer.has_bias = layer.is_large = true;
    add_layer(out, layer);
    layer.inputs = 96;
    layer.group = scheme == Scheme::kTorchaoInt4 ? 32 : 0;
    layer.outputs = 1025;
    add_layer(out, layer);
  }
}

}  // namespace

void add_dynamic_layers(CaseList& out) {
  add_products(out);
  add_convolutions(out);
  add_large(out);
}

}  // namespace etb::conformance
