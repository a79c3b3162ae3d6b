// Quantised arithmetic: codes are integers, so results are exact. Scales are powers of two, or values lie away from ties, so that every correct
// implementation rounds the same real number.
#include <cmath>

#include "conformance/cases/generators.hpp"
#include "conformance/cases/maker.hpp"

namespace etb::conformance {
namespace {

using graph::float_arg;
using graph::int_arg;
using graph::value_arg;

struct Codes {
  etb_dtype dtype;
  int64_t low, high;
};
const Codes kCodes[] = {{ETB_DTYPE_INT8, -128, 127},
                        {ETB_DTYPE_UINT8, 0, 255},
                        {ETB_DTYPE_INT8, -127, 127},
                        {ETB_DTYPE_INT16, -32768, 32767}};

std::string scale_text(double scale) {
  int exponent = 0;
  if (std::frexp(scale, &exponent) == 0.5)
    return exponent > 0 ? "2p" + std::to_string(exponent - 1) : "2m" + std::to_string(1 - exponent);
  return "0p05";
}

std::vector<graph::ArgumentDraft> quant_args(uint32_t x, double scale, int64_t zero_point,
                                             const Codes& codes) {
  return {value_arg(x, "input"),
          float_arg(scale, "scale"),
          int_arg(zero_point, "zero_point"),
          int_arg(codes.low, "quant_min"),
          int_arg(codes.high, "quant_max"),
          graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, codes.dtype, "dtype")};
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

void add_quantize(CaseList& out, const Codes& codes, double scale, int64_t zero_point) {
  const bool is_power = scale_text(scale)[0] == '2';
  const std::string word = std::string(".f32.64.") + short_name(codes.dtype) + "_" +
                           std::to_string(codes.high) + (codes.low == -127 ? "_narrow" : "") + ".s" +
                           scale_text(scale) + ".z" +
                           (zero_point < 0 ? "m" + std::to_string(-zero_point) : std::to_string(zero_point));
  const Shape real{ETB_DTYPE_FLOAT32, {64}, {}}, code{codes.dtype, {64}, {}};
  out.add({"quant.quantize_per_tensor" + word + (is_power ? ".ties" : ".between"),
           "quantized_decomposed.quantize_per_tensor.default", ETB_DTYPE_FLOAT32,
           [=, &codes](std::string_view name) {
             Maker maker(name);
             const uint32_t x = maker.input(reals(real, scale, is_power, maker.random()));
             maker.output(maker.node("quantized_decomposed.quantize_per_tensor.default",
                                     quant_args(x, scale, zero_point, codes), code));
             return maker.finish({});
           }});
  out.add(
      {"quant.dequantize_per_tensor" + word + ".stat", "quantized_decomposed.dequantize_per_tensor.default",
       codes.dtype, [=, &codes](std::string_view name) {
         Maker maker(name);
         const uint32_t x = maker.input(code, Values::kStatistical,
                                        {static_cast<double>(codes.low), static_cast<double>(codes.high)});
         maker.output(maker.node("quantized_decomposed.dequantize_per_tensor.default",
                                 quant_args(x, scale, zero_point, codes), real));
         Judgement judgement;
         judgement.rule = Rule::kRounded;
         judgement.ulps = is_power ? 0.5 : 1.5;  // the scale itself is rounded to float32
         return maker.finish(std::move(judgement));
       }});
}

// All codes at their ends: the sum needs more bits than the codes have.
void add_saturating_sums(CaseList& out) {
  for (const etb_dtype dtype : {ETB_DTYPE_INT8, ETB_DTYPE_UINT8, ETB_DTYPE_INT16})
    for (const int64_t length : {int64_t{64}, int64_t{1024}, int64_t{4608}, int64_t{70000}})
      for (const bool is_high : {true, false}) {
        const std::string name = std::string("quant.sum_dim_intlist.") + short_name(dtype) + ".2x" +
                                 std::to_string(length) + (is_high ? ".high" : ".low");
        out.add({name, "aten.sum.dim_IntList", dtype, [=](std::string_view full_name) {
                   Maker maker(full_name);
                   const Shape shape{dtype, {2, length}, {}};
                   TensorData data{shape, std::vector<std::byte>(static_cast<size_t>(shape.numel()) *
                                                                 element_nbytes(dtype))};
                   for (int64_t i = 0; i < shape.numel(); ++i)
                     store_element(dtype, data.bytes.data(), i, is_high ? 1e9 : -1e9);
                   const uint32_t x = maker.input(std::move(data));
                   maker.output(maker.node(
                       "aten.sum.dim_IntList",
                       {value_arg(x, "self"), graph::ints_arg({1}, "dim"), graph::bool_arg(false, "keepdim")},
                       Shape{ETB_DTYPE_INT64, {2}, {}}));
                   return maker.finish({});
                 }});
      }
}

}  // namespace

void add_quantized(CaseList& out) {
  for (const Codes& codes : kCodes)
    for (const double scale : {0x1p-14, 0x1p-7, 0.05, 0.5, 1.0, 0x1p3, 0x1p10})
      for (const int64_t zero_point : {codes.low, int64_t{0}, int64_t{3}, codes.high}) {
        if (zero_point == 0 && codes.low == 0) continue;
        add_quantize(out, codes, scale, zero_point);
      }
  add_saturating_sums(out);
}

}  // namespace etb::conformance
