// SPDX-License-Identifier: Apache-2.0
// Codes of weights that two layers share, whose inputs have other scales or zero points: what a plugin packs with the
// weights may depend on them. Also such layers as programs of their own, for delegates that live at the same time.
#include <string>

#include "conformance/cases/design_convolution.hpp"
#include "conformance/cases/design_quantisation.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

struct Numbering {
  double scale;
  int64_t zero;
};
struct Inputs {
  const char* word;
  Numbering first, second;
};
constexpr Inputs kInputs[] = {{"scale", {0x1p-5, 3}, {0x1p-3, 3}},
                              {"zero", {0x1p-5, -9}, {0x1p-5, 40}},
                              {"both", {0x1p-4, -128}, {0x1p-6, 0}}};
constexpr Numbering kResult{0x1p-1, 5};

struct Layer {
  bool is_image = false, is_per_channel = false;

  Convolution convolution() const { return even_convolution(ETB_DTYPE_FLOAT32, {3, 4, 1}, {6, 5}, 3, 1, 1); }
  Shape weight(etb_dtype dtype) const {
    return {dtype, is_image ? convolution().weight_shape().sizes : Sizes{8, 12}, {}};
  }
  Shape input(etb_dtype dtype) const {
    return {dtype, is_image ? convolution().input_shape().sizes : Sizes{5, 12}, {}};
  }
  Shape result(etb_dtype dtype) const {
    return {dtype, is_image ? convolution().result_shape().sizes : Sizes{5, 8}, {}};
  }
};

// Weights of all cases of one layer are equal, so that their named data has one key.
void fill_weight(TensorData& data, Random&) {
  Random random("shared codes");
  data = make_values(data.shape, Values::kStatistical, kWeightCodes.domain(), 1, random);
}

// Adds a layer between codes: operand `input`, and the weight after all inputs.
uint32_t add_layer(FormNodes& nodes, const Layer& layer, uint32_t input, uint32_t weight,
                   const Numbering& numbering, bool is_reference) {
  constexpr etb_dtype kReal = ETB_DTYPE_FLOAT32;
  const uint32_t x = nodes.add(kDequantise, tensor_quant_args(input, numbering.scale, numbering.zero, kInt8),
                               layer.input(kReal));
  const uint32_t w =
      layer.is_per_channel
          ? nodes.add("quantized_decomposed.dequantize_per_channel.default",
                      channel_quant_args(weight, weight + 1, weight + 2, 0, kWeightCodes),
                      layer.weight(kReal))
          : nodes.add(kDequantise, tensor_quant_args(weight, 0x1p-6, 0, kWeightCodes), layer.weight(kReal));
  const Shape real = layer.result(kReal);
  const uint32_t y =
      layer.is_image
          ? nodes.add("aten.convolution.default",
                      convolution_args(layer.convolution(), x, w, graph::none_arg("bias")), real)
          : nodes.add("aten.linear.default",
                      {value_arg(x, "input"), value_arg(w, "weight"), graph::none_arg("bias")}, real);
  if (!is_reference)
    return nodes.add(kQuantise, tensor_quant_args(y, kResult.scale, kResult.zero, kInt8),
                     layer.result(ETB_DTYPE_INT8));
  return add_real_codes(nodes, y, kResult.scale, kResult.zero, kInt8, real);
}

// One program with the layers of these inputs.
OpForm form_of(const Layer& layer, const std::vector<Numbering>& inputs) {
  OpForm form;
  form.op = layer.is_image ? "aten.convolution.default" : "aten.linear.default";
  form.group = "quant";
  const Shape weight = layer.weight(ETB_DTYPE_INT8);
  for (size_t i = 0; i < inputs.size(); ++i)
    form.operands.push_back({layer.input(ETB_DTYPE_INT8), Values::kStatistical, kInt8.domain()});
  const auto at = static_cast<uint32_t>(form.operands.size());
  form.operands.push_back({weight, Values::kStatistical, {}, true, fill_weight});
  if (layer.is_per_channel) {
    const Sizes count = {weight.sizes[0]};
    form.operands.push_back(
        constant_of({ETB_DTYPE_FLOAT32, count, {}}, [](int64_t i) { return i % 2 == 0 ? 0x1p-6 : 0x1p-8; }));
    form.operands.push_back(constant_of({ETB_DTYPE_INT64, count, {}}, [](int64_t) { return 0.0; }));
  }
  const auto first = static_cast<uint32_t>(form.operands.size());
  for (const bool is_reference : {false, true}) {
    FormNodes nodes(is_reference ? form.reference.nodes : form.nodes, first);
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      const uint32_t made = add_layer(nodes, layer, i, at, inputs[i], is_reference);
      (is_reference ? form.reference.outputs : form.outputs).push_back(made - first);
    }
  }
  form.error_model = code_model(kResult.zero);
  return form;
}

}  // namespace

void add_shared_codes(CaseList& out) {
  for (const bool is_image : {false, true})
    for (const bool is_per_channel : {false, true}) {
      const Layer layer{is_image, is_per_channel};
      const std::string scales = is_per_channel ? ".per_channel" : ".per_tensor";
      for (const Inputs& row : kInputs) {
        OpForm both = form_of(layer, {row.first, row.second});
        both.word = std::string("shared_codes.") + row.word + scales;
        add_form(out, ETB_DTYPE_INT8, std::move(both));
        for (const bool is_second : {false, true}) {
          OpForm one = form_of(layer, {is_second ? row.second : row.first});
          one.word = std::string("shared_codes.") + row.word + scales + (is_second ? ".second" : ".first");
          add_form(out, ETB_DTYPE_INT8, std::move(one));
        }
      }
    }
}

}  // namespace etb::conformance
