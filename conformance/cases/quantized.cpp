// SPDX-License-Identifier: Apache-2.0
// Quantised arithmetic: codes are integers, so results are exact. Scales are powers of two, or values are far
// from ties. Then every correct implementation rounds the same real number.
#include <cmath>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/design_quantisation.hpp"
#include "conformance/cases/generators.hpp"

namespace etb::conformance {
namespace {

using graph::float_arg;
using graph::int_arg;
using graph::value_arg;

const CodeRange kRanges[] = {kInt8, kUint8, kWeightCodes, {ETB_DTYPE_INT16, -32768, 32767}};

std::string scale_text(double scale) {
  int exponent = 0;
  if (std::frexp(scale, &exponent) == 0.5)
    return exponent > 0 ? "2p" + std::to_string(exponent - 1) : "2m" + std::to_string(1 - exponent);
  return "0p05";
}

// Ties at .5 of both signs, values between codes, values far outside.
TensorData reals(const Shape& shape, double scale, bool has_ties, Random& random) {
  TensorData out{shape,
                 std::vector<std::byte>(static_cast<size_t>(shape.numel()) * element_nbytes(shape.dtype))};
  for (int64_t i = 0; i < shape.numel(); ++i) {
    const double code = static_cast<double>(random.between(-300, 300));
    const double part = has_ties && i % 2 == 0 ? 0.5 : 0.25;
    store_element(shape.dtype, out.bytes.data(), i, (code + part) * scale);
  }
  return out;
}

void add_quantize(CaseList& out, const CodeRange& codes, double scale, int64_t zero_point) {
  const bool is_power = scale_text(scale)[0] == '2';
  const std::string word = std::string(".f32.64.") + short_name(codes.dtype) + "_" +
                           std::to_string(codes.high) + (codes.low == -127 ? "_narrow" : "") + ".s" +
                           scale_text(scale) + ".z" +
                           (zero_point < 0 ? "m" + std::to_string(-zero_point) : std::to_string(zero_point));
  const Shape real{ETB_DTYPE_FLOAT32, {64}, {}}, code{codes.dtype, {64}, {}};
  out.add({"quant.quantize_per_tensor" + word + (is_power ? ".ties" : ".between"), kQuantise,
           ETB_DTYPE_FLOAT32, [=, &codes](std::string_view name) {
             CaseBuilder builder(name);
             const uint32_t x = builder.input(reals(real, scale, is_power, builder.random()));
             builder.output(builder.node(kQuantise, tensor_quant_args(x, scale, zero_point, codes), code));
             return builder.finish({});
           }});
  out.add({"quant.dequantize_per_tensor" + word + ".stat", kDequantise, codes.dtype,
           [=, &codes](std::string_view name) {
             CaseBuilder builder(name);
             const uint32_t x = builder.input(code, Values::kStatistical, codes.domain());
             builder.output(builder.node(kDequantise, tensor_quant_args(x, scale, zero_point, codes), real));
             ErrorModel error_model;
             error_model.rule = Rule::kRounded;
             error_model.ulps = is_power ? 0.5 : 1.5;  // the scale itself is rounded to float32
             return builder.finish(std::move(error_model));
           }});
}

// All codes are at one end of the range: the sum needs more bits than a code.
void add_saturating_sums(CaseList& out) {
  for (const etb_dtype dtype : {ETB_DTYPE_INT8, ETB_DTYPE_UINT8, ETB_DTYPE_INT16})
    for (const int64_t length : {int64_t{64}, int64_t{1024}, int64_t{4608}, int64_t{70000}})
      for (const bool is_high : {true, false}) {
        const std::string name = std::string("quant.sum_dim_intlist.") + short_name(dtype) + ".2x" +
                                 std::to_string(length) + (is_high ? ".high" : ".low");
        out.add({name, "aten.sum.dim_IntList", dtype, [=](std::string_view full_name) {
                   CaseBuilder builder(full_name);
                   const Shape shape{dtype, {2, length}, {}};
                   TensorData data{shape, std::vector<std::byte>(static_cast<size_t>(shape.numel()) *
                                                                 element_nbytes(dtype))};
                   for (int64_t i = 0; i < shape.numel(); ++i)
                     store_element(dtype, data.bytes.data(), i, is_high ? 1e9 : -1e9);
                   const uint32_t x = builder.input(std::move(data));
                   builder.output(builder.node(
                       "aten.sum.dim_IntList",
                       {value_arg(x, "self"), graph::ints_arg({1}, "dim"), graph::bool_arg(false, "keepdim")},
                       Shape{ETB_DTYPE_INT64, {2}, {}}));
                   return builder.finish({});
                 }});
      }
}

// ---- an op between codes: dequantise, compute on reals, quantise

struct Pattern {
  const char* word;
  double scale_a, scale_b, scale_out;
  int64_t zero_a, zero_b, zero_out;
};
const Pattern kPatterns[] = {
    {"plain", 0x1p-5, 0x1p-5, 0x1p-4, 0, 0, 0},   {"scales", 0x1p-3, 0x1p-6, 0x1p-5, 0, 0, 0},
    {"zeros", 0x1p-5, 0x1p-5, 0x1p-5, 3, -7, 11}, {"ends", 0x1p-4, 0x1p-4, 0x1p-4, -128, 127, -128},
    {"tiny", 0x1p-14, 0x1p-14, 0x1p-14, 0, 0, 0}, {"decimal", 0.013, 0.021, 0.043, 5, -3, 2},
    {"saturates", 0x1p0, 0x1p0, 0x1p-3, 0, 0, 0}, {"coarse", 0x1p-6, 0x1p-6, 0x1p2, 0, 0, 0},
};

uint32_t to_reals(CaseBuilder& builder, uint32_t x, double scale, int64_t zero, const Shape& real) {
  return builder.node(kDequantise, tensor_quant_args(x, scale, zero, kInt8), real);
}

// Adds the nodes of a case. With `is_reference` the codes stay reals, so that the judge knows how near to a
// tie each was.
uint32_t between_codes(CaseBuilder& builder, const std::string& op, const Pattern& p, const Shape& code,
                       const Shape& result, bool is_reference) {
  Shape real = code, real_result = result;
  real.dtype = real_result.dtype = ETB_DTYPE_FLOAT32;
  const bool is_product = op == "aten.mm.default", is_unary = op == "aten.relu.default";
  Shape second = code;
  if (is_product) second.sizes = {code.sizes[1], result.sizes[1]};
  Shape second_real = second;
  second_real.dtype = ETB_DTYPE_FLOAT32;
  const uint32_t a = builder.input(code, Values::kStatistical, {-128, 127});
  const uint32_t b = is_unary ? a : builder.input(second, Values::kStatistical, {-128, 127});
  std::vector<graph::ArgumentDesc> args = {
      value_arg(to_reals(builder, a, p.scale_a, p.zero_a, real), "self")};
  if (!is_unary)
    args.push_back(
        value_arg(to_reals(builder, b, p.scale_b, p.zero_b, second_real), is_product ? "mat2" : "other"));
  const uint32_t y = builder.node(op, args, real_result);
  const double scale = is_product ? p.scale_out * 32 : p.scale_out;
  if (!is_reference) return builder.node(kQuantise, tensor_quant_args(y, scale, p.zero_out, kInt8), result);
  const uint32_t scaled =
      builder.node("aten.div.Scalar", {value_arg(y, "self"), float_arg(scale, "other")}, real_result);
  const uint32_t moved =
      builder.node("aten.add.Scalar", {value_arg(scaled, "self"), int_arg(p.zero_out, "other")}, real_result);
  return builder.node("aten.clamp.default",
                      {value_arg(moved, "self"), int_arg(-128, "min"), int_arg(127, "max")}, real_result);
}

void add_patterns(CaseList& out) {
  for (const char* op : {"aten.add.Tensor", "aten.mul.Tensor", "aten.sub.Tensor", "aten.relu.default",
                         "aten.maximum.default", "aten.minimum.default", "aten.mm.default"})
    for (const Pattern& p : kPatterns)
      for (const std::vector<int64_t>& sizes :
           {std::vector<int64_t>{64}, {257}, {3, 17}, {8, 64}, {2, 3, 4, 5}}) {
        const bool is_product = std::string_view(op) == "aten.mm.default";
        if (is_product && sizes.size() != 2) continue;
        const Shape code{ETB_DTYPE_INT8, sizes, {}};
        const Shape result{ETB_DTYPE_INT8, is_product ? std::vector<int64_t>{sizes[0], 9} : sizes, {}};
        const std::string name = "quant" + op_word(op).substr(2) + ".i8." + shape_text(code) +
                                 ".between_codes." + p.word + ".stat";
        out.add({name, op, ETB_DTYPE_INT8, [=, &p](std::string_view full_name) -> Result<BuiltCase> {
                   CaseBuilder builder(full_name), parts(full_name);
                   builder.output(between_codes(builder, op, p, code, result, false));
                   parts.output(between_codes(parts, op, p, code, result, true));
                   ErrorModel error_model;
                   error_model.rule = Rule::kQuantized;
                   error_model.zero_point = p.zero_out;
                   ETB_ASSIGN(BuiltCase built, builder.finish(std::move(error_model)));
                   ETB_ASSIGN(BuiltCase reference, parts.finish({}));
                   built.reference_image = std::move(reference.image);
                   return built;
                 }});
      }
}

// Channels with separate scales; in some, zero points at the end of the range.
void add_per_channel(CaseList& out) {
  for (const int64_t axis : {int64_t{0}, int64_t{1}})
    for (const bool has_dead_channel : {false, true}) {
      const Shape code{ETB_DTYPE_INT8, {4, 6}, {}};
      const std::string name = std::string("quant.dequantize_per_channel.i8.4x6.axis") +
                               std::to_string(axis) + (has_dead_channel ? ".dead" : "") + ".stat";
      out.add(
          {name, "quantized_decomposed.dequantize_per_channel.default", ETB_DTYPE_INT8,
           [=](std::string_view full_name) {
             CaseBuilder builder(full_name);
             const int64_t count = code.sizes[static_cast<size_t>(axis)];
             TensorData scales{{ETB_DTYPE_FLOAT32, {count}, {}},
                               std::vector<std::byte>(static_cast<size_t>(count) * 4)},
                 zeros{{ETB_DTYPE_INT64, {count}, {}},
                       std::vector<std::byte>(static_cast<size_t>(count) * 8)};
             for (int64_t i = 0; i < count; ++i) {
               store_element(ETB_DTYPE_FLOAT32, scales.bytes.data(), i,
                             std::ldexp(1.0, static_cast<int>(i) - 6));
               store_element(ETB_DTYPE_INT64, zeros.bytes.data(), i, i == 1 ? -128.0 : i == 2 ? 127.0 : 0.0);
             }
             TensorData data = make_values(code, Values::kStatistical, {-128, 127}, 0, builder.random());
             if (has_dead_channel)  // all codes of one channel equal its zero point
               for (int64_t i = 0; i < code.numel(); ++i)
                 if ((axis == 0 ? i / 6 : i % 6) == 0) store_element(ETB_DTYPE_INT8, data.bytes.data(), i, 0);
             const uint32_t x = builder.input(std::move(data)), s = builder.constant(scales),
                            z = builder.constant(zeros);
             builder.output(
                 builder.node("quantized_decomposed.dequantize_per_channel.default",
                              {value_arg(x, "input"), value_arg(s, "scales"), value_arg(z, "zero_points"),
                               int_arg(axis, "axis"), int_arg(-128, "quant_min"), int_arg(127, "quant_max"),
                               graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, "dtype")},
                              Shape{ETB_DTYPE_FLOAT32, code.sizes, {}}));
             ErrorModel error_model;
             error_model.rule = Rule::kRounded;
             return builder.finish(std::move(error_model));
           }});
    }
}

}  // namespace

void add_quantized(CaseList& out) {
  for (const CodeRange& codes : kRanges)
    for (const double scale : {0x1p-14, 0x1p-7, 0.05, 0.5, 1.0, 0x1p3, 0x1p10})
      for (const int64_t zero_point : {codes.low, int64_t{0}, int64_t{3}, codes.high}) {
        if (zero_point == 0 && codes.low == 0) continue;
        add_quantize(out, codes, scale, zero_point);
      }
  add_saturating_sums(out);
  add_patterns(out);
  add_per_channel(out);
}

}  // namespace etb::conformance
