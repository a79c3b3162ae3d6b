// SPDX-License-Identifier: Apache-2.0
// Graphs whose form is the test: many nodes, inputs, constants and outputs; values that are inputs and outputs,
// outputs with readers, one value as several outputs, unused inputs and nodes, equal constants. Elementwise ops
// on integers: every result is exact.
#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

// Adds nodes of one element type and size.
class Nodes {
 public:
  Nodes(CaseBuilder& builder, Shape shape) : builder_(builder), shape_(std::move(shape)) {}

  uint32_t input() { return builder_.input(shape_, Values::kExact); }
  uint32_t constant() {
    return builder_.constant(make_values(shape_, Values::kExact, {}, 1, builder_.random()));
  }
  uint32_t unary(const char* op, uint32_t x) { return builder_.node(op, {value_arg(x, "self")}, shape_); }
  uint32_t relu(uint32_t x) { return unary("aten.relu.default", x); }
  uint32_t negated(uint32_t x) { return unary("aten.neg.default", x); }
  uint32_t binary(const char* op, uint32_t a, uint32_t b) {
    return builder_.node(op, {value_arg(a, "self"), value_arg(b, "other")}, shape_);
  }
  uint32_t add(uint32_t a, uint32_t b) { return binary("aten.add.Tensor", a, b); }
  uint32_t difference(uint32_t a, uint32_t b) { return add(negated(b), a); }
  uint32_t maximum(uint32_t a, uint32_t b) { return binary("aten.maximum.default", a, b); }
  void output(uint32_t x) { builder_.output(x); }

 private:
  CaseBuilder& builder_;
  Shape shape_;
};

using Build = void (*)(Nodes& nodes, int64_t count);

std::vector<uint32_t> inputs(Nodes& nodes, int64_t count) {
  std::vector<uint32_t> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(nodes.input());
  return out;
}

void many_nodes(Nodes& nodes, int64_t count) {
  const uint32_t x = nodes.input(), y = nodes.input();
  uint32_t last = x;
  for (int64_t i = 0; i < count; ++i)
    last = i % 3 == 0 ? nodes.difference(y, last) : i % 3 == 1 ? nodes.maximum(last, x) : nodes.negated(last);
  nodes.output(last);
}

// Signs change from step to step, so that an exchange of two inputs shows.
void many_inputs(Nodes& nodes, int64_t count) {
  const std::vector<uint32_t> x = inputs(nodes, count);
  uint32_t sum = nodes.relu(x[0]);
  for (size_t i = 1; i < x.size(); ++i)
    sum = i % 3 == 0 ? nodes.maximum(x[i], sum) : nodes.difference(x[i], sum);
  nodes.output(sum);
}

void many_constants(Nodes& nodes, int64_t count) {
  const uint32_t x = nodes.input();
  std::vector<uint32_t> constants;
  for (int64_t i = 0; i < count; ++i) constants.push_back(nodes.constant());
  uint32_t last = x;
  for (const uint32_t constant : constants) last = nodes.difference(constant, last);
  nodes.output(last);
}

void many_outputs(Nodes& nodes, int64_t count) {
  const uint32_t x = nodes.input();
  std::vector<uint32_t> made;
  for (int64_t i = 0; i < count; ++i) made.push_back(nodes.add(i == 0 ? x : made.back(), x));
  for (size_t i = 0; i < made.size(); ++i) nodes.output(made[(i * 7 + 3) % made.size()]);
}

void many_readers(Nodes& nodes, int64_t count) {
  const uint32_t x = nodes.input();
  const uint32_t shared = nodes.relu(x);
  uint32_t last = x;
  for (int64_t i = 0; i < count; ++i) last = nodes.difference(shared, last);
  nodes.output(last);
}

// Every node reads the two before it, so their memory lives for a while.
void long_lives(Nodes& nodes, int64_t count) {
  uint32_t older = nodes.input(), newer = nodes.input();
  const uint32_t first = older;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t made =
        i % 2 == 0 ? nodes.maximum(nodes.negated(older), newer) : nodes.difference(nodes.relu(newer), older);
    older = newer;
    newer = i % 2 == 0 ? made : nodes.maximum(made, first);
  }
  nodes.output(newer);
  nodes.output(older);
}

void unused_input(Nodes& nodes, int64_t position) {
  const std::vector<uint32_t> x = inputs(nodes, 3);
  const auto unused = static_cast<size_t>(position);
  nodes.output(nodes.difference(x[(unused + 2) % 3], x[(unused + 1) % 3]));
}

void unused_node(Nodes& nodes, int64_t) {
  const uint32_t x = nodes.input(), y = nodes.input();
  nodes.negated(x);
  nodes.output(nodes.difference(x, y));
}

void output_twice(Nodes& nodes, int64_t) {
  const uint32_t x = nodes.input(), y = nodes.input();
  const uint32_t made = nodes.difference(x, y);
  nodes.output(made);
  nodes.output(made);
}

void output_with_readers(Nodes& nodes, int64_t) {
  const uint32_t x = nodes.input(), y = nodes.input();
  const uint32_t sum = nodes.add(x, y);
  const uint32_t up = nodes.relu(sum);  // may be folded into the sum, which is an output
  const uint32_t down = nodes.negated(up);
  nodes.output(down);
  nodes.output(sum);
  nodes.output(up);
}

void folded_twice(Nodes& nodes, int64_t) {
  const uint32_t x = nodes.input(), y = nodes.input();
  const uint32_t sum = nodes.add(x, y);
  const uint32_t up = nodes.relu(sum), down = nodes.negated(sum);
  nodes.output(up);
  nodes.output(down);
}

void apart(Nodes& nodes, int64_t) {
  const uint32_t x = nodes.input(), y = nodes.input();
  const uint32_t a = nodes.relu(x), b = nodes.negated(y);
  nodes.output(b);
  nodes.output(a);
}

void equal_nodes(Nodes& nodes, int64_t) {
  const uint32_t x = nodes.input(), y = nodes.input();
  const uint32_t a = nodes.difference(x, y), b = nodes.difference(x, y), c = nodes.difference(y, x);
  nodes.output(a);
  nodes.output(c);
  nodes.output(b);
}

void one_constant_twice(Nodes& nodes, int64_t) {
  const uint32_t x = nodes.input(), c = nodes.constant();
  const uint32_t a = nodes.difference(x, c);
  nodes.output(nodes.binary("aten.mul.Tensor", c, nodes.relu(a)));
}

void same_value_twice(Nodes& nodes, int64_t) {
  const uint32_t x = nodes.input();
  const uint32_t square = nodes.binary("aten.mul.Tensor", x, x);
  const uint32_t up = nodes.relu(x);
  nodes.output(nodes.difference(square, nodes.binary("aten.mul.Tensor", up, up)));
}

struct GraphForm {
  const char* word;
  Build build;
  std::vector<int64_t> counts;
};
const GraphForm kForms[] = {{"many_nodes", many_nodes, {63, 64, 65, 130, 257}},
                            {"many_inputs", many_inputs, {7, 8, 9, 16, 17, 33}},
                            {"many_constants", many_constants, {15, 16, 17, 33, 65}},
                            {"many_outputs", many_outputs, {8, 9, 16, 17}},
                            {"many_readers", many_readers, {9, 33}},
                            {"long_lives", long_lives, {9, 33, 65}},
                            {"unused_input", unused_input, {0, 1, 2}},
                            {"unused_node", unused_node, {1}},
                            {"output_twice", output_twice, {1}},
                            {"output_with_readers", output_with_readers, {1}},
                            {"folded_twice", folded_twice, {1}},
                            {"apart", apart, {1}},
                            {"equal_nodes", equal_nodes, {1}},
                            {"one_constant_twice", one_constant_twice, {1}},
                            {"same_value_twice", same_value_twice, {1}}};

void add_graph(CaseList& out, const GraphForm& form, int64_t count, const Shape& shape) {
  const std::string name = std::string("model.") + form.word + "." + short_name(shape.dtype) + "." +
                           shape_text(shape) + ".n" + std::to_string(count);
  out.add({name, "model", shape.dtype, [&form, count, shape](std::string_view full_name) {
             CaseBuilder builder(full_name);
             Nodes nodes(builder, shape);
             form.build(nodes, count);
             ErrorModel error_model;
             error_model.rule = Rule::kExactValue;
             return builder.finish(std::move(error_model));
           }});
}

}  // namespace

void add_graph_shapes(CaseList& out) {
  size_t at = 0;
  for (const GraphForm& form : kForms)
    for (const int64_t count : form.counts) {
      add_graph(out, form, count, {ETB_DTYPE_FLOAT32, {3, 5}, {}});
      const etb_dtype others[] = {ETB_DTYPE_FLOAT16, ETB_DTYPE_INT32, ETB_DTYPE_FLOAT64, ETB_DTYPE_INT64};
      // float16 holds no long sums of integers; float32 does.
      const bool is_long = count > 17 || form.build == many_inputs;
      add_graph(out, form, count, {is_long ? ETB_DTYPE_INT64 : others[at++ % 4], {17}, {}});
      if (count <= 17) add_graph(out, form, count, {ETB_DTYPE_FLOAT32, {2, 3, 4, 2}, channels_last(4)});
    }
  add_graph(out, kForms[0], 64, {ETB_DTYPE_FLOAT32, {64, 129}, {}});
  add_graph(out, kForms[9], 1, {ETB_DTYPE_FLOAT32, {512, 515}, {}});  // 1 MB
}

}  // namespace etb::conformance
