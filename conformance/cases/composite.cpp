// SPDX-License-Identifier: Apache-2.0
// Ops that plugins support whole and the portable kernels only in parts: a second graph, the decomposition,
// is the reference. Also ops with constant parameters, as compilers pass them.
#include <algorithm>
#include <cmath>
#include <functional>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/generators.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

using Nodes = std::function<void(CaseBuilder&, const Shape&, uint32_t x)>;

struct CompositeRow {
  const char* op;
  Rule rule;
  double ulps;
  double steps;  // times |x|: error of the decomposition's products and sums
  Nodes whole, parts;
};

uint32_t unary(CaseBuilder& builder, const char* op, uint32_t x, const Shape& shape) {
  return builder.node(op, {value_arg(x, "self")}, shape);
}
uint32_t scalar(CaseBuilder& builder, const char* op, uint32_t x, double value, const Shape& shape) {
  return builder.node(op, {value_arg(x, "self"), graph::float_arg(value, "other")}, shape);
}
uint32_t times(CaseBuilder& builder, uint32_t a, uint32_t b, const Shape& shape) {
  return builder.node("aten.mul.Tensor", {value_arg(a, "self"), value_arg(b, "other")}, shape);
}
uint32_t clamped(CaseBuilder& builder, uint32_t x, double low, double high, const Shape& shape) {
  return builder.node("aten.clamp.default",
                      {value_arg(x, "self"), graph::float_arg(low, "min"), graph::float_arg(high, "max")},
                      shape);
}
Nodes one(const char* op) {
  return [op](CaseBuilder& builder, const Shape& shape, uint32_t x) {
    builder.output(unary(builder, op, x, shape));
  };
}

const CompositeRow kRows[] = {
    {"aten.silu.default", Rule::kRounded, 8, 2, one("aten.silu.default"),
     [](CaseBuilder& builder, const Shape& shape, uint32_t x) {
       builder.output(times(builder, x, unary(builder, "aten.sigmoid.default", x, shape), shape));
     }},
    // x * min(max(x + 3, 0), 6) / 6: near -3 the sum cancels.
    {"aten.hardswish.default", Rule::kRounded, 4, 4, one("aten.hardswish.default"),
     [](CaseBuilder& builder, const Shape& shape, uint32_t x) {
       const uint32_t sum = scalar(builder, "aten.add.Scalar", x, 3, shape);
       const uint32_t part = times(builder, x, clamped(builder, sum, 0, 6, shape), shape);
       builder.output(scalar(builder, "aten.div.Scalar", part, 6, shape));
     }},
    {"aten.hardsigmoid.default", Rule::kRounded, 4, 4, one("aten.hardsigmoid.default"),
     [](CaseBuilder& builder, const Shape& shape, uint32_t x) {
       const uint32_t sum = scalar(builder, "aten.add.Scalar", x, 3, shape);
       builder.output(scalar(builder, "aten.div.Scalar", clamped(builder, sum, 0, 6, shape), 6, shape));
     }},
    {"aten.relu6.default", Rule::kExactValue, 0, 0, one("aten.relu6.default"),
     [](CaseBuilder& builder, const Shape& shape, uint32_t x) {
       builder.output(clamped(builder, x, 0, 6, shape));
     }},
    {"aten.square.default", Rule::kRounded, 0.5, 0, one("aten.square.default"),
     [](CaseBuilder& builder, const Shape& shape, uint32_t x) {
       builder.output(times(builder, x, x, shape));
     }},
    {"aten.softmax.int", Rule::kRounded, 4, 24,
     [](CaseBuilder& builder, const Shape& shape, uint32_t x) {
       builder.output(
           builder.node("aten.softmax.int", {value_arg(x, "self"), graph::int_arg(-1, "dim")}, shape));
     },
     [](CaseBuilder& builder, const Shape& shape, uint32_t x) {
       builder.output(builder.node(
           "aten._softmax.default",
           {value_arg(x, "self"), graph::int_arg(-1, "dim"), graph::bool_arg(false, "half_to_float")},
           shape));
     }},
};

// Returns |x| of every element, with a lower limit for the bounds of results near zero.
std::vector<double> absolutes(const std::vector<TensorData>& inputs) {
  std::vector<double> out;
  for (int64_t i = 0; i < inputs[0].shape.numel(); ++i)
    out.push_back(std::abs(load_element(inputs[0].shape.dtype, inputs[0].bytes.data(), i)));
  return out;
}

Result<BuiltCase> build_composite(const CompositeRow& row, const Shape& shape, std::string_view name,
                                  const Domain& domain = {}) {
  CaseBuilder builder(name), parts(name);
  const uint32_t x = builder.input(shape, Values::kStatistical, domain),
                 y = parts.input(shape, Values::kStatistical, domain);
  row.whole(builder, shape, x);
  row.parts(parts, shape, y);
  ErrorModel error_model;
  error_model.rule = row.rule;
  error_model.ulps = row.ulps;
  error_model.steps = row.steps;
  error_model.magnitude = row.steps > 0 ? Magnitude(absolutes) : nullptr;
  ETB_ASSIGN(BuiltCase out, builder.finish(std::move(error_model)));
  ETB_ASSIGN(BuiltCase reference, parts.finish({}));
  out.reference_image = std::move(reference.image);
  return out;
}

void add_composites(CaseList& out) {
  for (const CompositeRow& row : kRows)
    for (const etb_dtype dtype : kFloats)
      for (const std::vector<int64_t>& sizes :
           {std::vector<int64_t>{7}, {65}, {1031}, {3, 5}, {2, 3, 4}, {2, 3, 4, 5}})
        for (const bool is_last : {false, true}) {
          if (is_last && (sizes.size() != 4 || std::string_view(row.op) == "aten.softmax.int")) continue;
          const Shape shape{dtype, sizes, is_last ? channels_last(4) : std::vector<uint8_t>{}};
          out.add({op_word(row.op) + "." + short_name(dtype) + "." + shape_text(shape) + ".stat", row.op,
                   dtype,
                   [&row, shape](std::string_view name) { return build_composite(row, shape, name); }});
        }
}

// Numbers whose sigmoid is subnormal in float16, while the product with it is not. The product has the digits of that
// sigmoid, or more, but it is not 0.
void add_silu_tails(CaseList& out) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [](const CompositeRow& item) {
    return std::string_view(item.op) == "aten.silu.default";
  });
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16})
    for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{7}, {1031}, {2, 3, 4, 5}}) {
      const Shape shape{dtype, sizes, {}};
      out.add({op_word(row->op) + "." + short_name(dtype) + "." + shape_text(shape) + ".tail.stat", row->op,
               dtype, [row, shape](std::string_view name) -> Result<BuiltCase> {
                 ETB_ASSIGN(BuiltCase built, build_composite(*row, shape, name, {-15.5, -8.5}));
                 built.error_model.magnitude = [](const std::vector<TensorData>& inputs) {
                   constexpr double kLeastNormal = 0x1p-14;
                   std::vector<double> found = absolutes(inputs);
                   for (double& each : found) each *= kLeastNormal;
                   return found;
                 };
                 return built;
               }});
    }
}

// addmm as the importer writes a linear layer: a constant matrix, a constant row.
void add_constant_products(CaseList& out, etb_dtype dtype, Values values) {
  for (const std::vector<int64_t>& s :
       {std::vector<int64_t>{1, 4, 3}, {3, 16, 5}, {8, 31, 17}, {2, 129, 9}}) {
    const int64_t length = s[1] + 1;
    if (dtype == ETB_DTYPE_BFLOAT16 || (dtype == ETB_DTYPE_FLOAT16 && values != Values::kStatistical))
      continue;
    const std::string name = std::string("op.addmm.") + short_name(dtype) + "." + std::to_string(s[0]) + "x" +
                             std::to_string(s[1]) + "__" + std::to_string(s[1]) + "x" + std::to_string(s[2]) +
                             ".constant." + to_text(values);
    out.add({name, "aten.addmm.default", dtype, [=](std::string_view full_name) {
               CaseBuilder builder(full_name);
               const Domain domain{-1, 1};
               const uint32_t x = builder.input({dtype, {s[0], s[1]}, {}}, values, domain);
               const uint32_t w = builder.constant(make_values({dtype, {s[1], s[2]}, {}}, values, domain, 1,
                                                               builder.random())),
                              b = builder.constant(
                                  make_values({dtype, {s[2]}, {}}, values, domain, 1, builder.random()));
               builder.output(builder.node("aten.addmm.default",
                                           {value_arg(b, "self"), value_arg(x, "mat1"), value_arg(w, "mat2")},
                                           Shape{dtype, {s[0], s[2]}, {}}));
               ErrorModel error_model;
               error_model.rule = Rule::kContraction;
               error_model.length = length;
               error_model.is_exact_probe = values == Values::kExact;
               error_model.has_input_magnitude = true;
               return builder.finish(std::move(error_model));
             }});
  }
}

}  // namespace

void add_composite(CaseList& out) {
  add_composites(out);
  add_silu_tails(out);
  for (const etb_dtype dtype : kFloats)
    for (const Values values : {Values::kExact, Values::kStatistical})
      add_constant_products(out, dtype, values);
}

}  // namespace etb::conformance
