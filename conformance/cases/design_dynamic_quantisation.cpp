// SPDX-License-Identifier: Apache-2.0
// Linear layers and convolutions whose input is quantised at run time, with weights of 8 and 4 bits. Each row
// has both ends of its range, so that every implementation finds the same scale and zero point, and no code is
// near a tie: the layer is then a product of known numbers.
#include <algorithm>
#include <cmath>

#include "conformance/cases/design_convolution.hpp"
#include "conformance/cases/design_quantisation.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {
namespace {

using graph::float_arg;
using graph::int_arg;
using graph::ints_arg;
using graph::value_arg;

enum class Scheme { kPt2e, kPt2ePerTensor, kTorchao, kTorchaoInt4 };

struct Layer {
  Scheme scheme = Scheme::kTorchao;
  Numbers leading;                              // sizes before the inputs
  int64_t inputs = 32, outputs = 5, group = 0;  // 0: a scale a row of the weight
  int64_t zero = 0;  // zero point of the first row; the others differ with torchao, which has one a row
  int64_t weight_zero = 0;  // only for kPt2ePerTensor
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
  int64_t row_length() const { return is_convolution ? input().numel() / convolution.batch : inputs; }
  int64_t block() const { return group == 0 ? weight().numel() / weight().sizes[0] : group; }
  double weight_scale(int64_t block_index) const {
    if (scheme == Scheme::kPt2ePerTensor) return 0x1p-6;
    return block_index % 7 == 3 ? 0x1p-12 : std::ldexp(1.0, -static_cast<int>(block_index % 4) - 4);
  }
  double input_scale(int64_t row) const {
    return is_torchao() ? std::ldexp(1.0, -static_cast<int>(row % 3) - 4) : 0x1p-5;
  }
  int64_t zero_of(int64_t row) const { return is_torchao() ? (zero + 128 + row * 37) % 256 - 128 : zero; }
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

// Operands: the input; the codes of the weight; the bias, if there is one; scales and zero points of the weight, if they
// are tensors.
class LayerNodes {
 public:
  LayerNodes(const Layer& layer, size_t operand_count, std::vector<FormNode>& nodes)
      : layer_(layer), nodes_(nodes, operand_count) {}

  void add() {
    const uint32_t left = layer_.is_torchao() ? torchao_input() : pt2e_input();
    const uint32_t right = layer_.is_torchao() ? torchao_weight() : pt2e_weight();
    add_product(left, right);
  }

  // The same layer with real numbers as its weight.
  void add_product(uint32_t x, uint32_t w) {
    const graph::ArgumentDesc bias = layer_.has_bias ? value_arg(2, "bias") : graph::none_arg("bias");
    if (layer_.is_convolution)
      nodes_.add("aten.convolution.default", convolution_args(layer_.convolution, x, w, bias),
                 layer_.result());
    else
      nodes_.add("aten.linear.default", {value_arg(x, "input"), value_arg(w, "weight"), bias},
                 layer_.result());
  }

 private:
  uint32_t scales() const { return layer_.has_bias ? 3 : 2; }

  Shape codes_like(Shape shape) const {
    shape.dtype = ETB_DTYPE_INT8;
    return shape;
  }

  uint32_t pt2e_input() {
    const uint32_t chosen = nodes_.add(
        "quantized_decomposed.choose_qparams.tensor",
        {value_arg(0, "input"), int_arg(-128, "quant_min"), int_arg(127, "quant_max"), float_arg(1e-9, "eps"),
         graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, "dtype")},
        std::vector<Shape>{{ETB_DTYPE_FLOAT64, {1}, {}}, {ETB_DTYPE_INT64, {1}, {}}});
    const auto convert = [&](const char* op, uint32_t from, const Shape& to) {
      return nodes_.add(
          op,
          {value_arg(from, "input"), value_arg(chosen, "scale"), value_arg(chosen + 1, "zero_point"),
           int_arg(-128, "quant_min"), int_arg(127, "quant_max"),
           graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, "dtype")},
          to);
    };
    const uint32_t codes =
        convert("quantized_decomposed.quantize_per_tensor.tensor", 0, codes_like(layer_.input()));
    return convert("quantized_decomposed.dequantize_per_tensor.tensor", codes, layer_.input());
  }

  uint32_t pt2e_weight() {
    if (layer_.scheme == Scheme::kPt2ePerTensor)
      return nodes_.add(kDequantise,
                        tensor_quant_args(1, layer_.weight_scale(0), layer_.weight_zero, kWeightCodes),
                        layer_.weight());
    return nodes_.add("quantized_decomposed.dequantize_per_channel.default",
                      channel_quant_args(1, scales(), scales() + 1, 0, kWeightCodes), layer_.weight());
  }

  uint32_t affine(const char* op, uint32_t from, const Numbers& block, uint32_t scale, uint32_t zero,
                  int64_t limit, const char* dtype_name, const Shape& to) {
    return nodes_.add(
        op,
        {value_arg(from, "input"), ints_arg(block, "block_size"), value_arg(scale, "scale"),
         value_arg(zero, "zero_point"), graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, dtype_name),
         int_arg(-limit, "quant_min"), int_arg(limit - 1, "quant_max")},
        to);
  }

  uint32_t torchao_input() {
    Numbers block(layer_.input().sizes.size(), 1);
    block.back() = layer_.inputs;
    const uint32_t chosen = nodes_.add(
        "torchao.choose_qparams_affine.default",
        {value_arg(0, "input"), graph::string_arg("ASYMMETRIC", "mapping_type"),
         ints_arg(block, "block_size"),
         graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, "target_dtype"),
         int_arg(-128, "quant_min"), int_arg(127, "quant_max")},
        std::vector<Shape>{{ETB_DTYPE_FLOAT32, layer_.leading, {}}, {ETB_DTYPE_INT8, layer_.leading, {}}});
    const uint32_t codes = affine("torchao.quantize_affine.default", 0, block, chosen, chosen + 1, 128,
                                  "output_dtype", codes_like(layer_.input()));
    return affine("torchao.dequantize_affine.default", codes, block, chosen, chosen + 1, 128, "input_dtype",
                  layer_.input());
  }

  uint32_t torchao_weight() {
    return affine("torchao.dequantize_affine.default", 1, {1, layer_.block()}, scales(), scales() + 1,
                  layer_.limit(), "input_dtype", layer_.weight());
  }

  const Layer& layer_;
  FormNodes nodes_;
};

void add_operands(const Layer& layer, OpForm& form) {
  const int64_t limit = layer.limit(), low = limit == 8 ? -8 : -127;
  const Shape shape = layer.weight();
  form.operands = {{layer.input()}, {{ETB_DTYPE_INT8, shape.sizes, {}}}};
  form.operands[0].fill = [layer](TensorData& data, Random& random) { data = input_data(layer, random); };
  form.operands[1].is_constant = true;
  form.operands[1].fill = [=](TensorData& data, Random& random) {
    data = filled(data.shape, [&](int64_t) { return static_cast<double>(random.between(low, limit - 1)); });
  };
  const size_t channel_dim = layer.is_convolution ? 1 : layer.result().sizes.size() - 1;
  if (layer.has_bias)
    form.operands.push_back(
        {{ETB_DTYPE_FLOAT32, {layer.result().sizes[channel_dim]}, {}}, Values::kStatistical, {-4, 4}, true});
  if (layer.scheme == Scheme::kPt2ePerTensor) return;
  Numbers sizes = {shape.sizes[0]};
  if (layer.is_torchao()) sizes.push_back(layer.inputs / layer.block());
  form.operands.push_back(
      constant_of({ETB_DTYPE_FLOAT32, sizes, {}}, [layer](int64_t i) { return layer.weight_scale(i); }));
  form.operands.push_back(constant_of({layer.is_torchao() ? ETB_DTYPE_INT8 : ETB_DTYPE_INT64, sizes, {}},
                                      [](int64_t) { return 0.0; }));
}

// Returns the weight as real numbers, a constant of the reference.
Derive real_weight(const Layer& layer) {
  return [layer](const std::vector<TensorData>& operands) {
    return filled(layer.weight(), [&](int64_t i) {
      return (load_element(ETB_DTYPE_INT8, operands[1].bytes.data(), i) -
              static_cast<double>(layer.weight_zero)) *
             layer.weight_scale(i / layer.block());
    });
  };
}

OpForm layer_form(const Layer& layer) {
  constexpr const char* kSchemes[] = {"pt2e", "pt2e_tensor", "torchao", "torchao_4bit"};
  OpForm form;
  form.op = layer.is_torchao() ? "torchao.choose_qparams_affine.default"
                               : "quantized_decomposed.choose_qparams.tensor";
  form.group = "quant";
  form.word = layer.is_convolution ? "convolution_s" + number_text(layer.convolution.stride) + "_p" +
                                         number_text(layer.convolution.padding) + "_d" +
                                         number_text(layer.convolution.dilation) + "_g" +
                                         number_text(layer.convolution.channels.groups)
                                   : "linear";
  form.word += std::string(".") + kSchemes[static_cast<size_t>(layer.scheme)];
  if (layer.weight_zero != 0) form.word += "_zw" + number_text(layer.weight_zero);
  if (layer.group != 0) form.word += "_by" + number_text(layer.group);
  form.word += ".z" + number_text(layer.zero) + (layer.is_large ? ".large" : "");
  add_operands(layer, form);
  const size_t count = form.operands.size();
  LayerNodes(layer, count, form.nodes).add();
  form.reference.constants = {real_weight(layer)};
  LayerNodes(layer, count + 1, form.reference.nodes).add_product(0, static_cast<uint32_t>(count));
  // Products, two scales, the bias.
  form.error_model = sum_model(Values::kStatistical,
                               layer.block() * (layer.group != 0 ? layer.inputs / layer.group : 1) + 3);
  return form;
}

// Adds the case, and for some rows a dynamic one of the rows before the inputs, or of the batch.
void add_row(CaseList& out, const Layer& layer, size_t at) {
  add_form(out, ETB_DTYPE_FLOAT32, layer_form(layer));
  if (at % 3 != 0) return;
  const auto maker = [layer](const Sizes& sizes) {
    Layer now = layer;
    now.convolution.batch = sizes[0];
    now.leading.assign(sizes.begin(), sizes.end() - 1);
    return layer_form(now);
  };
  add_dynamic_form(out, ETB_DTYPE_FLOAT32, maker, layer.input().sizes, Moving::kFirst,
                   static_cast<Order>(at / 3 % 3));
}

void add_products(CaseList& out) {
  DesignOf<Layer> design;
  design.add(&Layer::scheme, {Scheme::kTorchaoInt4, Scheme::kTorchao, Scheme::kPt2e, Scheme::kTorchaoInt4,
                              Scheme::kPt2ePerTensor});
  design.add(&Layer::leading, {{1}, {3}, {8}, {2, 3}, {5}, {17}, {2, 1, 4}});
  design.add(&Layer::inputs, {32, 64, 96, 128, 256, 31, 65, 8});
  design.add(&Layer::outputs, {5, 1, 7, 8, 16, 17, 33});
  design.add(&Layer::group, {0, 32, 64, 128});
  design.add(&Layer::zero, {0, -128, 127, 19});
  design.add(&Layer::has_bias, {false, true});
  design.add(&Layer::weight_zero, {0, 0, 0, 5});
  const auto is_allowed = [](const Layer& layer) {
    return layer.group == 0 || (layer.scheme == Scheme::kTorchaoInt4 && layer.inputs % layer.group == 0);
  };
  size_t at = 0;
  for (const char* seed : {"dynamic layers", "dynamic layers, again"})
    for (Layer layer : design.rows(seed, is_allowed)) {
      if (layer.scheme != Scheme::kPt2ePerTensor) layer.weight_zero = 0;
      add_row(out, layer, at++);
    }
}

void add_convolutions(CaseList& out) {
  Layer base;
  base.is_convolution = true;
  base.convolution.output_padding = {0, 0};
  DesignOf<Layer> design(base);
  design.add(&Layer::scheme, {Scheme::kPt2e, Scheme::kPt2ePerTensor});
  add_image_layer(design, &Layer::convolution, {{3, 8, 1}, {8, 5, 1}, {6, 4, 2}, {4, 4, 4}, {17, 16, 1}},
                  {{{5, 7}, {9, 8}, {11, 6}},
                   {{3, 3}, {1, 1}, {3, 2}, {2, 5}},
                   {{1, 1}, {2, 1}, {2, 2}},
                   {{1, 1}, {0, 0}, {2, 0}},
                   {{1, 1}, {1, 1}, {1, 2}}});
  design.add(&Layer::zero, {0, -128, 127, 19});
  design.add(&Layer::has_bias, {false, true});
  design.add([](Layer& layer) -> bool& { return layer.convolution.is_last; }, {true, false});
  size_t at = 0;
  for (const Layer& layer : design.rows("dynamic convolutions")) {
    const Numbers made = layer.convolution.result_size();
    if (*std::min_element(made.begin(), made.end()) < 1) continue;  // the kernel does not fit
    add_row(out, layer, at++);
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
    add_form(out, ETB_DTYPE_FLOAT32, layer_form(layer));
    layer.inputs = 96;
    layer.group = scheme == Scheme::kTorchaoInt4 ? 32 : 0;
    layer.outputs = 1025;
    add_form(out, ETB_DTYPE_FLOAT32, layer_form(layer));
  }
}

}  // namespace

void add_dynamic_quantisation_designs(CaseList& out) {
  add_products(out);
  add_convolutions(out);
  add_large(out);
}

}  // namespace etb::conformance
