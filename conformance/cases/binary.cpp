// SPDX-License-Identifier: Apache-2.0
// Elementwise ops of two tensors, or of a tensor and a number: one row per op.
#include <algorithm>
#include <cmath>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/elementwise.hpp"
#include "conformance/cases/generators.hpp"

namespace etb::conformance {
namespace {

const BinaryRow kBinary[] = {
    {"aten.add.Tensor", Rule::kRounded, kHalf, Gives::kSame, kTakesNumbers},
    {"aten.sub.Tensor", Rule::kRounded, kHalf, Gives::kSame, kTakesNumbers},
    {"aten.mul.Tensor", Rule::kRounded, kHalf, Gives::kSame, kTakesAll},
    {"aten.div.Tensor", Rule::kRounded, kHalf, Gives::kReal, kTakesNumbers, 0, Second::kNotZero},
    {"aten.maximum.default", Rule::kExactValue, 0, Gives::kSame, kTakesAll},
    {"aten.minimum.default", Rule::kExactValue, 0, Gives::kSame, kTakesAll},
    {"aten.eq.Tensor", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.ne.Tensor", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.lt.Tensor", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.le.Tensor", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.gt.Tensor", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.ge.Tensor", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.logical_and.default", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.logical_or.default", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.logical_xor.default", Rule::kExact, 0, Gives::kBool, kTakesAll},
    {"aten.bitwise_and.Tensor", Rule::kExact, 0, Gives::kSame, kTakesInteger | kTakesBool},
    {"aten.bitwise_or.Tensor", Rule::kExact, 0, Gives::kSame, kTakesInteger | kTakesBool},
    {"aten.bitwise_xor.Tensor", Rule::kExact, 0, Gives::kSame, kTakesInteger | kTakesBool},
    {"aten.bitwise_left_shift.Tensor", Rule::kExact, 0, Gives::kSame, kTakesInteger, 0, Second::kShift,
     false},
    {"aten.bitwise_right_shift.Tensor", Rule::kExact, 0, Gives::kSame, kTakesInteger, 0, Second::kShift,
     false},
    {"aten.fmod.Tensor", Rule::kExactValue, 0, Gives::kSame, kTakesNumbers, 0, Second::kNotZero, false},
    {"aten.pow.Tensor_Tensor", Rule::kRounded, 16, Gives::kSame, kTakesFloat, 0, Second::kPositive, false},
    {"aten.atan2.default", Rule::kRounded, 6, Gives::kSame, kTakesFloat, 0, Second::kNotZero, false},
};

std::vector<graph::ArgumentDesc> binary_args(const BinaryRow& row, uint32_t a, uint32_t b, etb_dtype dtype,
                                             double alpha) {
  const bool is_pow = std::string_view(row.op).find("pow") != std::string_view::npos;
  std::vector<graph::ArgumentDesc> args = {graph::value_arg(a, "self"),
                                           graph::value_arg(b, is_pow ? "exponent" : "other")};
  if (alpha != 0)
    args.push_back(is_floating(dtype) && alpha != std::floor(alpha)
                       ? graph::float_arg(alpha, "alpha")
                       : graph::int_arg(static_cast<int64_t>(alpha), "alpha"));
  return args;
}

void add_case(CaseList& out, const BinaryRow& row, const ShapePair& pair, etb_dtype dtype, Values values,
              double alpha) {
  const Shape a = shaped(dtype, pair.a, pair.a_is_last), b = shaped(dtype, pair.b, pair.b_is_last);
  const Shape result = shaped(result_dtype(row.gives, dtype), broadcast(pair.a, pair.b), pair.a_is_last);
  std::string sizes = shape_text(a) + "__" + shape_text(b);
  if (alpha != 0) sizes += alpha == 2 ? ".alpha2" : ".alpha0p5";
  out.add({name_of(row.op, dtype, sizes, values, values == Values::kSpecial || is_edge_shape(result)), row.op,
           dtype, [&row, a, b, result, values, alpha](std::string_view name) {
             CaseBuilder builder(name);
             const bool is_pow = row.second == Second::kPositive;
             const Domain first = is_pow ? Domain{0.25, 4} : Domain{};
             const uint32_t x = builder.input(a, values, first);
             TensorData second = make_values(b, values, {}, 1, builder.random());
             restrict_second(second, row.second, builder.random());
             const uint32_t y = builder.input(std::move(second));
             builder.output(builder.node(row.op, binary_args(row, x, y, a.dtype, alpha), result));
             ErrorModel error_model = error_model_of(row.rule, row.ulps, alpha != 0 && alpha != 2 ? 1 : 0);
             if (alpha != 0) error_model.magnitude = twice_the_largest;
             Result<BuiltCase> built = builder.finish(std::move(error_model));
             if (built) built->widen_integers = row.gives == Gives::kReal;
             return built;
           }});
}

void add_rows(CaseList& out) {
  for (const BinaryRow& row : kBinary) {
    const bool has_alpha =
        std::string_view(row.op) == "aten.add.Tensor" || std::string_view(row.op) == "aten.sub.Tensor";
    for (const etb_dtype dtype : kAllDtypes) {
      if (!takes(row.takes, dtype)) continue;
      for (const ShapePair& pair : shape_pairs()) add_case(out, row, pair, dtype, Values::kStatistical, 0);
      for (const size_t index : {size_t{1}, size_t{4}, size_t{10}, size_t{13}})
        if (row.second == Second::kAny) add_case(out, row, shape_pairs()[index], dtype, Values::kExact, 0);
      if (row.has_special && row.second == Second::kAny && dtype != ETB_DTYPE_BOOL)
        add_case(out, row, {{25, 25}, {25, 25}}, dtype, Values::kSpecial, 0);
      if (!has_alpha) continue;
      add_case(out, row, shape_pairs()[3], dtype, Values::kExact, 2);
      if (is_floating(dtype)) add_case(out, row, shape_pairs()[3], dtype, Values::kStatistical, 0.5);
    }
  }
}

const ScalarRow kScalar[] = {
    {"aten.add.Scalar", Rule::kRounded, Gives::kSame, kTakesNumbers, "other", 3},
    {"aten.sub.Scalar", Rule::kRounded, Gives::kSame, kTakesNumbers, "other", 3},
    {"aten.rsub.Scalar", Rule::kRounded, Gives::kSame, kTakesNumbers, "other", 3},
    {"aten.mul.Scalar", Rule::kRounded, Gives::kSame, kTakesNumbers, "other", 3},
    {"aten.div.Scalar", Rule::kRounded, Gives::kReal, kTakesNumbers, "other", 3},
    {"aten.eq.Scalar", Rule::kExact, Gives::kBool, kTakesAll, "other", 1},
    {"aten.ne.Scalar", Rule::kExact, Gives::kBool, kTakesAll, "other", 1},
    {"aten.lt.Scalar", Rule::kExact, Gives::kBool, kTakesAll, "other", 1},
    {"aten.le.Scalar", Rule::kExact, Gives::kBool, kTakesAll, "other", 1},
    {"aten.gt.Scalar", Rule::kExact, Gives::kBool, kTakesAll, "other", 1},
    {"aten.ge.Scalar", Rule::kExact, Gives::kBool, kTakesAll, "other", 1},
    {"aten.bitwise_and.Scalar", Rule::kExact, Gives::kSame, kTakesInteger, "other", 5},
    {"aten.bitwise_or.Scalar", Rule::kExact, Gives::kSame, kTakesInteger, "other", 5},
    {"aten.bitwise_xor.Scalar", Rule::kExact, Gives::kSame, kTakesInteger, "other", 5},
    {"aten.fmod.Scalar", Rule::kExactValue, Gives::kSame, kTakesNumbers, "other", 3},
    {"aten.remainder.Scalar", Rule::kExact, Gives::kSame, kTakesInteger, "other", 3},
};

void add_scalar_rows(CaseList& out) {
  for (const ScalarRow& row : kScalar)
    for (const etb_dtype dtype : kAllDtypes) {
      if (!takes(row.takes, dtype)) continue;
      for (const Shape& shape : unary_shapes(dtype)) {
        const std::string name =
            name_of(row.op, dtype, shape_text(shape), Values::kStatistical, is_edge_shape(shape));
        out.add({name, row.op, dtype, [&row, shape](std::string_view full_name) {
                   CaseBuilder builder(full_name);
                   Shape result = shape;
                   result.dtype = result_dtype(row.gives, shape.dtype);
                   const uint32_t x = builder.input(shape, Values::kStatistical);
                   builder.output(
                       builder.node(row.op,
                                    {graph::value_arg(x, "self"),
                                     graph::int_arg(static_cast<int64_t>(row.value), row.argument)},
                                    result));
                   Result<BuiltCase> built = builder.finish(error_model_of(row.rule, kHalf));
                   if (built) built->widen_integers = row.gives == Gives::kReal;
                   return built;
                 }});
      }
    }
}

}  // namespace

std::span<const BinaryRow> binary_rows() { return kBinary; }
std::span<const ScalarRow> scalar_rows() { return kScalar; }

void restrict_second(TensorData& data, Second second, Random& random) {
  if (second == Second::kAny) return;
  for (int64_t i = 0; i < data.shape.numel(); ++i) {
    double value = load_element(data.shape.dtype, data.bytes.data(), i);
    if (second == Second::kShift)
      value = static_cast<double>(
          random.between(0, static_cast<int64_t>(element_nbytes(data.shape.dtype)) * 8 - 1));
    if (second == Second::kNotZero && value == 0) value = 3;
    if (second == Second::kPositive) value = std::abs(value) + 0.5;
    store_element(data.shape.dtype, data.bytes.data(), i, value);
  }
}

void add_binary(CaseList& out) {
  add_rows(out);
  add_scalar_rows(out);
}

}  // namespace etb::conformance
