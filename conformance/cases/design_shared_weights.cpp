// SPDX-License-Identifier: Apache-2.0
// One constant that several nodes read, in the same way or in another: plugins pack weights, and find packed ones
// again. Also constants of equal bytes and other sizes.
#include "conformance/cases/design_convolution.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

constexpr int64_t kRows = 5, kSide = 12, kChannels = 4;

class GraphMaker;
struct Shared {
  const char* word;
  const char* op;
  int64_t length;  // products in one element of the result
  void (*build)(GraphMaker&, etb_dtype);
};

// Adds operands and nodes of one form. Operands come first.
class GraphMaker {
 public:
  GraphMaker(OpForm& form, Values values) : form_(form), values_(values) {}

  uint32_t input(const Shape& shape) { return operand({shape, values_, {-1, 1}}); }
  uint32_t constant(const Shape& shape) { return operand({shape, values_, {-1, 1}, true}); }
  // A constant with the bytes that `fill` writes.
  uint32_t constant(const Shape& shape, std::function<void(TensorData&, Random&)> fill) {
    return operand({shape, values_, {-1, 1}, true, std::move(fill)});
  }
  uint32_t node(const char* op, std::vector<graph::ArgumentDesc> args, const Shape& result) {
    form_.nodes.emplace_back(op, std::move(args), result);
    return static_cast<uint32_t>(form_.operands.size() + form_.nodes.size() - 1);
  }
  uint32_t linear(uint32_t x, uint32_t w, const Shape& result) {
    return node("aten.linear.default",
                {value_arg(x, "input"), value_arg(w, "weight"), graph::none_arg("bias")}, result);
  }
  void output(uint32_t value) {
    form_.outputs.push_back(value - static_cast<uint32_t>(form_.operands.size()));
  }
  void output_sum(uint32_t a, uint32_t b, const Shape& shape) {
    output(node("aten.add.Tensor", {value_arg(a, "self"), value_arg(b, "other")}, shape));
  }
  Values values() const { return values_; }

 private:
  uint32_t operand(Operand made) {
    form_.operands.push_back(std::move(made));
    return static_cast<uint32_t>(form_.operands.size() - 1);
  }
  OpForm& form_;
  Values values_;
};

Shape rows(etb_dtype dtype) { return {dtype, {kRows, kSide}, {}}; }
Shape square(etb_dtype dtype) { return {dtype, {kSide, kSide}, {}}; }

void two_inputs(GraphMaker& graph, etb_dtype dtype) {
  const uint32_t x = graph.input(rows(dtype)), y = graph.input(rows(dtype)),
                 w = graph.constant(square(dtype));
  const uint32_t first = graph.linear(x, w, rows(dtype)), second = graph.linear(y, w, rows(dtype));
  graph.output_sum(first, second, rows(dtype));
}

void both_orders(GraphMaker& graph, etb_dtype dtype) {
  const uint32_t x = graph.input(rows(dtype)), w = graph.constant(square(dtype));
  const uint32_t product =
      graph.node("aten.mm.default", {value_arg(x, "self"), value_arg(w, "mat2")}, rows(dtype));
  graph.output_sum(graph.linear(x, w, rows(dtype)), product, rows(dtype));
}

void also_an_operand(GraphMaker& graph, etb_dtype dtype) {
  const uint32_t x = graph.input(square(dtype)), w = graph.constant(square(dtype));
  graph.output_sum(graph.linear(x, w, square(dtype)), w, square(dtype));
}

void two_biases(GraphMaker& graph, etb_dtype dtype) {
  const uint32_t x = graph.input(rows(dtype)), w = graph.constant(square(dtype));
  const Shape row{dtype, {kSide}, {}};
  const uint32_t a = graph.constant(row), b = graph.constant(row);
  const auto layer = [&](uint32_t bias) {
    return graph.node("aten.linear.default",
                      {value_arg(x, "input"), value_arg(w, "weight"), value_arg(bias, "bias")}, rows(dtype));
  };
  const uint32_t first = layer(a), second = layer(b);
  graph.output(first);
  graph.output_sum(first, second, rows(dtype));
}

// Fills several constants with the same numbers.
std::function<void(TensorData&, Random&)> equal_fill(Values values) {
  return [values](TensorData& data, Random&) {
    Random random("shared weights");
    data = make_values(data.shape, values, {-1, 1}, 1, random);
  };
}

void equal_bytes(GraphMaker& graph, etb_dtype dtype) {
  const uint32_t x = graph.input(rows(dtype)),
                 down = graph.constant({dtype, {4, kSide}, {}}, equal_fill(graph.values())),
                 up = graph.constant({dtype, {kSide, 4}, {}}, equal_fill(graph.values()));
  const uint32_t middle = graph.linear(x, down, {dtype, {kRows, 4}, {}});
  graph.output(graph.linear(middle, up, rows(dtype)));
}

// Only the last element differs.
void nearly_equal(GraphMaker& graph, etb_dtype dtype) {
  const uint32_t x = graph.input(rows(dtype)), a = graph.constant(square(dtype), equal_fill(graph.values())),
                 b = graph.constant(
                     square(dtype), [fill = equal_fill(graph.values())](TensorData&data, Random&random) {
                       fill(data, random);
                       store_element(data.shape.dtype, data.bytes.data(), data.shape.numel() - 1, 3);
                     });
  const uint32_t y = graph.linear(x, a, rows(dtype));
  graph.output(y);
  graph.output(graph.linear(x, b, rows(dtype)));
}

Convolution small(etb_dtype dtype) {
  return even_convolution(dtype, {kChannels, kChannels, 1}, {7, 6}, 3, 1, 1);
}
uint32_t convolution(GraphMaker& graph, const Convolution& c, uint32_t x, uint32_t w) {
  return graph.node("aten.convolution.default", convolution_args(c, x, w, graph::none_arg("bias")),
                    c.result_shape());
}

void two_dilations(GraphMaker& graph, etb_dtype dtype) {
  const Convolution near = small(dtype);
  Convolution far = near;
  far.padding = far.dilation = {2, 2};
  const uint32_t x = graph.input(near.input_shape()), w = graph.constant(near.weight_shape());
  const uint32_t first = convolution(graph, near, x, w), second = convolution(graph, far, x, w);
  graph.output_sum(first, second, near.result_shape());
}

void transposed_too(GraphMaker& graph, etb_dtype dtype) {
  const Convolution plain = small(dtype);
  Convolution transposed = plain;
  transposed.is_transposed = true;
  const uint32_t x = graph.input(plain.input_shape()), w = graph.constant(plain.weight_shape());
  const uint32_t first = convolution(graph, plain, x, w), second = convolution(graph, transposed, x, w);
  graph.output_sum(first, second, plain.result_shape());
}

// [4, 1, 3, 3] is a filter of each channel, and four of one channel.
void depthwise_and_not(GraphMaker& graph, etb_dtype dtype) {
  Convolution depthwise = small(dtype), one = depthwise;
  depthwise.channels.groups = kChannels;
  one.channels.in = 1;
  const uint32_t x = graph.input(depthwise.input_shape()), y = graph.input(one.input_shape()),
                 w = graph.constant(one.weight_shape());
  const uint32_t first = convolution(graph, depthwise, x, w), second = convolution(graph, one, y, w);
  graph.output_sum(first, second, one.result_shape());
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
  add_shared_codes(out);
  constexpr etb_dtype kDtype = ETB_DTYPE_FLOAT32;
  for (const Shared& row : kRowsOfCases)
    for (const Values set : {Values::kExact, Values::kStatistical}) {
      OpForm form;
      form.op = row.op;
      form.word = std::string("shared.") + row.word;
      GraphMaker graph(form, set);
      row.build(graph, kDtype);
      form.error_model = sum_model(set, row.length);
      add_form(out, kDtype, std::move(form));
    }
}

}  // namespace etb::conformance
