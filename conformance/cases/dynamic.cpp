// SPDX-License-Identifier: Apache-2.0
// Dynamic sizes: one compilation, then runs of several sizes on one context: the bound, one, the bound minus
// one, smaller, larger again.
#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/generators.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

constexpr int64_t kBound = 12;
const int64_t kSizes[] = {kBound, 1, kBound - 1, 3, 7, kBound};

// Adds a spec whose first dimension is dynamic.
uint32_t dynamic_spec(CaseBuilder& builder, uint32_t expr, etb_dtype dtype, const std::vector<int64_t>& rest,
                      int64_t least = 1) {
  graph::SpecDesc desc;
  desc.dtype = dtype;
  desc.sizes = {kBound};
  desc.sizes.insert(desc.sizes.end(), rest.begin(), rest.end());
  desc.dynamic_dims = {{0, least, expr}};
  return builder.image_builder().add_spec(desc);
}

struct Row {
  const char* op;
  std::vector<std::vector<int64_t>> dynamic_inputs;  // after the dynamic dimension
  std::vector<std::vector<int64_t>> static_inputs;
  std::vector<int64_t> result;
  std::vector<const char*> names;  // names of the arguments
  Rule rule;
  int64_t length;
  double ulps;
};

const Row kRows[] = {
    {"aten.relu.default", {{3}}, {}, {3}, {"self"}, Rule::kExactValue, 1, 0},
    {"aten.neg.default", {{}}, {}, {}, {"self"}, Rule::kExact, 1, 0},
    {"aten.abs.default", {{2, 5}}, {}, {2, 5}, {"self"}, Rule::kExact, 1, 0},
    {"aten.exp.default", {{4}}, {}, {4}, {"self"}, Rule::kRounded, 1, 3},
    {"aten.tanh.default", {{4}}, {}, {4}, {"self"}, Rule::kRounded, 1, 5},
    {"aten.sigmoid.default", {{7}}, {}, {7}, {"self"}, Rule::kRounded, 1, 6},
    {"aten.add.Tensor", {{3}, {3}}, {}, {3}, {"self", "other"}, Rule::kRounded, 1, 0.5},
    {"aten.add.Tensor", {{3}}, {{3}}, {3}, {"self", "other"}, Rule::kRounded, 1, 0.5},
    {"aten.mul.Tensor", {{2, 2}, {2, 2}}, {}, {2, 2}, {"self", "other"}, Rule::kRounded, 1, 0.5},
    {"aten.sub.Tensor", {{5}, {5}}, {}, {5}, {"self", "other"}, Rule::kRounded, 1, 0.5},
    {"aten.maximum.default", {{6}, {6}}, {}, {6}, {"self", "other"}, Rule::kExactValue, 1, 0},
    {"aten.maximum.default", {{2, 3}}, {{2, 3}}, {2, 3}, {"self", "other"}, Rule::kExactValue, 1, 0},
    {"aten.minimum.default", {{5}, {5}}, {}, {5}, {"self", "other"}, Rule::kExactValue, 1, 0},
    {"aten.div.Tensor", {{4}, {4}}, {}, {4}, {"self", "other"}, Rule::kRounded, 1, 0.5},
    {"aten.mul.Tensor", {{3}}, {{1}}, {3}, {"self", "other"}, Rule::kRounded, 1, 0.5},
    {"aten.sub.Tensor", {{2, 3}}, {{3}}, {2, 3}, {"self", "other"}, Rule::kRounded, 1, 0.5},
    {"aten.ceil.default", {{6}}, {}, {6}, {"self"}, Rule::kExact, 1, 0},
    {"aten.floor.default", {{6}}, {}, {6}, {"self"}, Rule::kExact, 1, 0},
    {"aten.clone.default", {{2, 2, 2}}, {}, {2, 2, 2}, {"self"}, Rule::kExact, 1, 0},
    {"aten.sin.default", {{5}}, {}, {5}, {"self"}, Rule::kRounded, 1, 4},
    {"aten.cos.default", {{5}}, {}, {5}, {"self"}, Rule::kRounded, 1, 4},
    {"aten.relu.default", {{2, 3, 4}}, {}, {2, 3, 4}, {"self"}, Rule::kExactValue, 1, 0},
    {"aten.neg.default", {{17}}, {}, {17}, {"self"}, Rule::kExact, 1, 0},
    {"aten.abs.default", {{}}, {}, {}, {"self"}, Rule::kExact, 1, 0},
    {"aten.mm.default", {{1}}, {{1, 1}}, {1}, {"self", "mat2"}, Rule::kContraction, 1, 0},
    {"aten.mm.default", {{64}}, {{64, 33}}, {33}, {"self", "mat2"}, Rule::kContraction, 64, 0},
    {"aten.mm.default", {{9}}, {{9, 5}}, {5}, {"self", "mat2"}, Rule::kContraction, 9, 0},
    {"aten.linear.default",
     {{9}},
     {{5, 9}, {5}},
     {5},
     {"input", "weight", "bias"},
     Rule::kContraction,
     10,
     0},
};

void add_row(CaseList& out, const Row& row, etb_dtype dtype, Values values) {
  std::string sizes;
  for (const auto& input : row.dynamic_inputs)
    sizes += (sizes.empty() ? "n" : "__n") +
             (input.empty() ? std::string() : "x" + shape_text({dtype, input, {}}));
  for (const auto& input : row.static_inputs) sizes += "__" + shape_text({dtype, input, {}});
  const std::string name =
      "dyn" + op_word(row.op).substr(2) + "." + short_name(dtype) + "." + sizes + "." + to_text(values);
  out.add(
      {name, row.op, dtype, [=, &row](std::string_view full_name) {
         CaseBuilder builder(full_name);
         const uint32_t symbol = builder.image_builder().add_symbol({"s0", 1, kBound, {}});
         const uint32_t expr = builder.image_builder().add_symbol_expr(symbol);
         std::vector<graph::ArgumentDesc> args;
         std::vector<Shape> shapes;
         size_t count = 0;
         for (const auto& input : row.dynamic_inputs) {
           const uint32_t spec = dynamic_spec(builder, expr, dtype, input);
           const uint32_t x = builder.graph().add_input(graph::tensor("x" + std::to_string(count), spec));
           args.push_back(value_arg(x, row.names[count++]));
         }
         for (const auto& input : row.static_inputs) {
           const uint32_t spec = builder.spec({dtype, input, {}});
           const uint32_t x = builder.graph().add_input(graph::tensor("x" + std::to_string(count), spec));
           args.push_back(value_arg(x, row.names[count++]));
         }
         graph::NodeDesc node;
         node.op = row.op;
         node.args = args;
         node.debug_handle = 1;
         node.outputs = {graph::tensor("y", dynamic_spec(builder, expr, dtype, row.result))};
         builder.output(builder.graph().add_node(node));
         ErrorModel error_model;
         error_model.rule = row.rule;
         error_model.length = row.length;
         error_model.ulps = row.ulps;
         error_model.has_input_magnitude = row.rule == Rule::kContraction;
         error_model.is_exact_probe = row.rule == Rule::kContraction && values == Values::kExact;
         Result<BuiltCase> built = builder.finish(std::move(error_model));
         if (!built) return built;
         built->runs.clear();
         for (const int64_t size : kSizes) {
           std::vector<TensorData>& inputs = built->runs.emplace_back();
           uint32_t operand = 0;
           for (const auto& input : row.dynamic_inputs) {
             Shape shape{dtype, {size}, {}};
             shape.sizes.insert(shape.sizes.end(), input.begin(), input.end());
             inputs.push_back(make_values(shape, values, {-2, 2}, operand++, builder.random()));
           }
           for (const auto& input : row.static_inputs)
             inputs.push_back(make_values({dtype, input, {}}, values, {-2, 2}, operand++, builder.random()));
         }
         return built;
       }});
}

// Operands with a symbol each: they have equal sizes in some runs, and in others the second one has a single element.
void add_two_symbols(CaseList& out, const char* op, Rule rule) {
  constexpr etb_dtype kReal = ETB_DTYPE_FLOAT32;
  const std::string name = "dyn" + op_word(op).substr(2) + ".f32.n__m.two_symbols.stat";
  out.add({name, op, kReal, [=](std::string_view full_name) {
             CaseBuilder builder(full_name);
             auto& image = builder.image_builder();
             const uint32_t first = image.add_symbol_expr(image.add_symbol({"s0", 2, kBound, {}}));
             const uint32_t second = image.add_symbol_expr(image.add_symbol({"s1", 1, kBound, {}}));
             const uint32_t x =
                 builder.graph().add_input(graph::tensor("x0", dynamic_spec(builder, first, kReal, {}, 2)));
             const uint32_t y =
                 builder.graph().add_input(graph::tensor("x1", dynamic_spec(builder, second, kReal, {})));
             graph::NodeDesc node;
             node.op = op;
             node.args = {value_arg(x, "self"), value_arg(y, "other")};
             node.debug_handle = 1;
             node.outputs = {graph::tensor("y", dynamic_spec(builder, first, kReal, {}, 2))};
             builder.output(builder.graph().add_node(node));
             ErrorModel error_model;
             error_model.rule = rule;
             Result<BuiltCase> built = builder.finish(std::move(error_model));
             if (!built) return built;
             built->runs.clear();
             for (const auto& [n, m] :
                  {std::pair{kBound, kBound}, std::pair{5L, 1L}, std::pair{5L, 5L}, std::pair{2L, 1L}})
               built->runs.push_back(
                   {make_values({kReal, {n}, {}}, Values::kStatistical, {-2, 2}, 0, builder.random()),
                    make_values({kReal, {m}, {}}, Values::kStatistical, {-2, 2}, 1, builder.random())});
             return built;
           }});
}

}  // namespace

void add_dynamic(CaseList& out) {
  for (const char* op : {"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor"})
    add_two_symbols(out, op, Rule::kRounded);
  for (const char* op : {"aten.maximum.default", "aten.minimum.default"})
    add_two_symbols(out, op, Rule::kExactValue);
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16, ETB_DTYPE_FLOAT64})
    for (const Row& row : kRows)
      for (const Values values : {Values::kStatistical, Values::kExact, Values::kPositive}) {
        if (values == Values::kExact && std::string_view(row.op) == "aten.div.Tensor") continue;  // 0 / 0
        const bool is_inexact = is_half(dtype) && row.rule == Rule::kContraction && values == Values::kExact;
        if (!is_inexact) add_row(out, row, dtype, values);
      }
}

}  // namespace etb::conformance
