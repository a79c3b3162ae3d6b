// SPDX-License-Identifier: Apache-2.0
// One constant that several nodes read, in the same way or in another: plugins pack weights, and find packed ones
// again. Also constants of equal bytes and other sizes.
#include "conformance/cases/convolution_design.hpp"
#include "conformance/cases/sum_designs.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

constexpr int64_t kRows = 5, kSide = 12, kChannels = 4;

struct Shared {
  const char* word;
  const char* op;
  int64_t length;  // products of one element
  void (*build)(CaseBuilder&, etb_dtype, ValueSet);
};

const Domain kDomain{-1, 1};

TensorData values(CaseBuilder& builder, const Shape& shape, ValueSet set) {
  return make_set(shape, set, kDomain, 1, builder.random());
}
uint32_t input(CaseBuilder& builder, const Shape& shape, ValueSet set) {
  return builder.input(make_set(shape, set, kDomain, 0, builder.random()));
}
uint32_t linear(CaseBuilder& builder, uint32_t x, uint32_t w, const Shape& result) {
  return builder.node("aten.linear.default",
                      {value_arg(x, "input"), value_arg(w, "weight"), graph::none_arg("bias")}, result);
}
void output_sum(CaseBuilder& builder, uint32_t a, uint32_t b, const Shape& shape) {
  builder.output(builder.node("aten.add.Tensor", {value_arg(a, "self"), value_arg(b, "other")}, shape));
}

Shape rows(etb_dtype dtype) { return {dtype, {kRows, kSide}, {}}; }
Shape square(etb_dtype dtype) { return {dtype, {kSide, kSide}, {}}; }

void two_inputs(CaseBuilder& builder, etb_dtype dtype, ValueSet set) {
  const uint32_t x = input(builder, rows(dtype), set), y = input(builder, rows(dtype), set),
                 w = builder.constant(values(builder, square(dtype), set));
  const uint32_t first = linear(builder, x, w, rows(dtype)), second = linear(builder, y, w, rows(dtype));
  output_sum(builder, first, second, rows(dtype));
}

void both_orders(CaseBuilder& builder, etb_dtype dtype, ValueSet set) {
  const uint32_t x = input(builder, rows(dtype), set),
                 w = builder.constant(values(builder, square(dtype), set));
  const uint32_t product =
      builder.node("aten.mm.default", {value_arg(x, "self"), value_arg(w, "mat2")}, rows(dtype));
  output_sum(builder, linear(builder, x, w, rows(dtype)), product, rows(dtype));
}

void also_an_operand(CaseBuilder& builder, etb_dtype dtype, ValueSet set) {
  const uint32_t x = input(builder, square(dtype), set),
                 w = builder.constant(values(builder, square(dtype), set));
  output_sum(builder, linear(builder, x, w, square(dtype)), w, square(dtype));
}

void two_biases(CaseBuilder& builder, etb_dtype dtype, ValueSet set) {
  const uint32_t x = input(builder, rows(dtype), set),
                 w = builder.constant(values(builder, square(dtype), set));
  const Shape row{dtype, {kSide}, {}};
  const uint32_t a = builder.constant(values(builder, row, set)),
                 b = builder.constant(values(builder, row, set));
  const auto layer = [&](uint32_t bias) {
    return builder.node("aten.linear.default",
                        {value_arg(x, "input"), value_arg(w, "weight"), value_arg(bias, "bias")},
                        rows(dtype));
  };
  const uint32_t first = layer(a), second = layer(b);
  builder.output(first);
  output_sum(builder, first, second, rows(dtype));
}

void equal_bytes(CaseBuilder& builder, etb_dtype dtype, ValueSet set) {
  const uint32_t x = input(builder, rows(dtype), set);
  TensorData narrow = values(builder, {dtype, {4, kSide}, {}}, set), wide = narrow;
  wide.shape.sizes = {kSide, 4};
  const uint32_t down = builder.constant(narrow), up = builder.constant(wide);
  const uint32_t middle = linear(builder, x, down, {dtype, {kRows, 4}, {}});
  builder.output(linear(builder, middle, up, rows(dtype)));
}

// Only the last element differs.
void nearly_equal(CaseBuilder& builder, etb_dtype dtype, ValueSet set) {
  const uint32_t x = input(builder, rows(dtype), set);
  const TensorData first = values(builder, square(dtype), set);
  TensorData second = first;
  store_element(dtype, second.bytes.data(), second.shape.numel() - 1, 3);
  const uint32_t a = builder.constant(first), b = builder.constant(second);
  const uint32_t y = linear(builder, x, a, rows(dtype));
  builder.output(y);
  builder.output(linear(builder, x, b, rows(dtype)));
}

Convolution small(etb_dtype dtype) {
  Convolution c;
  c.dtype = dtype;
  c.channels = {kChannels, kChannels, 1};
  c.size = {7, 6};
  c.kernel = {3, 3};
  c.stride = c.padding = c.dilation = {1, 1};
  c.output_padding = {0, 0};
  return c;
}
uint32_t convolution(CaseBuilder& builder, const Convolution& c, uint32_t x, uint32_t w) {
  return builder.node("aten.convolution.default", convolution_args(c, x, w, graph::none_arg("bias")),
                      c.result_shape());
}

void two_dilations(CaseBuilder& builder, etb_dtype dtype, ValueSet set) {
  const Convolution near = small(dtype);
  Convolution far = near;
  far.padding = far.dilation = {2, 2};
  const uint32_t x = input(builder, near.input_shape(), set),
                 w = builder.constant(values(builder, near.weight_shape(), set));
  const uint32_t first = convolution(builder, near, x, w), second = convolution(builder, far, x, w);
  output_sum(builder, first, second, near.result_shape());
}

void transposed_too(CaseBuilder& builder, etb_dtype dtype, ValueSet set) {
  const Convolution plain = small(dtype);
  Convolution transposed = plain;
  transposed.is_transposed = true;
  const uint32_t x = input(builder, plain.input_shape(), set),
                 w = builder.constant(values(builder, plain.weight_shape(), set));
  const uint32_t first = convolution(builder, plain, x, w), second = convolution(builder, transposed, x, w);
  output_sum(builder, first, second, plain.result_shape());
}

// [4, 1, 3, 3] is a filter of each channel, and four of one channel.
void depthwise_and_not(CaseBuilder& builder, etb_dtype dtype, ValueSet set) {
  Convolution depthwise = small(dtype), one = depthwise;
  depthwise.channels.groups = kChannels;
  one.channels.in = 1;
  const uint32_t x = input(builder, depthwise.input_shape(), set), y = input(builder, one.input_shape(), set),
                 w = builder.constant(values(builder, one.weight_shape(), set));
  const uint32_t first = convolution(builder, depthwise, x, w), second = convolution(builder, one, y, w);
  output_sum(builder, first, second, one.result_shape());
}

constexpr int64_t kTaps = kChannels * 9;
const Shared kRowsOfCases[] = {{"two_inputs", "aten.linear.default", 2 * kSide + 1, two_inputs},
                               {"both_orders", "aten.linear.default", 2 * kSide + 1, both_orders},
                               {"also_an_operand", "aten.linear.default", kSide + 1, also_an_operand},
                               {"two_biases", "aten.linear.default", 2 * kSide + 3, two_biases},
                               {"equal_bytes", "aten.linear.default", kSide + 4, equal_bytes},
                               {"nearly_equal", "aten.linear.default", kSide, nearly_equal},
                               {"two_dilations", "aten.convolution.default", 2 * kTaps + 1, two_dilations},
                               {"transposed_too", "aten.convolution.default", 2 * kTaps + 1, transposed_too},
                               {"depthwise_and_not", "aten.convolution.default", 19, depthwise_and_not}};

}  // namespace

// In 16 bits each intermediate result would be rounded, which the bound of one sum does not have.
void add_shared_weights(CaseList& out) {
  constexpr etb_dtype kDtype = ETB_DTYPE_FLOAT32;
  for (const Shared& row : kRowsOfCases)
    for (const ValueSet set : {ValueSet::kExact, ValueSet::kStatistical}) {
      const std::string name =
          op_word(row.op) + "." + short_name(kDtype) + ".5x12.shared." + row.word + "." + to_text(set);
      out.add({name, row.op, kDtype, [&row, set](std::string_view full_name) {
                 CaseBuilder builder(full_name);
                 row.build(builder, kDtype, set);
                 return builder.finish(sum_model(set, row.length));
               }});
    }
}

}  // namespace etb::conformance
