// SPDX-License-Identifier: Apache-2.0
// More elements than a block of a kernel has, and a few more: each function of single elements writes the last ones, too.
#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/elementwise.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

// Just above 2^17: floats of one dimension, and halves of two.
Sizes ragged_sizes(etb_dtype dtype) { return dtype == ETB_DTYPE_FLOAT16 ? Sizes{3, 43693} : Sizes{131077}; }

void add_large(CaseList& out, etb_dtype dtype, OpForm form) {
  form.word = "large";
  add_form(out, dtype, std::move(form), "ragged");
}

void add_unary(CaseList& out, const UnaryRow& row, etb_dtype dtype) {
  const Shape shape{dtype, ragged_sizes(dtype), {}};
  OpForm form{row.op,
              {{shape, Values::kStatistical, row.domain}},
              {value_arg(0, "self")},
              {{result_dtype(row.gives, dtype), shape.sizes, {}}}};
  form.error_model = error_model_of(row.rule, row.ulps);
  add_large(out, dtype, std::move(form));
}

void add_binary(CaseList& out, const BinaryRow& row, etb_dtype dtype) {
  const bool is_pow = std::string_view(row.op).find("pow") != std::string_view::npos;
  const Shape shape{dtype, ragged_sizes(dtype), {}};
  OpForm form{row.op,
              {{shape, Values::kStatistical, is_pow ? Domain{0.25, 4} : Domain{}}, {shape}},
              {value_arg(0, "self"), value_arg(1, is_pow ? "exponent" : "other")},
              {{result_dtype(row.gives, dtype), shape.sizes, {}}}};
  form.operands[1].fill = [&row, shape](TensorData& data, Random& random) {
    data = make_values(shape, Values::kStatistical, {}, 1, random);
    restrict_second(data, row.second, random);
  };
  form.error_model = error_model_of(row.rule, row.ulps);
  form.widen_integers = row.gives == Gives::kReal;
  add_large(out, dtype, std::move(form));
}

void add_scalar(CaseList& out, const ScalarRow& row, etb_dtype dtype) {
  const Shape shape{dtype, ragged_sizes(dtype), {}};
  OpForm form{row.op,
              {{shape}},
              {value_arg(0, "self"), graph::int_arg(static_cast<int64_t>(row.value), row.argument)},
              {{result_dtype(row.gives, dtype), shape.sizes, {}}}};
  form.error_model = error_model_of(row.rule, kHalf);
  form.widen_integers = row.gives == Gives::kReal;
  add_large(out, dtype, std::move(form));
}

// Functions with attributes, and conversions.
void add_others(CaseList& out, etb_dtype dtype) {
  const Shape shape{dtype, ragged_sizes(dtype), {}};
  const auto add = [&](const char* op, std::vector<graph::ArgumentDesc> args, const ErrorModel& model,
                       etb_dtype result) {
    OpForm form{op, {{shape}}, {value_arg(0, "self")}, {{result, shape.sizes, {}}}};
    form.args.insert(form.args.end(), args.begin(), args.end());
    form.error_model = model;
    add_large(out, dtype, std::move(form));
  };
  const ErrorModel exact = exact_model(Rule::kExactValue);
  add("aten.clamp.default", {graph::int_arg(-1, "min"), graph::int_arg(2, "max")}, exact, dtype);
  add("aten.hardtanh.default", {graph::int_arg(-1, "min_val"), graph::int_arg(2, "max_val")}, exact, dtype);
  add("aten.leaky_relu.default", {graph::float_arg(0.125, "negative_slope")},
      rounded_model(0.5, 1, twice_the_largest), dtype);
  add("aten.elu.default", {graph::float_arg(1, "alpha")}, rounded_model(4, 1, twice_the_largest), dtype);
  add("aten.gelu.default", {graph::string_arg("none", "approximate")}, rounded_model(6, 4, twice_the_largest),
      dtype);
  add("aten.gelu.default", {graph::string_arg("tanh", "approximate")}, rounded_model(6, 8, twice_the_largest),
      dtype);
  const etb_dtype other = dtype == ETB_DTYPE_FLOAT32 ? ETB_DTYPE_FLOAT16 : ETB_DTYPE_FLOAT32;
  add("aten._to_copy.default", {graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, other, "dtype")},
      error_model_of(Rule::kRounded, kHalf), other);
}

}  // namespace

void add_ragged_designs(CaseList& out) {
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_INT32}) {
    for (const UnaryRow& row : unary_rows())
      if (takes(row.takes, dtype) && (is_floating(dtype) || row.gives != Gives::kReal))
        add_unary(out, row, dtype);
    for (const BinaryRow& row : binary_rows())
      if (takes(row.takes, dtype)) add_binary(out, row, dtype);
    for (const ScalarRow& row : scalar_rows())
      if (takes(row.takes, dtype)) add_scalar(out, row, dtype);
    if (is_floating(dtype)) add_others(out, dtype);
  }
}

}  // namespace etb::conformance
