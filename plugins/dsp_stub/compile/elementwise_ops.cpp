// SPDX-License-Identifier: Apache-2.0
// Arithmetic between codes, softmax, cat, and functions of one element.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "plugins/dsp_stub/compile/lowering.hpp"

namespace etb::dsp_stub {

namespace {

// ---- two operands

// Returns an operand in the sizes and order of the result. Repeats dimensions of one element.
Result<Codes> spread(PatternLowering& lowering, Codes codes, const std::vector<int64_t>& sizes,
                     const std::vector<uint32_t>& order) {
  const size_t missing = sizes.size() - codes.sizes.size();
  codes.sizes.insert(codes.sizes.begin(), missing, 1);
  std::vector<uint32_t> own = row_major(missing);
  for (const uint32_t d : codes.order) own.push_back(d + static_cast<uint32_t>(missing));
  codes.order = own;
  if (codes.sizes == sizes) return lowering.builder().reorder(codes, order);
  for (size_t i = 0; i < sizes.size(); ++i)
    if (codes.sizes[i] != sizes[i] && codes.sizes[i] != 1)
      return reject("attribute", "operands that do not broadcast");
  Codes out = lowering.builder().add_codes(sizes, order, codes.params);
  lowering.builder().copy_into(codes, out, {});
  return out;
}

// The larger of both multipliers has 31 bits; the other one has the same shift.
Status set_scales(uint32_t op, double a, double b, Layer& layer) {
  const Multiplier larger = to_multiplier(std::max(std::fabs(a), std::fabs(b)));
  layer.shift = larger.shift;
  if (op == DSP_BINARY_MULTIPLY) {
    layer.multipliers = {to_multiplier(a, larger.shift), 0};
  } else {
    layer.multipliers = {to_multiplier(a, larger.shift), to_multiplier(b, larger.shift)};
  }
  return {};
}

Status lower_binary(PatternLowering& lowering, const Node& node, uint32_t op, double sign) {
  const Arguments args(node);
  ETB_ASSIGN(const double alpha, args.number("alpha", 1));
  ETB_ASSIGN(Codes a, lowering.operand(0));
  ETB_ASSIGN(Codes b, lowering.operand(1));
  const std::vector<int64_t> sizes = lowering.result_sizes();
  if (a.sizes.size() > sizes.size() || b.sizes.size() > sizes.size()) return reject("rank", "operands");
  const std::vector<uint32_t> order = a.sizes == sizes   ? a.order
                                      : b.sizes == sizes ? b.order
                                                         : row_major(sizes.size());
  ETB_ASSIGN(a, spread(lowering, std::move(a), sizes, order));
  ETB_ASSIGN(b, spread(lowering, std::move(b), sizes, order));
  const Params& result = lowering.result();
  const Codes output = lowering.builder().add_codes(sizes, order, result);
  Layer layer{
      .kind = Layer::Kind::kBinary, .op = op, .inputs = {a.buffer, b.buffer}, .output = output.buffer};
  layer.count = static_cast<uint64_t>(output.numel());
  layer.in_zeros = {a.params.zero, b.params.zero};
  layer.out_zero = result.zero;
  layer.low = result.low;
  layer.high = result.high;
  if (op == DSP_BINARY_MULTIPLY) {
    const double scale = a.params.scale * b.params.scale / result.scale;
    ETB_TRY(set_scales(op, scale, scale, layer));
  } else {
    ETB_TRY(
        set_scales(op, a.params.scale / result.scale, sign * alpha * b.params.scale / result.scale, layer));
  }
  lowering.builder().add_layer(std::move(layer));
  lowering.finish(output);
  return {};
}

Status lower_add(PatternLowering& lowering, const Node& node) {
  return lower_binary(lowering, node, DSP_BINARY_ADD, 1);
}
Status lower_sub(PatternLowering& lowering, const Node& node) {
  return lower_binary(lowering, node, DSP_BINARY_ADD, -1);
}
Status lower_mul(PatternLowering& lowering, const Node& node) {
  return lower_binary(lowering, node, DSP_BINARY_MULTIPLY, 1);
}
Status lower_maximum(PatternLowering& lowering, const Node& node) {
  return lower_binary(lowering, node, DSP_BINARY_MAXIMUM, 1);
}
Status lower_minimum(PatternLowering& lowering, const Node& node) {
  return lower_binary(lowering, node, DSP_BINARY_MINIMUM, 1);
}

// ---- softmax

// Appends 256 numbers: exp(-step * i), as multiples of 1 / one.
void append_exponentials(double step, uint32_t one, std::vector<uint32_t>& out) {
  for (int i = 0; i < 256; ++i)
    out.push_back(static_cast<uint32_t>(std::nearbyint(std::exp(-step * i) * one)));
}

Status lower_softmax(PatternLowering& lowering, const Node& node) {
  ETB_ASSIGN(Codes input, lowering.operand(0));
  const size_t rank = input.sizes.size();
  if (rank == 0) return reject("rank", "rank 0, expected at least 1");
  ETB_ASSIGN(const uint32_t dim, Arguments(node).dim("dim", -1, static_cast<uint32_t>(rank)));
  const Params& result = lowering.result();
  const bool is_wide = input.params.width == 2 || result.width == 2;
  if (!result.is_whole()) return reject("quant", "limits of the result, expected all codes of its type");
  if (input.sizes[dim] > DSP_MAX_COLUMNS) return reject("attribute", "more than 65536 elements in a row");
  const double inverse = (is_wide ? 256 : 65536) / result.scale;
  if (inverse > DSP_SOFTMAX_MAX_INVERSE || inverse < 64)
    return reject("quant",
                  std::string("scale of the result, expected ") + (is_wide ? "2^-22 to 4" : "2^-14 to 1024"));
  std::vector<uint32_t> order;
  for (const uint32_t d : input.order)
    if (d != dim) order.push_back(d);
  order.push_back(dim);
  input = lowering.builder().reorder(input, order);
  const Codes output = lowering.builder().add_codes(input.sizes, order, result);
  std::vector<uint32_t> table;
  if (is_wide) {
    append_exponentials(256 * input.params.scale, DSP_SOFTMAX_WIDE_ONE, table);
    append_exponentials(input.params.scale, DSP_SOFTMAX_WIDE_ONE, table);
  } else {
    append_exponentials(input.params.scale, DSP_SOFTMAX_ONE, table);
  }
  Layer layer{.kind = Layer::Kind::kSoftmax, .inputs = {input.buffer, kNoBuffer}, .output = output.buffer};
  layer.columns = input.size(dim);
  layer.rows = static_cast<uint32_t>(input.numel() / input.sizes[dim]);
  if (layer.rows > DSP_MAX_EXTENT) return reject("attribute", "more rows than the device has");
  layer.multipliers[0] = static_cast<int32_t>(std::nearbyint(inverse));
  layer.out_zero = result.zero;
  layer.tables = lowering.builder().add_constant(std::as_bytes(std::span(table)));
  lowering.builder().add_layer(std::move(layer));
  lowering.finish(output);
  return {};
}

// ---- cat

// Brings codes to the scale of the result.
Result<Codes> rescaled(PatternLowering& lowering, const Codes& codes) {
  const Params& result = lowering.result();
  if (codes.params.has_codes_of(result) && result.is_whole()) return codes;
  return map_codes(lowering.builder(), codes, Functions(lowering.facts(), {}), result);
}

Status lower_cat(PatternLowering& lowering, const Node& node) {
  const std::vector<int64_t> sizes = lowering.result_sizes();
  ETB_ASSIGN(const uint32_t dim, Arguments(node).dim("dim", 0, static_cast<uint32_t>(sizes.size())));
  std::vector<Codes> parts;
  for (size_t i = 0; i < lowering.operand_count(); ++i) {
    ETB_ASSIGN(const Codes codes, lowering.operand(i));
    if (codes.sizes.size() != sizes.size()) return reject("rank", "operands of different ranks");
    ETB_ASSIGN(Codes part, rescaled(lowering, codes));
    parts.push_back(std::move(part));
  }
  const Codes output = lowering.builder().add_codes(sizes, parts[0].order, lowering.result());
  std::vector<int64_t> begins(sizes.size());
  for (const Codes& part : parts) {
    lowering.builder().copy_into(part, output, begins);
    begins[dim] += part.sizes[dim];
  }
  if (begins[dim] != sizes[dim]) return reject("attribute", "sizes of the operands");
  lowering.finish(output);
  return {};
}

constexpr CoreOp kOps[] = {
    {"aten.add.Tensor", {"self", "other"}, lower_add},
    {"aten.sub.Tensor", {"self", "other"}, lower_sub},
    {"aten.mul.Tensor", {"self", "other"}, lower_mul},
    {"aten.maximum.default", {"self", "other"}, lower_maximum},
    {"aten.minimum.default", {"self", "other"}, lower_minimum},
    {"aten._softmax.default", {"self"}, lower_softmax},
    {"aten.cat.default", {}, lower_cat, nullptr, true},
};

// ---- functions of one element

double number_of(const Arguments& args, const char* name, double otherwise) {
  const auto number = args.number(name, otherwise);
  return number ? *number : otherwise;
}
float limited(float x, double low, double high) {
  return std::min(std::max(x, static_cast<float>(low)), static_cast<float>(high));
}

constexpr UnaryOp kUnary[] = {
    {"aten.relu.default", [](float x, const Arguments&) { return std::max(x, 0.0f); }, true},
    {"aten.relu6.default", [](float x, const Arguments&) { return limited(x, 0, 6); }, true},
    {"aten.hardtanh.default",
     [](float x, const Arguments& a) {
       return limited(x, number_of(a, "min_val", -1), number_of(a, "max_val", 1));
     },
     true},
    {"aten.clamp.default",
     [](float x, const Arguments& a) {
       return limited(x, number_of(a, "min", -HUGE_VAL), number_of(a, "max", HUGE_VAL));
     },
     true},
    {"aten.sigmoid.default",
     [](float x, const Arguments&) { return static_cast<float>(1 / (1 + std::exp(-double{x}))); }},
    {"aten.tanh.default", [](float x, const Arguments&) { return static_cast<float>(std::tanh(double{x})); }},
    {"aten.hardswish.default", [](float x, const Arguments&) { return x * limited(x + 3, 0, 6) / 6; }},
    {"aten.hardsigmoid.default", [](float x, const Arguments&) { return limited(x + 3, 0, 6) / 6; }},
    {"aten.silu.default",
     [](float x, const Arguments&) { return static_cast<float>(x / (1 + std::exp(-double{x}))); }},
    {"aten.leaky_relu.default",
     [](float x, const Arguments& a) {
       return x > 0 ? x : x * static_cast<float>(number_of(a, "negative_slope", 0.01));
     }},
    {"aten.exp.default", [](float x, const Arguments&) { return static_cast<float>(std::exp(double{x})); }},
    {"aten.abs.default", [](float x, const Arguments&) { return std::fabs(x); }},
    {"aten.neg.default", [](float x, const Arguments&) { return -x; }},
    {"aten.mul.Scalar",
     [](float x, const Arguments& a) { return x * static_cast<float>(number_of(a, "other", 1)); }},
    {"aten.add.Scalar",
     [](float x, const Arguments& a) {
       return x + static_cast<float>(number_of(a, "alpha", 1) * number_of(a, "other", 0));
     }},
    {"aten.sub.Scalar",
     [](float x, const Arguments& a) {
       return x - static_cast<float>(number_of(a, "alpha", 1) * number_of(a, "other", 0));
     }},
    {"aten.div.Scalar",
     [](float x, const Arguments& a) { return x / static_cast<float>(number_of(a, "other", 1)); }},
};

}  // namespace

std::span<const CoreOp> elementwise_ops() { return kOps; }
std::span<const UnaryOp> unary_ops() { return kUnary; }

}  // namespace etb::dsp_stub
