// SPDX-License-Identifier: Apache-2.0
// Codes whose scale and zero point are tensors, sums of codes, and the scales of tokens. The references are written here.
#include <algorithm>
#include <cmath>

#include "conformance/cases/design_quantisation.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {
namespace {

using graph::float_arg;
using graph::int_arg;
using graph::value_arg;

const std::vector<CodeRange> kRanges = {kInt8, kUint8, kWeightCodes, {ETB_DTYPE_INT8, -8, 7}};

struct TensorScale {
  bool is_dequantise = false, is_constant = false;
  CodeRange codes;
  Numbers sizes;
  etb_dtype scale_dtype = ETB_DTYPE_FLOAT64;
  double scale = 1, zero = 0;         // the zero point is a position in the range, from 0 to 1
  etb_dtype result = ETB_DTYPE_BOOL;  // the argument out_dtype; bool: none

  double zero_point() const {
    return static_cast<double>(codes.low) + std::round(zero * static_cast<double>(codes.high - codes.low));
  }
};

Operand one_number(etb_dtype dtype, double number, bool is_constant) {
  Operand out = constant_of({dtype, {1}, {}}, [number](int64_t) { return number; });
  out.is_constant = is_constant;
  return out;
}

// Reals a quarter above a code; powers of two make every second one a tie.
void fill_reals(const TensorScale& q, TensorData& data, Random& random) {
  data = filled(data.shape, [&](int64_t i) {
    const auto code = static_cast<double>(random.between(q.codes.low - 20, q.codes.high + 20));
    return (code - q.zero_point() + (is_power(q.scale) && i % 2 == 0 ? 0.5 : 0.25)) * q.scale;
  });
}

Elements convert(const TensorScale& q, const std::vector<TensorData>& operands) {
  const double scale = elements_of(operands[1])[0], zero = elements_of(operands[2])[0];
  Elements out = elements_of(operands[0]);
  for (double& element : out)
    element = q.is_dequantise
                  ? (element - zero) * scale
                  : std::clamp(std::nearbyint(element / scale) + zero, static_cast<double>(q.codes.low),
                               static_cast<double>(q.codes.high));
  return out;
}

OpForm tensor_scale_form(const TensorScale& q) {
  const Shape real{q.result == ETB_DTYPE_BOOL ? ETB_DTYPE_FLOAT32 : q.result, q.sizes, {}},
      codes{q.codes.dtype, q.sizes, {}};
  OpForm form;
  form.op = q.is_dequantise ? "quantized_decomposed.dequantize_per_tensor.tensor"
                            : "quantized_decomposed.quantize_per_tensor.tensor";
  form.group = "quant";
  form.operands = {{q.is_dequantise ? codes : real, Values::kStatistical, q.codes.domain()},
                   one_number(q.scale_dtype, q.scale, q.is_constant),
                   one_number(ETB_DTYPE_INT64, q.zero_point(), q.is_constant)};
  if (!q.is_dequantise)
    form.operands[0].fill = [q](TensorData& data, Random& random) { fill_reals(q, data, random); };
  form.args = {value_arg(0, "input"),
               value_arg(1, "scale"),
               value_arg(2, "zero_point"),
               int_arg(q.codes.low, "quant_min"),
               int_arg(q.codes.high, "quant_max"),
               graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, q.codes.dtype, "dtype")};
  if (q.is_dequantise && q.result != ETB_DTYPE_BOOL)
    form.args.push_back(graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, q.result, "out_dtype"));
  form.results = {q.is_dequantise ? real : codes};
  if (q.is_dequantise) form.error_model = rounded_model(1.5);  // the scale is rounded to float32, too
  form.word = "s" + real_text(q.scale) + "_z" + real_text(q.zero) + "_" + short_name(q.scale_dtype);
  compute_reference(form, {[q](const auto& operands) { return convert(q, operands); }});
  return form;
}

void add_tensor_scales(CaseList& out, bool is_dequantise) {
  TensorScale base;
  base.is_dequantise = is_dequantise;
  DesignOf<TensorScale> design(base);
  design.add(&TensorScale::codes, kRanges);
  design.add(&TensorScale::is_constant, {false, true});
  design.add(&TensorScale::sizes, {{7}, {}, {65}, {3, 17}, {2, 3, 4, 5}, {0, 3}});
  design.add(&TensorScale::scale_dtype, {ETB_DTYPE_FLOAT64, ETB_DTYPE_FLOAT32});
  design.add(&TensorScale::scale, {0x1p-7, 0.05, 1, 0x1p6});
  design.add(&TensorScale::zero, {0, 0.5, 1, 0.3});
  design.add(&TensorScale::result, is_dequantise
                                       ? std::vector<etb_dtype>{ETB_DTYPE_BOOL, ETB_DTYPE_BOOL,
                                                                ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16}
                                       : std::vector<etb_dtype>{ETB_DTYPE_BOOL});
  for (const TensorScale& q : design.rows(is_dequantise ? "dequantise, tensor" : "quantise, tensor"))
    add_form(out, is_dequantise ? q.codes.dtype : ETB_DTYPE_FLOAT32, tensor_scale_form(q));
}

// A sum of codes; zero points are positions in the range, from 0 to 1.
struct Sum {
  CodeRange codes;
  Numbers sizes;
  double a_scale = 1, b_scale = 1, result_scale = 1, a_zero = 0, b_zero = 0, result_zero = 0;

  int64_t zero_point(double part) const {
    return codes.low + std::llround(part * static_cast<double>(codes.high - codes.low));
  }
};

// Returns codes as reals: the judge sees how near to a tie each is.
Elements add_codes(const Sum& sum, const std::vector<TensorData>& operands) {
  const Elements b = elements_of(operands[1]);
  Elements out = elements_of(operands[0]);
  for (size_t i = 0; i < out.size(); ++i) {
    const double real = (out[i] - static_cast<double>(sum.zero_point(sum.a_zero))) * sum.a_scale +
                        (b[i] - static_cast<double>(sum.zero_point(sum.b_zero))) * sum.b_scale;
    out[i] = std::clamp(real / sum.result_scale + static_cast<double>(sum.zero_point(sum.result_zero)),
                        static_cast<double>(sum.codes.low), static_cast<double>(sum.codes.high));
  }
  return out;
}

OpForm sum_form(const Sum& sum) {
  const Shape shape{sum.codes.dtype, sum.sizes, {}};
  OpForm form;
  form.op = "quantized_decomposed.add.default";
  form.group = "quant";
  form.operands = {{shape, Values::kStatistical, sum.codes.domain()},
                   {shape, Values::kStatistical, sum.codes.domain()}};
  struct Side {
    std::string name;
    double scale, zero;
  };
  const Side sides[] = {{"a", sum.a_scale, sum.a_zero},
                        {"b", sum.b_scale, sum.b_zero},
                        {"out", sum.result_scale, sum.result_zero}};
  for (uint32_t i = 0; i < std::size(sides); ++i) {
    const std::string& name = sides[i].name;
    if (i < 2) form.args.push_back(value_arg(i, name));
    form.args.push_back(float_arg(sides[i].scale, name + "_scale"));
    form.args.push_back(int_arg(sum.zero_point(sides[i].zero), name + "_zero_point"));
    form.args.push_back(int_arg(sum.codes.low, name + "_quant_min"));
    form.args.push_back(int_arg(sum.codes.high, name + "_quant_max"));
  }
  form.results = {shape};
  form.error_model = code_model(sum.zero_point(sum.result_zero));
  compute_reference(form, {[sum](const auto& operands) { return add_codes(sum, operands); }}, true);
  return form;
}

void add_sums(CaseList& out) {
  DesignOf<Sum> design;
  design.add(&Sum::codes, kRanges);
  design.add(&Sum::sizes, {{65}, {}, {7}, {3, 17}, {2, 3, 4, 5}, {1031}, {0}});
  // Quotients of short decimals have many ties, which float32 rounds up or down.
  design.add(&Sum::a_scale, {0x1p-4, 0.05131, 0.011727});
  design.add(&Sum::b_scale, {0.029783, 0x1p-4, 0.210771});
  design.add(&Sum::result_scale, {0.072431, 0x1p-3, 0.403517});
  design.add(&Sum::a_zero, {0, 0.5, 1});
  design.add(&Sum::b_zero, {0.5, 0, 0.3});
  design.add(&Sum::result_zero, {0.5, 0.25, 0.7});
  size_t at = 0;
  for (const Sum& sum : design.rows("sums of codes")) {
    add_form(out, sum.codes.dtype, sum_form(sum));
    const auto maker = [sum](const Sizes& sizes) {
      Sum now = sum;
      now.sizes = sizes;
      return sum_form(now);
    };
    if (at++ % 3 == 0)
      add_dynamic_form(out, sum.codes.dtype, maker, sum.sizes, static_cast<Moving>(at / 3 % 5),
                       static_cast<Order>(at % 4));
  }
}

enum class Signs { kBoth, kPositive, kNegative, kZero };

// Rows whose extent is 255 powers of two, so that scales are exact and zero points are a quarter away from ties.
struct Tokens {
  Numbers sizes;
  Signs signs = Signs::kBoth;
  int exponent = 0;
};

struct Extent {
  double low, high;
};

// The extremes of a row of `width` elements.
Extent extent_of(const Tokens& tokens, int64_t row, double code) {
  const double unit = std::ldexp(1.0, tokens.exponent + static_cast<int>(row % 3));
  if (tokens.signs == Signs::kZero) return {0, 0};
  if (tokens.signs == Signs::kPositive) return {0, 255 * unit};
  if (tokens.signs == Signs::kNegative) return {-255 * unit, 0};
  return {-(code + 0.25) * unit, (254.75 - code) * unit};
}

void fill_tokens(const Tokens& tokens, TensorData& data, Random& random) {
  const int64_t width = tokens.sizes.back();
  Extent extent{};
  data = filled(data.shape, [&](int64_t i) {
    if (i % width == 0) extent = extent_of(tokens, i / width, static_cast<double>(random.between(1, 253)));
    // The extremes are the last two elements.
    if (i % width == width - 1) return extent.high;
    return i % width == width - 2 ? extent.low
                                  : extent.low + (extent.high - extent.low) * random.uniform() * 0.9;
  });
}

Elements choose(const Tokens& tokens, const TensorData& data, bool wants_zero_point) {
  const Elements in = elements_of(data);
  const auto width = static_cast<size_t>(tokens.sizes.back());
  Elements out;
  for (size_t begin = 0; begin < in.size(); begin += width) {
    const double low = std::min(0.0, *std::min_element(&in[begin], &in[begin] + width)),
                 high = std::max(0.0, *std::max_element(&in[begin], &in[begin] + width));
    const double scale = std::max((high - low) / 255, 0x1p-23);
    // From the end of the range with the smaller error; with an extent of 255 scales both give the same code.
    const double zero_point =
        (-128 + low / scale) + (127 + high / scale) > 0 ? -128 - low / scale : 127 - high / scale;
    out.push_back(wants_zero_point ? std::nearbyint(std::clamp(zero_point, -128.0, 127.0)) : scale);
  }
  return out;
}

OpForm tokens_form(const Tokens& tokens) {
  Numbers sizes = tokens.sizes;
  sizes.back() = 1;
  OpForm form;
  form.op = "quantized_decomposed.choose_qparams_per_token_asymmetric.default";
  form.group = "quant";
  form.operands = {{{ETB_DTYPE_FLOAT32, tokens.sizes, {}}}};
  form.operands[0].fill = [tokens](TensorData& data, Random& random) { fill_tokens(tokens, data, random); };
  form.args = {value_arg(0, "input"), graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, "dtype")};
  form.results = {{ETB_DTYPE_FLOAT64, sizes, {}}, {ETB_DTYPE_INT64, sizes, {}}};
  constexpr const char* kWords[] = {"both", "positive", "negative", "zero"};
  form.word = std::string(kWords[static_cast<size_t>(tokens.signs)]) + "_" + number_text(tokens.exponent);
  compute_reference(form, {[tokens](const auto& operands) { return choose(tokens, operands[0], false); },
                           [tokens](const auto& operands) { return choose(tokens, operands[0], true); }});
  return form;
}

void add_tokens(CaseList& out) {
  DesignOf<Tokens> design;
  design.add(&Tokens::sizes, {{3, 9}, {2}, {1, 65}, {2, 4, 6}, {5, 2}, {2, 1, 1031}});
  design.add(&Tokens::signs, {Signs::kBoth, Signs::kPositive, Signs::kNegative, Signs::kBoth, Signs::kZero});
  design.add(&Tokens::exponent, {-8, 0, -20, 5});
  size_t at = 0;
  for (const Tokens& tokens : design.rows("scales of tokens")) {
    add_form(out, ETB_DTYPE_FLOAT32, tokens_form(tokens));
    const auto maker = [tokens](const Sizes& sizes) {
      Tokens now = tokens;
      now.sizes = sizes;
      return tokens_form(now);
    };
    if (tokens.sizes.size() > 1)
      add_dynamic_form(out, ETB_DTYPE_FLOAT32, maker, tokens.sizes, Moving::kFirst,
                       static_cast<Order>(at++ % 3));
  }
}

}  // namespace

void add_quantised_number_designs(CaseList& out) {
  for (const bool is_dequantise : {false, true}) add_tensor_scales(out, is_dequantise);
  add_sums(out);
  add_tokens(out);
}

}  // namespace etb::conformance
