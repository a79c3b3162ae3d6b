// SPDX-License-Identifier: Apache-2.0
// Small graphs of several nodes. With integer values every step is exact, so fused kernels must be exact,
// too. With spread values the bound follows from the sum of all lengths and from the graph's own results on
// absolute inputs.
#include <algorithm>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/generators.hpp"
#include "conformance/cases/mutable_graph.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

struct Model {
  const char* name;
  int64_t length;  // length of all sums together
  bool is_linear;  // only sums, products and relu: exact on integers
  uint32_t (*build)(CaseBuilder& builder, Values values);
  bool has_halves = false;  // float16 inside: real values are halves of integers, which it holds
};

Domain domain() { return {-1, 1}; }
Shape f32(std::vector<int64_t> sizes) { return {ETB_DTYPE_FLOAT32, std::move(sizes), {}}; }
uint32_t weight(CaseBuilder& builder, std::vector<int64_t> sizes, Values values) {
  return builder.constant(make_values(f32(std::move(sizes)), values, domain(), 1, builder.random()));
}
uint32_t relu(CaseBuilder& builder, uint32_t x, const std::vector<int64_t>& sizes) {
  return builder.node("aten.relu.default", {value_arg(x, "self")}, f32(sizes));
}
uint32_t linear(CaseBuilder& builder, uint32_t x, int64_t rows, int64_t in, int64_t out, Values values) {
  const uint32_t w = weight(builder, {out, in}, values), b = weight(builder, {out}, values);
  return builder.node("aten.linear.default",
                      {value_arg(x, "input"), value_arg(w, "weight"), value_arg(b, "bias")},
                      f32({rows, out}));
}
uint32_t binary(CaseBuilder& builder, const char* op, uint32_t a, uint32_t b,
                const std::vector<int64_t>& sizes) {
  return builder.node(op, {value_arg(a, "self"), value_arg(b, "other")}, f32(sizes));
}

// Inputs and parameters of a graph come before its nodes, so models add them first.
uint32_t multilayer(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({3, 8}), values, domain());
  const uint32_t w1 = weight(builder, {16, 8}, values), b1 = weight(builder, {16}, values),
                 w2 = weight(builder, {4, 16}, values), b2 = weight(builder, {4}, values);
  const uint32_t h =
      builder.node("aten.linear.default",
                   {value_arg(x, "input"), value_arg(w1, "weight"), value_arg(b1, "bias")}, f32({3, 16}));
  const uint32_t r = relu(builder, h, {3, 16});
  return builder.node("aten.linear.default",
                      {value_arg(r, "input"), value_arg(w2, "weight"), value_arg(b2, "bias")}, f32({3, 4}));
}

uint32_t residual(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({4, 6}), values, domain());
  const uint32_t y = linear(builder, x, 4, 6, 6, values);
  return relu(builder, binary(builder, "aten.add.Tensor", x, y, {4, 6}), {4, 6});
}

uint32_t two_products(CaseBuilder& builder, Values values) {
  const uint32_t a = builder.input(f32({5, 7}), values, domain()),
                 b = builder.input(f32({7, 3}), values, domain()),
                 c = builder.input(f32({3, 4}), values, domain());
  const uint32_t ab =
      builder.node("aten.mm.default", {value_arg(a, "self"), value_arg(b, "mat2")}, f32({5, 3}));
  return builder.node("aten.mm.default", {value_arg(ab, "self"), value_arg(c, "mat2")}, f32({5, 4}));
}

uint32_t diamond(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({2, 9}), values, domain()),
                 y = builder.input(f32({2, 9}), values, domain());
  const uint32_t left = binary(builder, "aten.mul.Tensor", x, y, {2, 9}), right = relu(builder, x, {2, 9});
  return binary(builder, "aten.add.Tensor", left, right, {2, 9});
}

uint32_t chain(CaseBuilder& builder, Values values) {
  uint32_t x = builder.input(f32({17}), values, domain());
  const uint32_t y = builder.input(f32({17}), values, domain());
  for (int i = 0; i < 4; ++i) x = relu(builder, binary(builder, "aten.add.Tensor", x, y, {17}), {17});
  return x;
}

uint32_t same_input_twice(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({3, 4}), values, domain());
  return binary(builder, "aten.mul.Tensor", binary(builder, "aten.add.Tensor", x, x, {3, 4}), x, {3, 4});
}

uint32_t convolution_block(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({1, 3, 6, 6}), values, domain());
  const uint32_t w = weight(builder, {4, 3, 3, 3}, values), b = weight(builder, {4}, values);
  const uint32_t y = builder.node("aten.convolution.default",
                                  {value_arg(x, "input"), value_arg(w, "weight"), value_arg(b, "bias"),
                                   graph::ints_arg({1, 1}, "stride"), graph::ints_arg({1, 1}, "padding"),
                                   graph::ints_arg({1, 1}, "dilation"), graph::bool_arg(false, "transposed"),
                                   graph::ints_arg({0, 0}, "output_padding"), graph::int_arg(1, "groups")},
                                  f32({1, 4, 6, 6}));
  return relu(builder, y, {1, 4, 6, 6});
}

uint32_t depthwise_block(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({1, 4, 5, 5}), values, domain());
  const uint32_t w = weight(builder, {4, 1, 3, 3}, values), p = weight(builder, {6, 4, 1, 1}, values);
  const auto convolve = [&](uint32_t in, uint32_t by, int64_t padding, int64_t groups,
                            const std::vector<int64_t>& sizes) {
    return builder.node("aten.convolution.default",
                        {value_arg(in, "input"), value_arg(by, "weight"), graph::none_arg("bias"),
                         graph::ints_arg({1, 1}, "stride"), graph::ints_arg({padding, padding}, "padding"),
                         graph::ints_arg({1, 1}, "dilation"), graph::bool_arg(false, "transposed"),
                         graph::ints_arg({0, 0}, "output_padding"), graph::int_arg(groups, "groups")},
                        f32(sizes));
  };
  const uint32_t y = relu(builder, convolve(x, w, 1, 4, {1, 4, 5, 5}), {1, 4, 5, 5});
  return convolve(y, p, 0, 1, {1, 6, 5, 5});
}

uint32_t permuted(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({4, 6}), values, domain()),
                 y = builder.input(f32({4, 5}), values, domain());
  const uint32_t t = builder.node("aten.permute_copy.default",
                                  {value_arg(x, "self"), graph::ints_arg({1, 0}, "dims")}, f32({6, 4}));
  return builder.node("aten.mm.default", {value_arg(t, "self"), value_arg(y, "mat2")}, f32({6, 5}));
}

uint32_t joined(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({2, 3}), values, domain()),
                 y = builder.input(f32({2, 4}), values, domain());
  const uint32_t c = builder.node(
      "aten.cat.default", {graph::values_arg({x, y}, "tensors"), graph::int_arg(1, "dim")}, f32({2, 7}));
  return builder.node("aten.sum.dim_IntList",
                      {value_arg(relu(builder, c, {2, 7}), "self"), graph::ints_arg({1}, "dim"),
                       graph::bool_arg(true, "keepdim")},
                      f32({2, 1}));
}

uint32_t scaled_mean(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({4, 32}), values, domain()),
                 s = builder.input(f32({4, 1}), values, domain());
  const uint32_t m = builder.node(
      "aten.mean.dim", {value_arg(x, "self"), graph::ints_arg({1}, "dim"), graph::bool_arg(true, "keepdim")},
      f32({4, 1}));
  return binary(builder, "aten.mul.Tensor", m, s, {4, 1});
}

uint32_t gated(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({3, 5}), values, domain());
  const uint32_t g = builder.node("aten.sigmoid.default", {value_arg(x, "self")}, f32({3, 5}));
  return binary(builder, "aten.mul.Tensor", x, g, {3, 5});
}

// Scores of each query row over all keys, a softmax, and the weighted values.
uint32_t attention(CaseBuilder& builder, Values values) {
  const uint32_t q = builder.input(f32({2, 4, 8}), values, domain()),
                 k = builder.input(f32({2, 5, 8}), values, domain()),
                 v = builder.input(f32({2, 5, 6}), values, domain());
  const uint32_t t = builder.node("aten.permute_copy.default",
                                  {value_arg(k, "self"), graph::ints_arg({0, 2, 1}, "dims")}, f32({2, 8, 5}));
  const uint32_t scores =
      builder.node("aten.bmm.default", {value_arg(q, "self"), value_arg(t, "mat2")}, f32({2, 4, 5}));
  const uint32_t scaled = builder.node(
      "aten.mul.Scalar", {value_arg(scores, "self"), graph::float_arg(0.5, "other")}, f32({2, 4, 5}));
  const uint32_t weights = builder.node(
      "aten._softmax.default",
      {value_arg(scaled, "self"), graph::int_arg(-1, "dim"), graph::bool_arg(false, "half_to_float")},
      f32({2, 4, 5}));
  return builder.node("aten.bmm.default", {value_arg(weights, "self"), value_arg(v, "mat2")}, f32({2, 4, 6}));
}

uint32_t unary(CaseBuilder& builder, const char* op, uint32_t x, const std::vector<int64_t>& sizes) {
  return builder.node(op, {value_arg(x, "self")}, f32(sizes));
}

// One step of an LSTM; the gates are inputs, as linear layers compute them.
uint32_t lstm_cell(CaseBuilder& builder, Values values) {
  std::vector<uint32_t> gates;
  for (int i = 0; i < 4; ++i) gates.push_back(builder.input(f32({2, 6}), values, domain()));
  const uint32_t cell = builder.input(f32({2, 6}), values, domain());
  const uint32_t in = unary(builder, "aten.sigmoid.default", gates[0], {2, 6}),
                 forget = unary(builder, "aten.sigmoid.default", gates[1], {2, 6}),
                 candidate = unary(builder, "aten.tanh.default", gates[2], {2, 6}),
                 out = unary(builder, "aten.sigmoid.default", gates[3], {2, 6});
  const uint32_t kept = binary(builder, "aten.mul.Tensor", forget, cell, {2, 6}),
                 added = binary(builder, "aten.mul.Tensor", in, candidate, {2, 6});
  const uint32_t state = binary(builder, "aten.add.Tensor", kept, added, {2, 6});
  return binary(builder, "aten.mul.Tensor", out, unary(builder, "aten.tanh.default", state, {2, 6}), {2, 6});
}

// To float16 and back: the element type changes inside the region. Integers remain exact.
uint32_t mixed_dtypes(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({3, 7}), values == Values::kExact ? values : Values::kTies);
  const auto convert = [&](uint32_t in, etb_dtype to) {
    return builder.node("aten._to_copy.default",
                        {value_arg(in, "self"), graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, to, "dtype")},
                        Shape{to, {3, 7}, {}});
  };
  const uint32_t half = convert(x, ETB_DTYPE_FLOAT16);
  const uint32_t sum = builder.node("aten.add.Tensor", {value_arg(half, "self"), value_arg(half, "other")},
                                    Shape{ETB_DTYPE_FLOAT16, {3, 7}, {}});
  return relu(builder, convert(sum, ETB_DTYPE_FLOAT32), {3, 7});
}

uint32_t integer_chain(CaseBuilder& builder, Values values) {
  const Shape shape{ETB_DTYPE_INT32, {4, 5}, {}};
  const uint32_t x = builder.input(shape, values, {-5, 5}), y = builder.input(shape, values, {-5, 5});
  const uint32_t product =
      builder.node("aten.mul.Tensor", {value_arg(x, "self"), value_arg(y, "other")}, shape);
  const uint32_t sum =
      builder.node("aten.add.Tensor", {value_arg(product, "self"), value_arg(x, "other")}, shape);
  return builder.node("aten.neg.default", {value_arg(sum, "self")}, shape);
}

uint32_t convolution_of(CaseBuilder& builder, uint32_t x, uint32_t w, int64_t padding,
                        const std::vector<int64_t>& sizes) {
  return builder.node("aten.convolution.default",
                      {value_arg(x, "input"), value_arg(w, "weight"), graph::none_arg("bias"),
                       graph::ints_arg({1, 1}, "stride"), graph::ints_arg({padding, padding}, "padding"),
                       graph::ints_arg({1, 1}, "dilation"), graph::bool_arg(false, "transposed"),
                       graph::ints_arg({0, 0}, "output_padding"), graph::int_arg(1, "groups")},
                      f32(sizes));
}

// The last layers of a classifier: convolution, average over a window, flattening, linear layer.
uint32_t convolution_to_linear(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({2, 3, 4, 4}), values, domain());
  const uint32_t w = weight(builder, {4, 3, 3, 3}, values), l = weight(builder, {5, 16}, values),
                 b = weight(builder, {5}, values);
  const uint32_t y = relu(builder, convolution_of(builder, x, w, 1, {2, 4, 4, 4}), {2, 4, 4, 4});
  // Sums of four: averages of integers are exact, too.
  const uint32_t p =
      builder.node("aten.avg_pool2d.default",
                   {value_arg(y, "self"), graph::ints_arg({2, 2}, "kernel_size"),
                    graph::ints_arg({2, 2}, "stride"), graph::ints_arg({0, 0}, "padding"),
                    graph::bool_arg(false, "ceil_mode"), graph::bool_arg(true, "count_include_pad")},
                   f32({2, 4, 2, 2}));
  const uint32_t flat = builder.node("aten.view_copy.default",
                                     {value_arg(p, "self"), graph::ints_arg({2, 16}, "size")}, f32({2, 16}));
  return builder.node("aten.linear.default",
                      {value_arg(flat, "input"), value_arg(l, "weight"), value_arg(b, "bias")}, f32({2, 5}));
}

uint32_t two_convolutions(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({1, 2, 5, 5}), values, domain());
  const uint32_t a = weight(builder, {3, 2, 3, 3}, values), b = weight(builder, {2, 3, 1, 1}, values);
  const uint32_t y = relu(builder, convolution_of(builder, x, a, 1, {1, 3, 5, 5}), {1, 3, 5, 5});
  return binary(builder, "aten.add.Tensor", convolution_of(builder, y, b, 0, {1, 2, 5, 5}), x, {1, 2, 5, 5});
}

// Adds tensors of lower rank to the result of a convolution, which a plugin may store in channels-last order.
uint32_t convolution_plus_lower_ranks(CaseBuilder& builder, Values values) {
  const std::vector<int64_t> sizes = {1, 3, 4, 5};
  const uint32_t x = builder.input(f32({1, 2, 4, 5}), values, domain());
  std::vector<uint32_t> lower;
  for (const std::vector<int64_t>& each : {std::vector<int64_t>{3, 1, 1}, {3, 4, 5}, {4, 5}, {5}})
    lower.push_back(builder.input(f32(each), values, domain()));
  const uint32_t a = weight(builder, {3, 2, 3, 3}, values);
  uint32_t y = convolution_of(builder, x, a, 1, sizes);
  for (const uint32_t each : lower) y = binary(builder, "aten.add.Tensor", y, each, sizes);
  return y;
}

// Scales channels by a function of their mean.
uint32_t squeeze_and_excite(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({1, 4, 3, 3}), values, domain());
  const uint32_t m =
      builder.node("aten.mean.dim",
                   {value_arg(x, "self"), graph::ints_arg({2, 3}, "dim"), graph::bool_arg(true, "keepdim")},
                   f32({1, 4, 1, 1}));
  return binary(builder, "aten.mul.Tensor", x, unary(builder, "aten.sigmoid.default", m, {1, 4, 1, 1}),
                {1, 4, 3, 3});
}

uint32_t clamped_sum(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({2, 9}), values, domain()),
                 y = builder.input(f32({9}), values, domain());
  const uint32_t sum = binary(builder, "aten.add.Tensor", x, y, {2, 9});
  const uint32_t low = builder.node(
      "aten.clamp.default", {value_arg(sum, "self"), graph::int_arg(-3, "min"), graph::int_arg(5, "max")},
      f32({2, 9}));
  return binary(builder, "aten.maximum.default", low, unary(builder, "aten.neg.default", x, {2, 9}), {2, 9});
}

uint32_t added_product(CaseBuilder& builder, Values values) {
  const uint32_t b = builder.input(f32({6}), values, domain()),
                 x = builder.input(f32({4, 7}), values, domain()),
                 y = builder.input(f32({7, 6}), values, domain());
  const uint32_t out = builder.node(
      "aten.addmm.default", {value_arg(b, "self"), value_arg(x, "mat1"), value_arg(y, "mat2")}, f32({4, 6}));
  return relu(builder, out, {4, 6});
}

// One value with three readers.
uint32_t fan_out(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({5, 3}), values, domain());
  const uint32_t r = relu(builder, x, {5, 3}), n = unary(builder, "aten.neg.default", r, {5, 3});
  const uint32_t p = binary(builder, "aten.mul.Tensor", r, n, {5, 3});
  return binary(builder, "aten.add.Tensor", p, binary(builder, "aten.add.Tensor", r, x, {5, 3}), {5, 3});
}

uint32_t sliced(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({6, 4}), values, domain());
  const auto rows = [&](int64_t begin, int64_t end) {
    return builder.node("aten.slice_copy.Tensor",
                        {value_arg(x, "self"), graph::int_arg(0, "dim"), graph::int_arg(begin, "start"),
                         graph::int_arg(end, "end"), graph::int_arg(1, "step")},
                        f32({end - begin, 4}));
  };
  return binary(builder, "aten.mul.Tensor", rows(0, 3), rows(3, 6), {3, 4});
}

uint32_t twelve_sums(CaseBuilder& builder, Values values) {
  const uint32_t x = builder.input(f32({9}), values, domain());
  uint32_t y = x;
  for (int i = 0; i < 12; ++i) y = binary(builder, "aten.add.Tensor", y, x, {9});
  return y;
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
    {"attention", 8 + 5 + 5 + 24, false, attention},
    {"lstm_cell", 64, false, lstm_cell},
    {"mixed_dtypes", 4, true, mixed_dtypes, true},
    {"integer_chain", 4, true, integer_chain},
    {"convolution_to_linear", 27 + 4 + 17, true, convolution_to_linear},
    {"two_convolutions", 18 + 3 + 1, true, two_convolutions},
    {"convolution_plus_lower_ranks", 18 + 4 + 1, true, convolution_plus_lower_ranks},
    {"squeeze_and_excite", 10 + 40, false, squeeze_and_excite},
    {"clamped_sum", 4, true, clamped_sum},
    {"added_product", 8, true, added_product},
    {"fan_out", 8, true, fan_out},
    {"sliced", 4, true, sliced},
    {"twelve_sums", 13, true, twelve_sums},
};

ErrorModel error_model_of(const Model& model, Values values) {
  ErrorModel out;
  out.rule = Rule::kContraction;
  out.length = model.length;
  out.has_input_magnitude = true;
  out.is_exact_probe = values == Values::kExact;
  return out;
}

Result<BuiltCase> build_model(const Model& model, Values values, std::string_view name) {
  CaseBuilder builder(name);
  builder.output(model.build(builder, values));
  return builder.finish(error_model_of(model, values));
}

// Builds nodes [first, last) of a model with new inputs at the cuts, as a compiler does when other backends
// get the rest.
Result<BuiltCase> build_piece(const Model& model, Values values, size_t first, size_t last,
                              std::string_view name) {
  ETB_ASSIGN(const BuiltCase whole, build_model(model, values, name));
  ETB_ASSIGN(const MutableGraph graph, read_mutable_graph(whole.image));
  std::vector<uint32_t> taken;
  const MutableGraph piece = slice(graph, first, std::min(last, graph.nodes.size()), taken);
  BuiltCase out;
  ETB_ASSIGN(out.image, write_image(piece));
  out.error_model = whole.error_model;
  Random random(name);
  std::vector<TensorData>& inputs = out.runs.emplace_back();
  for (uint32_t i = 0; i < piece.inputs.size(); ++i) {
    if (piece.inputs[i].constant) continue;
    const graph::SpecDesc& spec = piece.inputs[i].spec;
    const Values held = model.has_halves && values != Values::kExact ? Values::kTies : values;
    inputs.push_back(make_values({static_cast<etb_dtype>(spec.dtype), spec.sizes, spec.dim_order}, held,
                                 domain(), i, random));
  }
  return out;
}

// Adds two cases for each position where the model can be split, and one for each node.
void add_pieces(CaseList& out, const Model& model, Values values, const std::string& name) {
  const Result<BuiltCase> whole = build_model(model, values, name);
  const Result<MutableGraph> graph =
      whole ? read_mutable_graph(whole->image) : Result<MutableGraph>(tl::make_unexpected(whole.error()));
  if (!graph) return;
  const auto add = [&](const std::string& piece_name, size_t first, size_t last) {
    out.add(
        {piece_name, "model", ETB_DTYPE_FLOAT32, [&model, values, first, last](std::string_view full_name) {
           return build_piece(model, values, first, last, full_name);
         }});
  };
  const size_t count = graph->nodes.size();
  for (size_t at = 1; at < count; ++at) {
    add(name + ".head" + std::to_string(at), 0, at);
    add(name + ".tail" + std::to_string(at), at, count);
  }
  for (size_t at = 1; at + 1 < count; ++at) add(name + ".node" + std::to_string(at), at, at + 1);
}

}  // namespace

void add_models(CaseList& out) {
  for (const Model& model : kModels)
    for (const Values values : {Values::kExact, Values::kStatistical, Values::kPositive}) {
      if (values == Values::kExact && !model.is_linear) continue;
      const std::string name = std::string("model.") + model.name + ".f32." + to_text(values);
      out.add({name, "model", ETB_DTYPE_FLOAT32, [&model, values](std::string_view full_name) {
                 return build_model(model, values, full_name);
               }});
      if (values != Values::kPositive) add_pieces(out, model, values, name);
    }
}

}  // namespace etb::conformance
