// SPDX-License-Identifier: Apache-2.0
// Attributes that differ from a short number in their seventh digit. A payload that has them as text of six digits, or as a
// float of 16 bits, is wrong by much more than a rounding.
#include <cmath>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::ArgumentDesc;
using graph::float_arg;
using graph::value_arg;

// Printed with six digits, they are 1, 10 and 0.1: an error of 42 ulps or more.
constexpr double kOne = 1.00000499, kTen = 10.0000499, kTenth = 0.100000499;

void add_exact_name(CaseList& out, etb_dtype dtype, OpForm form, const char* word) {
  form.word = std::string("seven_digits") + (*word != '\0' ? "." : "") + word;
  add_form(out, dtype, std::move(form));
}

struct Function {
  const char* op;
  const char* word;
  std::vector<ArgumentDesc> args;
  ErrorModel model;
  Domain domain = {};
};

// The attribute and the operations with it are rounded to the dtype; differences are compared beside their operands.
std::vector<Function> functions() {
  const Magnitude one = fixed_magnitude(2 * kOne);
  const ErrorModel exact = exact_model(Rule::kExactValue);
  return {{"aten.clamp.default", "both", {float_arg(-kOne, "min"), float_arg(kTenth, "max")}, exact},
          {"aten.clamp.default", "min", {float_arg(kOne, "min"), graph::none_arg("max")}, exact},
          {"aten.clamp.default", "max", {graph::none_arg("min"), float_arg(-kTenth, "max")}, exact},
          {"aten.hardtanh.default", "", {float_arg(-kTenth, "min_val"), float_arg(kOne, "max_val")}, exact},
          {"aten.leaky_relu.default", "", {float_arg(kTenth, "negative_slope")}, rounded_model(2)},
          {"aten.elu.default", "", {float_arg(kOne, "alpha")}, rounded_model(6, 1, one)},
          {"aten.mul.Scalar", "", {float_arg(kOne, "other")}, rounded_model(2)},
          {"aten.div.Scalar", "", {float_arg(kTen, "other")}, rounded_model(3)},
          {"aten.add.Scalar", "", {float_arg(kOne, "other")}, rounded_model(0.5, 1, one)},
          {"aten.sub.Scalar", "", {float_arg(kOne, "other")}, rounded_model(0.5, 1, one)},
          {"aten.rsub.Scalar", "", {float_arg(kOne, "other")}, rounded_model(0.5, 1, one)},
          {"aten.pow.Tensor_Scalar", "", {float_arg(kOne, "exponent")}, rounded_model(16), {4, 9}}};
}

void add_functions(CaseList& out, etb_dtype dtype) {
  for (const Function& function : functions())
    for (const Sizes& sizes : {Sizes{33}, {2, 3, 4, 5}}) {
      const Shape shape{dtype, sizes, {}};
      OpForm form{
          function.op, {{shape, Values::kStatistical, function.domain}}, {value_arg(0, "self")}, {shape}};
      form.args.insert(form.args.end(), function.args.begin(), function.args.end());
      form.error_model = function.model;
      add_exact_name(out, dtype, std::move(form), function.word);
    }
}

// Factors of an operand: alpha of sums and both factors of addmm, beside positive terms.
void add_factors(CaseList& out, etb_dtype dtype) {
  for (const char* op : {"aten.add.Tensor", "aten.sub.Tensor"})
    for (const double alpha : {kOne, kTen}) {
      const Shape shape{dtype, {5, 9}, {}};
      OpForm form{op,
                  {{shape}, {shape}},
                  {value_arg(0, "self"), value_arg(1, "other"), float_arg(alpha, "alpha")},
                  {shape}};
      form.error_model = rounded_model(2, 2 * alpha, twice_the_largest);
      add_exact_name(out, dtype, std::move(form), alpha == kTen ? "ten" : "");
    }
  struct Factors {
    double beta, alpha;
    const char* word;
  };
  for (const Factors& factors : {Factors{1, kOne, "alpha"}, {kTen, 1, "beta"}, {kOne, kTenth, "both"}})
    for (const bool is_constant : {true, false}) {
      const Domain positive{0.5, 2};
      OpForm form{"aten.addmm.default",
                  {{{dtype, {4, 3}, {}}, Values::kStatistical, positive},
                   {{dtype, {3, 5}, {}}, Values::kStatistical, positive, is_constant},
                   {{dtype, {5}, {}}, Values::kStatistical, positive, is_constant}},
                  {value_arg(2, "self"), value_arg(0, "mat1"), value_arg(1, "mat2"),
                   factors.beta == 1 ? graph::int_arg(1, "beta") : float_arg(factors.beta, "beta"),
                   factors.alpha == 1 ? graph::int_arg(1, "alpha") : float_arg(factors.alpha, "alpha")},
                  {{dtype, {4, 5}, {}}}};
      form.error_model = rounded_model(2, 8);
      form.error_model.has_input_magnitude = true;
      add_exact_name(out, dtype, std::move(form), factors.word);
    }
}

// Numbers that fill elements.
void add_fills(CaseList& out, etb_dtype dtype) {
  const Shape shape{dtype, {3, 4}, {}}, wide{dtype, {3, 7}, {}};
  OpForm pad{"aten.constant_pad_nd.default",
             {{shape}},
             {value_arg(0, "self"), graph::ints_arg({1, 2}, "pad"), float_arg(kOne, "value")},
             {wide}};
  pad.error_model = rounded_model(0.5);
  add_exact_name(out, dtype, std::move(pad), "");
  OpForm masked{"aten.masked_fill.Scalar",
                {{shape}, {{ETB_DTYPE_BOOL, shape.sizes, {}}}},
                {value_arg(0, "self"), value_arg(1, "mask"), float_arg(kTen, "value")},
                {shape}};
  masked.error_model = rounded_model(0.5);
  add_exact_name(out, dtype, std::move(masked), "");
}

// Rows of two numbers of both signs, whose mean is 0 and whose variance is small beside eps: 1 / sqrt(eps) multiplies them.
Operand small_rows(const Shape& shape) {
  Operand out{shape};
  out.fill = [](TensorData& data, Random&) {
    data = filled(data.shape, [](int64_t i) { return i % 2 == 0 ? 0x1p-10 : -0x1p-10; });
  };
  return out;
}

Operand ones(etb_dtype dtype, int64_t count, double value) {
  return constant_of({dtype, {count}, {}}, [value](int64_t) { return value; });
}

void add_eps(CaseList& out, etb_dtype dtype) {
  constexpr int64_t kChannels = 4;
  const Shape rows{dtype, {3, 8}, {}}, images{dtype, {2, kChannels, 2, 3}, {}};
  const Shape mean{dtype, {3, 1}, {}}, groups{dtype, {2, 2}, {}}, none{dtype, {0}, {}};
  const ErrorModel model = rounded_model(16);
  for (const bool has_weight : {true, false}) {
    const std::vector<Operand> parameters =
        has_weight ? std::vector<Operand>{ones(dtype, 8, 1), ones(dtype, 8, 0)} : std::vector<Operand>{};
    OpForm layer{"aten.native_layer_norm.default",
                 {small_rows(rows)},
                 {value_arg(0, "input"), graph::ints_arg({8}, "normalized_shape"),
                  has_weight ? value_arg(1, "weight") : graph::none_arg("weight"),
                  has_weight ? value_arg(2, "bias") : graph::none_arg("bias"), float_arg(kTenth, "eps")},
                 {rows, mean, mean}};
    layer.operands.insert(layer.operands.end(), parameters.begin(), parameters.end());
    layer.outputs = {0};
    layer.error_model = model;
    add_exact_name(out, dtype, std::move(layer), "");
  }
  OpForm group{"aten.native_group_norm.default",
               {small_rows(images), ones(dtype, kChannels, 1), ones(dtype, kChannels, 0)},
               {value_arg(0, "input"), value_arg(1, "weight"), value_arg(2, "bias"), graph::int_arg(2, "N"),
                graph::int_arg(kChannels, "C"), graph::int_arg(6, "HxW"), graph::int_arg(2, "group"),
                float_arg(kTenth, "eps")},
               {images, groups, groups}};
  group.outputs = {0};
  group.error_model = model;
  add_exact_name(out, dtype, std::move(group), "");
  OpForm batch{
      "aten._native_batch_norm_legit_no_training.default",
      {{images, Values::kStatistical},
       ones(dtype, kChannels, 1),
       ones(dtype, kChannels, 0),
       ones(dtype, kChannels, 0),
       ones(dtype, kChannels, 0x1p-20)},
      {value_arg(0, "input"), value_arg(1, "weight"), value_arg(2, "bias"), value_arg(3, "running_mean"),
       value_arg(4, "running_var"), float_arg(0.1, "momentum"), float_arg(kTenth, "eps")},
      {images, none, none}};
  batch.outputs = {0};
  batch.error_model = model;
  add_exact_name(out, dtype, std::move(batch), "");
}

}  // namespace

void add_digit_designs(CaseList& out) {
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64}) {
    add_functions(out, dtype);
    add_factors(out, dtype);
    add_fills(out, dtype);
  }
  add_eps(out, ETB_DTYPE_FLOAT32);
}

}  // namespace etb::conformance
