// SPDX-License-Identifier: Apache-2.0
// Quantisation itself: per tensor, per channel along each axis, and per token, of all ranks and sizes.
#include "conformance/cases/design_quantisation.hpp"

#include <cmath>

#include "conformance/cases/designs.hpp"

namespace etb::conformance {

using graph::float_arg;
using graph::int_arg;
using graph::value_arg;

std::vector<graph::ArgumentDesc> tensor_quant_args(uint32_t x, double scale, int64_t zero_point,
                                                   const CodeRange& codes) {
  return {value_arg(x, "input"),
          float_arg(scale, "scale"),
          int_arg(zero_point, "zero_point"),
          int_arg(codes.low, "quant_min"),
          int_arg(codes.high, "quant_max"),
          graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, codes.dtype, "dtype")};
}

std::vector<graph::ArgumentDesc> channel_quant_args(uint32_t x, uint32_t scales, uint32_t zeros, int64_t axis,
                                                    const CodeRange& codes) {
  return {value_arg(x, "input"),
          value_arg(scales, "scales"),
          value_arg(zeros, "zero_points"),
          int_arg(axis, "axis"),
          int_arg(codes.low, "quant_min"),
          int_arg(codes.high, "quant_max"),
          graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, codes.dtype, "dtype")};
}

bool is_power(double scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5;
}

uint32_t add_real_codes(FormNodes& nodes, uint32_t y, double scale, int64_t zero_point,
                        const CodeRange& codes, const Shape& real) {
  const uint32_t scaled =
      nodes.add("aten.div.Scalar", {value_arg(y, "self"), float_arg(scale, "other")}, real);
  const uint32_t moved =
      nodes.add("aten.add.Scalar", {value_arg(scaled, "self"), int_arg(zero_point, "other")}, real);
  return nodes.add("aten.clamp.default",
                   {value_arg(moved, "self"), int_arg(codes.low, "min"), int_arg(codes.high, "max")}, real);
}

namespace {

const std::vector<CodeRange> kRanges = {
    kInt8, kInt8, kUint8, kWeightCodes, {ETB_DTYPE_INT8, -8, 7}, {ETB_DTYPE_INT16, -32768, 32767}};

// Codes from a little below the range to a little above it. Where the scale is exact, every second number is a
// tie; elsewhere numbers are far from one.
double real_of(const CodeRange& codes, double scale, int64_t zero_point, int64_t index, Random& random) {
  const auto code = static_cast<double>(random.between(codes.low - 20, codes.high + 20) - zero_point);
  return (code + (is_power(scale) && index % 2 == 0 ? 0.5 : 0.25)) * scale;
}

// Number of scales and zero points: one, one for each element of a dimension, or one a row.
enum class By { kTensor, kChannel, kToken };

struct Quantise {
  By by = By::kTensor;
  bool is_dequantise = false;
  CodeRange codes;
  Shape shape;
  int64_t axis = 0;  // only for kChannel
  double scale = 1;
  double zero = 0;  // position in the range, from 0 to 1

  int64_t channel_of(int64_t index) const {
    if (by == By::kTensor) return 0;
    if (by == By::kToken) return index / shape.sizes.back();
    int64_t inner = 1;
    for (size_t d = static_cast<size_t>(axis) + 1; d < shape.sizes.size(); ++d) inner *= shape.sizes[d];
    return index / inner % shape.sizes[static_cast<size_t>(axis)];
  }
  // Neighbours differ by factors, and one channel is tiny.
  double scale_of(int64_t channel) const {
    if (by == By::kTensor) return scale;
    return channel == 1 ? 0x1p-14 : scale * std::ldexp(1.0, -static_cast<int>(channel % 5));
  }
  int64_t zero_of(int64_t channel) const {
    const double part = by == By::kTensor ? zero : zero * static_cast<double>(channel % 3) / 2;
    return codes.low + static_cast<int64_t>(std::lround(part * static_cast<double>(codes.high - codes.low)));
  }
  const char* op() const {
    constexpr const char* kOps[3][2] = {{"quantized_decomposed.quantize_per_tensor.default",
                                         "quantized_decomposed.dequantize_per_tensor.default"},
                                        {"quantized_decomposed.quantize_per_channel.default",
                                         "quantized_decomposed.dequantize_per_channel.default"},
                                        {"quantized_decomposed.quantize_per_token.default",
                                         "quantized_decomposed.dequantize_per_token.default"}};
    return kOps[static_cast<size_t>(by)][is_dequantise ? 1 : 0];
  }
};

int64_t channel_count(const Quantise& q) {
  if (q.by == By::kChannel) return q.shape.sizes[static_cast<size_t>(q.axis)];
  int64_t count = 1;  // rows, also of no element
  for (size_t d = 0; d + 1 < q.shape.sizes.size(); ++d) count *= q.shape.sizes[d];
  return count;
}

void add_quantise_args(const Quantise& q, OpForm& form) {
  if (q.by == By::kTensor) {
    form.args = tensor_quant_args(0, q.scale, q.zero_of(0), q.codes);
    return;
  }
  Numbers sizes = {channel_count(q)};
  if (q.by == By::kToken) {
    sizes = q.shape.sizes;
    sizes.back() = 1;
  }
  form.operands.push_back(
      constant_of({ETB_DTYPE_FLOAT32, sizes, {}}, [q](int64_t i) { return q.scale_of(i); }));
  form.operands.push_back(constant_of({ETB_DTYPE_INT64, sizes, {}},
                                      [q](int64_t i) { return static_cast<double>(q.zero_of(i)); }));
  form.args = channel_quant_args(0, 1, 2, q.axis, q.codes);
  if (q.by == By::kToken) form.args.erase(form.args.begin() + 3);  // tokens have no axis
  if (q.by == By::kToken && q.is_dequantise)
    form.args.push_back(graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_FLOAT32, "output_dtype"));
}

OpForm quantise_form(const Quantise& q) {
  Shape real = q.shape, codes = q.shape;
  real.dtype = ETB_DTYPE_FLOAT32;
  codes.dtype = q.codes.dtype;
  OpForm form;
  form.op = q.op();
  form.group = "quant";
  form.results = {q.is_dequantise ? real : codes};
  if (q.is_dequantise) {
    form.operands = {{codes, Values::kStatistical, q.codes.domain()}};
    form.error_model = rounded_model(is_power(q.scale) ? 0.5 : 1.5);  // the scale is rounded to float32, too
  } else {
    form.operands = {{real}};
    form.operands[0].fill = [q](TensorData& data, Random& random) {
      data = filled(data.shape, [&](int64_t i) {
        const int64_t channel = q.channel_of(i);
        return real_of(q.codes, q.scale_of(channel), q.zero_of(channel), i, random);
      });
    };
  }
  add_quantise_args(q, form);
  if (q.by != By::kTensor) form.word = "s" + real_text(q.scale) + "_z" + real_text(q.zero);
  return form;
}

// Adds the case, and for some rows a dynamic one. Parameters that are constants keep their size.
void add_row(CaseList& out, const Quantise& q, size_t at) {
  const etb_dtype dtype = q.is_dequantise ? q.codes.dtype : ETB_DTYPE_FLOAT32;
  add_form(out, dtype, quantise_form(q));
  const auto maker = [q](const Sizes& sizes) {
    Quantise now = q;
    now.shape.sizes = sizes;
    return quantise_form(now);
  };
  if (at % 3 == 0)
    add_dynamic_form(out, dtype, maker, q.shape.sizes, static_cast<Moving>(at / 3 % 5),
                     static_cast<Order>(at % 4));
}

void add_per_tensor(CaseList& out, bool is_dequantise) {
  struct Row : Quantise {
    bool is_last = false;
  };
  Row base;
  base.is_dequantise = is_dequantise;
  DesignOf<Row> design(base);
  design.add(&Row::codes, kRanges);
  design.add([](Row& q) -> Sizes& { return q.shape.sizes; },
             {{1}, {7}, {63}, {65}, {3, 17}, {1031}, {2, 3, 4, 5}, {4, 33}, {1, 8, 5, 7}, {2, 1, 3, 2, 5}});
  design.add(&Row::scale, {0x1p-14, 0x1p-7, 0.05, 1, 0.3, 0x1p10, 0.0117});
  design.add(&Row::zero, {0, 0.5, 1, 0.3});
  design.add(&Row::is_last, {false, true});
  size_t at = 0;
  for (Row q : design.rows(is_dequantise ? "dequantise" : "quantise")) {
    if (q.is_last && q.shape.sizes.size() == 4) q.shape.dim_order = channels_last(4);
    add_row(out, q, at++);
  }
}

void add_per_part(CaseList& out, By by, bool is_dequantise) {
  Quantise base;
  base.by = by;
  base.is_dequantise = is_dequantise;
  DesignOf<Quantise> design(base);
  design.add(&Quantise::codes, kRanges);
  design.add([](Quantise& q) -> Sizes& { return q.shape.sizes; },
             {{4, 6}, {3, 17, 5}, {5, 2, 3, 4}, {33, 9}, {1, 7}, {9}});
  design.add(&Quantise::axis, by == By::kChannel ? Numbers{0, 1, 2, 3} : Numbers{0});
  design.add(&Quantise::scale, {0x1p-5, 0.05, 0x1p3, 0.0117});
  design.add(&Quantise::zero, {0, 1, 0.5});
  const auto has_axis = [](const Quantise& q) { return q.axis < static_cast<int64_t>(q.shape.sizes.size()); };
  size_t at = 0;
  const std::string seed =
      std::string(by == By::kChannel ? "channels" : "tokens") + (is_dequantise ? ", real" : "");
  for (const Quantise& q : design.rows(seed, has_axis)) add_row(out, q, at++);
}

}  // namespace

void add_quantised_designs(CaseList& out) {
  for (const bool is_dequantise : {false, true}) {
    add_per_tensor(out, is_dequantise);
    add_per_part(out, By::kChannel, is_dequantise);
    add_per_part(out, By::kToken, is_dequantise);
  }
}

}  // namespace etb::conformance
