// SPDX-License-Identifier: Apache-2.0
// Layers with a batch norm and a clamp after them, which plugins fold into the layer. The norm scales channels by
// different factors, the batch is not the number of channels, and the layer may have a second reader.
#include <cmath>

#include "conformance/cases/design_convolution.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {
namespace {

using graph::float_arg;
using graph::value_arg;

enum class Layer {
  kConvolution,
  kDepthwise,
  kGrouped,
  kTransposed,
  kOneDirection,
  kPointwise,
  kLinear,
  kProduct,
  kSumOfProducts
};
enum class Clamp { kNone, kRelu, kSix };

struct Fused {
  Layer layer = Layer::kConvolution;
  int64_t batch = 1, out = 5;
  int64_t in = 9;  // input features, without a window
  bool has_bias = true, has_affine = true, is_last = false, has_reader = false;
  Clamp clamp = Clamp::kNone;
  bool is_clamped_before = false;  // relu between layer and norm, which then does not fold
};

constexpr etb_dtype kDtype = ETB_DTYPE_FLOAT32;  // 16 bits: a plugin may round the layer's result, or not

Convolution convolution_of(const Fused& f) {
  const bool is_grouped = f.layer == Layer::kGrouped;
  Channels channels{3, f.out, 1};
  if (is_grouped) channels = {6, 2 * f.out, 2};
  if (f.layer == Layer::kDepthwise) channels = {f.out, f.out, f.out};
  const Sizes size = f.layer == Layer::kOneDirection ? Sizes{9} : Sizes{6, 7};
  const int64_t kernel = f.layer == Layer::kPointwise ? 1 : 3;
  Convolution c = even_convolution(kDtype, channels, size, kernel, 1, kernel / 2);
  c.batch = f.batch;
  c.is_transposed = f.layer == Layer::kTransposed;
  c.is_last = f.is_last && size.size() == 2;
  c.bias = f.has_bias ? Parameter::kConstant : Parameter::kNone;
  return c;
}

bool is_product(Layer layer) { return layer == Layer::kProduct || layer == Layer::kSumOfProducts; }

// x @ W, whose weights have the channels last, and the same with a sum.
OpForm product_form(const Fused& f) {
  const bool has_sum = f.layer == Layer::kSumOfProducts;
  OpForm form;
  form.op = has_sum ? "aten.addmm.default" : "aten.mm.default";
  form.operands = {{{kDtype, {f.batch, f.in}, {}}, Values::kStatistical, {-1, 1}},
                   {{kDtype, {f.in, f.out}, {}}, Values::kStatistical, {-1, 1}, true}};
  form.args = {value_arg(0, has_sum ? "mat1" : "self"), value_arg(1, "mat2")};
  if (has_sum) {
    form.operands.push_back({{kDtype, {f.out}, {}}, Values::kStatistical, {-1, 1}, true});
    form.args.insert(form.args.begin(), value_arg(2, "self"));
  }
  form.results = {{kDtype, {f.batch, f.out}, {}}};
  form.error_model = sum_model(Values::kStatistical, f.in + 1);
  return form;
}

OpForm linear_form(const Fused& f) {
  OpForm form;
  form.op = "aten.linear.default";
  form.operands = {{{kDtype, {f.batch, f.in}, {}}, Values::kStatistical, {-1, 1}},
                   {{kDtype, {f.out, f.in}, {}}, Values::kStatistical, {-1, 1}, true}};
  form.args = {value_arg(0, "input"), value_arg(1, "weight"), graph::none_arg("bias")};
  if (f.has_bias) {
    form.operands.push_back({{kDtype, {f.out}, {}}, Values::kStatistical, {-1, 1}, true});
    form.args[2] = value_arg(2, "bias");
  }
  form.results = {{kDtype, {f.batch, f.out}, {}}};
  form.error_model = sum_model(Values::kStatistical, f.in + 1);
  return form;
}

// Adds the four parameters of a norm, and returns the arguments of it.
std::vector<graph::ArgumentDesc> norm_args(const Fused& f, int64_t channels, OpForm& form) {
  const auto parameter = [&](const char* word, const Domain& domain) {
    form.operands.push_back({{kDtype, {channels}, {}}, Values::kStatistical, domain, true});
    return value_arg(static_cast<uint32_t>(form.operands.size() - 1), word);
  };
  std::vector<graph::ArgumentDesc> args = {graph::none_arg("input")};
  args.push_back(f.has_affine ? parameter("weight", {0.25, 2}) : graph::none_arg("weight"));
  args.push_back(f.has_affine ? parameter("bias", {-1, 1}) : graph::none_arg("bias"));
  args.push_back(parameter("running_mean", {-1, 1}));
  args.push_back(parameter("running_var", {0.5, 2}));
  args.push_back(float_arg(0.1, "momentum"));
  args.push_back(float_arg(1e-5, "eps"));
  return args;
}

OpForm fused_form(const Fused& f) {
  OpForm form = f.layer == Layer::kLinear ? linear_form(f)
                : is_product(f.layer)     ? product_form(f)
                                          : convolution_form(convolution_of(f));
  const Shape result = form.results[0];
  const std::vector<graph::ArgumentDesc> layer_args = std::move(form.args);
  std::vector<graph::ArgumentDesc> args = norm_args(f, result.sizes[1], form);
  FormNodes nodes(form.nodes, form.operands.size());
  const uint32_t made = nodes.add(form.op, layer_args, result);
  uint32_t normed = made;
  if (f.is_clamped_before) normed = nodes.add("aten.relu.default", {value_arg(made, "self")}, result);
  args[0] = value_arg(normed, "input");
  const Shape empty{kDtype, {0}, {}};
  const uint32_t norm = nodes.add("aten._native_batch_norm_legit_no_training.default", args,
                                  std::vector<Shape>{result, empty, empty});
  form.outputs = {norm - made};
  if (f.clamp == Clamp::kRelu)
    form.outputs = {nodes.add("aten.relu.default", {value_arg(norm, "self")}, result) - made};
  if (f.clamp == Clamp::kSix)
    form.outputs = {nodes.add("aten.hardtanh.default",
                              {value_arg(norm, "self"), float_arg(0, "min_val"), float_arg(6, "max_val")},
                              result) -
                    made};
  if (f.has_reader)
    form.outputs.push_back(nodes.add("aten.neg.default", {value_arg(made, "self")}, result) - made);
  // Products of numbers up to 1, a bias and a mean, times at most 2 / sqrt(0.5).
  const auto length = static_cast<double>(form.error_model.length);
  form.error_model = rounded_model(4, 4 * std::sqrt(length) + 8, fixed_magnitude(3 * (length / 3 + 2) + 1));
  form.args.clear();
  form.results.clear();
  form.word = std::string(f.is_clamped_before ? "relu_norm" : "norm") + (f.has_affine ? "" : "_plain") +
              (f.clamp == Clamp::kRelu  ? ".relu"
               : f.clamp == Clamp::kSix ? ".relu6"
                                        : "") +
              (f.layer == Layer::kTransposed ? ".transposed" : "") + (f.has_reader ? ".read_twice" : "");
  return form;
}

}  // namespace

void add_fused_designs(CaseList& out) {
  DesignOf<Fused> design;
  design.add(&Fused::layer, {Layer::kConvolution, Layer::kDepthwise, Layer::kGrouped, Layer::kTransposed,
                             Layer::kOneDirection, Layer::kPointwise, Layer::kLinear});
  design.add(&Fused::batch, {1, 2, 3});
  design.add(&Fused::out, {5, 8, 1, 17});
  design.add(&Fused::has_bias, {true, false});
  design.add(&Fused::has_affine, {true, true, false});
  design.add(&Fused::is_last, {false, true});
  design.add(&Fused::has_reader, {false, false, true});
  design.add(&Fused::clamp, {Clamp::kNone, Clamp::kRelu, Clamp::kSix});
  size_t at = 0;
  for (const char* seed : {"fused", "fused, again"})
    for (const Fused& f : design.rows(seed)) {
      add_form(out, kDtype, fused_form(f));
      const auto maker = [f](const Sizes& sizes) {
        Fused now = f;
        now.batch = sizes[0];
        return fused_form(now);
      };
      if (++at % 2 == 0)
        add_dynamic_form(out, kDtype, maker, fused_form(f).operands[0].shape.sizes, Moving::kFirst,
                         static_cast<Order>(at / 2 % 3));
    }
  for (const Layer layer : {Layer::kConvolution, Layer::kDepthwise, Layer::kGrouped, Layer::kTransposed,
                            Layer::kPointwise, Layer::kLinear}) {
    Fused f{layer};
    f.is_clamped_before = true;
    add_form(out, kDtype, fused_form(f));
  }
  // Weights of both orders, as many inputs as outputs and not.
  for (const Layer layer : {Layer::kProduct, Layer::kSumOfProducts, Layer::kLinear})
    for (const auto& [in, width] : {std::pair{9, 5}, std::pair{7, 7}, std::pair{16, 16}, std::pair{4, 8}})
      for (const Clamp clamp : {Clamp::kNone, Clamp::kRelu}) {
        Fused f{layer};
        f.batch = 3;
        f.in = in;
        f.out = width;
        f.clamp = clamp;
        add_form(out, kDtype, fused_form(f));
      }
}

}  // namespace etb::conformance
