// SPDX-License-Identifier: Apache-2.0
// Bounds and slopes: clamp, hardtanh, leaky_relu, elu, gelu.
#include <cmath>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/elementwise.hpp"
#include "conformance/cases/generators.hpp"

namespace etb::conformance {
namespace {

struct Limits {
  const char* word;
  std::vector<graph::ArgumentDesc> args;
};

void add_case(CaseList& out, const char* op, const Limits& limits, const Shape& shape, Values values,
              Rule rule, double ulps, double steps, const Magnitude& magnitude) {
  const std::string sizes = shape_text(shape) + "." + limits.word;
  out.add({name_of(op, shape.dtype, sizes, values, values == Values::kSpecial || is_edge_shape(shape)), op,
           shape.dtype, [=](std::string_view name) {
             CaseBuilder builder(name);
             const uint32_t x = builder.input(shape, values);
             std::vector<graph::ArgumentDesc> args = {graph::value_arg(x, "self")};
             args.insert(args.end(), limits.args.begin(), limits.args.end());
             builder.output(builder.node(op, args, shape));
             ErrorModel error_model = error_model_of(rule, ulps, steps);
             error_model.magnitude = magnitude;
             return builder.finish(std::move(error_model));
           }});
}

// Returns |x| of every element.
std::vector<double> absolutes(const std::vector<TensorData>& inputs) {
  std::vector<double> out;
  for (int64_t i = 0; i < inputs[0].shape.numel(); ++i)
    out.push_back(std::abs(load_element(inputs[0].shape.dtype, inputs[0].bytes.data(), i)));
  return out;
}

void add_rows(CaseList& out) {
  const Limits clamps[] = {{"both", {graph::int_arg(-1, "min"), graph::int_arg(2, "max")}},
                           {"min", {graph::int_arg(-1, "min"), graph::none_arg("max")}},
                           {"max", {graph::none_arg("min"), graph::int_arg(2, "max")}}};
  for (const etb_dtype dtype : kAllDtypes) {
    if (dtype == ETB_DTYPE_BOOL) continue;
    for (const Shape& shape : unary_shapes(dtype)) {
      for (const Limits& limits : clamps) {
        if (dtype == ETB_DTYPE_UINT8) continue;
        add_case(out, "aten.clamp.default", limits, shape, Values::kStatistical, Rule::kExactValue, 0, 0,
                 nullptr);
      }
      if (dtype != ETB_DTYPE_UINT8)
        add_case(out, "aten.hardtanh.default",
                 {"m1_2", {graph::int_arg(-1, "min_val"), graph::int_arg(2, "max_val")}}, shape,
                 Values::kStatistical, Rule::kExactValue, 0, 0, nullptr);
      if (!is_floating(dtype)) continue;
      add_case(out, "aten.leaky_relu.default", {"s0p125", {graph::float_arg(0.125, "negative_slope")}}, shape,
               Values::kStatistical, Rule::kRounded, kHalf, 1, absolutes);
      add_case(out, "aten.elu.default", {"a1", {graph::float_arg(1, "alpha")}}, shape, Values::kStatistical,
               Rule::kRounded, 4, 0, nullptr);
      // x * 0.5 * (1 + erf(x / sqrt(2))): the sum cancels for negative x, an error relative to |x|.
      add_case(out, "aten.gelu.default", {"erf", {graph::string_arg("none", "approximate")}}, shape,
               Values::kStatistical, Rule::kRounded, 6, 4, absolutes);
      add_case(out, "aten.gelu.default", {"tanh", {graph::string_arg("tanh", "approximate")}}, shape,
               Values::kStatistical, Rule::kRounded, 6, 8, absolutes);
    }
    if (!is_floating(dtype)) continue;
    for (const Limits& limits : clamps)
      add_case(out, "aten.clamp.default", limits, {dtype, {64}, {}}, Values::kSpecial, Rule::kExactValue, 0,
               0, nullptr);
  }
}

}  // namespace

void add_limited(CaseList& out) { add_rows(out); }

}  // namespace etb::conformance
