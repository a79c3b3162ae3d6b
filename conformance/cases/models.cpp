// Small graphs of several nodes. With integer values every step is exact, so a fused kernel has no excuse; with spread values the bound follows from the
// sum of all lengths and the magnitudes that the graph itself gives on absolute inputs.
#include "conformance/cases/generators.hpp"
#include "conformance/cases/maker.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

struct Model {
  const char* name;
  int64_t length;  // of all sums together
  bool is_linear;  // only sums, products and relu: exact on integers
  uint32_t (*build)(Maker& maker, Values values);
};

Domain domain() { return {-1, 1}; }
Shape f32(std::vector<int64_t> sizes) { return {ETB_DTYPE_FLOAT32, std::move(sizes), {}}; }
uint32_t weight(Maker& maker, std::vector<int64_t> sizes, Values values) {
  return maker.constant(make_values(f32(std::move(sizes)), values, domain(), 1, maker.random()));
}
uint32_t relu(Maker& maker, uint32_t x, const std::vector<int64_t>& sizes) {
  return maker.node("aten.relu.default", {value_arg(x, "self")}, f32(sizes));
}
uint32_t linear(Maker& maker, uint32_t x, int64_t rows, int64_t in, int64_t out, Values values) {
  const uint32_t w = weight(maker, {out, in}, values), b = weight(maker, {out}, values);
  return maker.node("aten.linear.default",
                    {value_arg(x, "input"), value_arg(w, "weight"), value_arg(b, "bias")}, f32({rows, out}));
}
uint32_t binary(Maker& maker, const char* op, uint32_t a, uint32_t b, const std::vector<int64_t>& sizes) {
  return maker.node(op, {value_arg(a, "self"), value_arg(b, "other")}, f32(sizes));
}

// Inputs of a graph come before its nodes, and so do parameters: models make them first.
uint32_t multilayer(Maker& maker, Values values) {
  const uint32_t x = maker.input(f32({3, 8}), values, domain());
  const uint32_t w1 = weight(maker, {16, 8}, values), b1 = weight(maker, {16}, values),
                 w2 = weight(maker, {4, 16}, values), b2 = weight(maker, {4}, values);
  const uint32_t h =
      maker.node("aten.linear.default",
                 {value_arg(x, "input"), value_arg(w1, "weight"), value_arg(b1, "bias")}, f32({3, 16}));
  const uint32_t r = relu(maker, h, {3, 16});
  return maker.node("aten.linear.default",
                    {value_arg(r, "input"), value_arg(w2, "weight"), value_arg(b2, "bias")}, f32({3, 4}));
}

uint32_t residual(Maker& maker, Values values) {
  const uint32_t x = maker.input(f32({4, 6}), values, domain());
  const uint32_t y = linear(maker, x, 4, 6, 6, values);
  return relu(maker, binary(maker, "aten.add.Tensor", x, y, {4, 6}), {4, 6});
}

uint32_t two_products(Maker& maker, Values values) {
  const uint32_t a = maker.input(f32({5, 7}), values, domain()),
                 b = maker.input(f32({7, 3}), values, domain()),
                 c = maker.input(f32({3, 4}), values, domain());
  const uint32_t ab =
      maker.node("aten.mm.default", {value_arg(a, "self"), value_arg(b, "mat2")}, f32({5, 3}));
  return maker.node("aten.mm.default", {value_arg(ab, "self"), value_arg(c, "mat2")}, f32({5, 4}));
}

uint32_t diamond(Maker& maker, Values values) {
  const uint32_t x = maker.input(f32({2, 9}), values, domain()),
                 y = maker.input(f32({2, 9}), values, domain());
  const uint32_t left = binary(maker, "aten.mul.Tensor", x, y, {2, 9}), right = relu(maker, x, {2, 9});
  return binary(maker, "aten.add.Tensor", left, right, {2, 9});
}

uint32_t chain(Maker& maker, Values values) {
  uint32_t x = maker.input(f32({17}), values, domain());
  const uint32_t y = maker.input(f32({17}), values, domain());
  for (int i = 0; i < 4; ++i) x = relu(maker, binary(maker, "aten.add.Tensor", x, y, {17}), {17});
  return x;
}

uint32_t same_input_twice(Maker& maker, Values values) {
  const uint32_t x = maker.input(f32({3, 4}), values, domain());
  return binary(maker, "aten.mul.Tensor", binary(maker, "aten.add.Tensor", x, x, {3, 4}), x, {3, 4});
}

uint32_t convolution_block(Maker& maker, Values values) {
  const uint32_t x = maker.input(f32({1, 3, 6, 6}), values, domain());
  const uint32_t w = weight(maker, {4, 3, 3, 3}, values), b = weight(maker, {4}, values);
  const uint32_t y = maker.node("aten.convolution.default",
                                {value_arg(x, "input"), value_arg(w, "weight"), value_arg(b, "bias"),
                                 graph::ints_arg({1, 1}, "stride"), graph::ints_arg({1, 1}, "padding"),
                                 graph::ints_arg({1, 1}, "dilation"), graph::bool_arg(false, "transposed"),
                                 graph::ints_arg({0, 0}, "output_padding"), graph::int_arg(1, "groups")},
                                f32({1, 4, 6, 6}));
  return relu(maker, y, {1, 4, 6, 6});
}

uint32_t depthwise_block(Maker& maker, Values values) {
  const uint32_t x = maker.input(f32({1, 4, 5, 5}), values, domain());
  const uint32_t w = weight(maker, {4, 1, 3, 3}, values), p = weight(maker, {6, 4, 1, 1}, values);
  const auto convolve = [&](uint32_t in, uint32_t by, int64_t padding, int64_t groups,
                            const std::vector<int64_t>& sizes) {
    return maker.node("aten.convolution.default",
                      {value_arg(in, "input"), value_arg(by, "weight"), graph::none_arg("bias"),
                       graph::ints_arg({1, 1}, "stride"), graph::ints_arg({padding, padding}, "padding"),
                       graph::ints_arg({1, 1}, "dilation"), graph::bool_arg(false, "transposed"),
                       graph::ints_arg({0, 0}, "output_padding"), graph::int_arg(groups, "groups")},
                      f32(sizes));
  };
  const uint32_t y = relu(maker, convolve(x, w, 1, 4, {1, 4, 5, 5}), {1, 4, 5, 5});
  return convolve(y, p, 0, 1, {1, 6, 5, 5});
}

uint32_t permuted(Maker& maker, Values values) {
  const uint32_t x = maker.input(f32({4, 6}), values, domain()),
                 y = maker.input(f32({4, 5}), values, domain());
  const uint32_t t = maker.node("aten.permute_copy.default",
                                {value_arg(x, "self"), graph::ints_arg({1, 0}, "dims")}, f32({6, 4}));
  return maker.node("aten.mm.default", {value_arg(t, "self"), value_arg(y, "mat2")}, f32({6, 5}));
}

uint32_t joined(Maker& maker, Values values) {
  const uint32_t x = maker.input(f32({2, 3}), values, domain()),
                 y = maker.input(f32({2, 4}), values, domain());
  const uint32_t c = maker.node(
      "aten.cat.default", {graph::values_arg({x, y}, "tensors"), graph::int_arg(1, "dim")}, f32({2, 7}));
  return maker.node("aten.sum.dim_IntList",
                    {value_arg(relu(maker, c, {2, 7}), "self"), graph::ints_arg({1}, "dim"),
                     graph::bool_arg(true, "keepdim")},
                    f32({2, 1}));
}

uint32_t scaled_mean(Maker& maker, Values values) {
  const uint32_t x = maker.input(f32({4, 32}), values, domain()),
                 s = maker.input(f32({4, 1}), values, domain());
  const uint32_t m = maker.node(
      "aten.mean.dim", {value_arg(x, "self"), graph::ints_arg({1}, "dim"), graph::bool_arg(true, "keepdim")},
      f32({4, 1}));
  return binary(maker, "aten.mul.Tensor", m, s, {4, 1});
}

uint32_t gated(Maker& maker, Values values) {
  const uint32_t x = maker.input(f32({3, 5}), values, domain());
  const uint32_t g = maker.node("aten.sigmoid.default", {value_arg(x, "self")}, f32({3, 5}));
  return binary(maker, "aten.mul.Tensor", x, g, {3, 5});
}

const Model kModels[] = {
    {"multilayer", 8 + 16 + 4, true, multilayer},
    {"residual", 6 + 4, true, residual},
    {"two_products", 7 + 3, true, two_products},
    {"diamond", 4, true, diamond},
    {"chain", 8, true, chain},
    {"same_input_twice", 4, true, same_input_twice},
    {"convolution_block", 30, true, convolution_block},
    {"depthwise_block", 9 + 4 + 4, true, depthwise_block},
    {"permuted", 4, true, permuted},
    {"joined", 9, true, joined},
    {"scaled_mean", 34, false, scaled_mean},
    {"gated", 40, false, gated},
};

}  // namespace

void add_models(CaseList& out) {
  for (const Model& model : kModels)
    for (const Values values : {Values::kExact, Values::kStatistical, Values::kPositive}) {
      if (values == Values::kExact && !model.is_linear) continue;
      out.add({std::string("model.") + model.name + ".f32." + to_text(values), "model", ETB_DTYPE_FLOAT32,
               [&model, values](std::string_view name) {
                 Maker maker(name);
                 maker.output(model.build(maker, values));
                 Judgement judgement;
                 judgement.rule = Rule::kContraction;
                 judgement.length = model.length;
                 judgement.has_input_magnitude = true;
                 judgement.is_exact_probe = values == Values::kExact;
                 return maker.finish(std::move(judgement));
               }});
    }
}

}  // namespace etb::conformance
