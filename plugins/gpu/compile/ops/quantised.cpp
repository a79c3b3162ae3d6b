// SPDX-License-Identifier: Apache-2.0
// Codes of constant weights. They stay codes on the device where a product or convolution reads them; other readers get
// floats, which are computed at load. Codes that are known only at run time are dequantised elsewhere.
#include <algorithm>

#include "plugins/gpu/compile/op.hpp"

namespace etb::gpu {

namespace {

bool is_number(uint32_t dtype) {
  static constexpr etb_dtype kNumbers[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_FLOAT64,
                                           ETB_DTYPE_INT8,    ETB_DTYPE_INT32,   ETB_DTYPE_INT64};
  return std::find(std::begin(kNumbers), std::end(kNumbers), static_cast<etb_dtype>(dtype)) !=
         std::end(kNumbers);
}

// Scales or zero points, `count` of them or one for all. Scales of float32 stay where they are.
Result<uint32_t> factors_value(LoweringContext& context, const char* name, uint64_t count) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor(name));
  ETB_ASSIGN(const Shape shape, context.bounds(value));
  if (shape.numel() != count)
    return reject("quant", std::string(name) + ": " + std::to_string(shape.numel()) + " numbers, expected " +
                               std::to_string(count));
  const uint32_t dtype = context.spec(value).dtype;
  if (!context.is_constant(value)) return reject("quant", std::string(name) + ": expected a constant");
  if (dtype == ETB_DTYPE_FLOAT32) return context.operand(value);
  if (!is_number(dtype))
    return reject("dtype", std::string(name) + ": " + dtype_text(static_cast<etb_dtype>(dtype)));
  ETB_ASSIGN(std::vector<float> numbers, context.read_floats(value));
  return context.add_floats(std::move(numbers));
}

// Zero points that are all 0 need no value.
Result<uint32_t> zero_points_value(LoweringContext& context, const char* name, uint64_t count) {
  if (!context.args().has(name)) return kNoValue;
  ETB_ASSIGN(const uint32_t made, factors_value(context, name, count));
  const GpuValue& value = context.graph().value(made);
  const bool are_zeros =
      value.role == ValueRole::kInline &&
      std::all_of(value.floats.begin(), value.floats.end(), [](float number) { return number == 0; });
  return are_zeros ? kNoValue : made;
}

// Returns the constant that a decoder reads.
Result<uint32_t> codes_of(const LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("input"));
  if (!context.is_constant(value))
    return reject("quant", "input: known only at run time, expected a constant");
  const uint32_t made = context.spec(context.result()).dtype;
  if (made != ETB_DTYPE_FLOAT32 && made != ETB_DTYPE_FLOAT16)
    return reject("dtype", "result, expected float32 or float16");
  return value;
}

// 4 if the arguments and all codes are within four bits; a claim has no codes.
Result<uint32_t> bits_of(const LoweringContext& context, uint32_t value) {
  ETB_ASSIGN(const double low, context.args().number("quant_min", -128));
  ETB_ASSIGN(const double high, context.args().number("quant_max", 127));
  if (low < -8 || high > 7) return 8u;
  ETB_ASSIGN(const std::vector<float> numbers, context.read_floats(value));
  return std::all_of(numbers.begin(), numbers.end(), [](float code) { return code >= -8 && code <= 7; }) ? 4u
                                                                                                         : 8u;
}

Status lower_per_tensor(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, codes_of(context));
  Codes codes;
  ETB_ASSIGN(codes.bits, bits_of(context, value));
  if (context.spec(value).rank == 0) return reject("rank", "input: rank 0");
  ETB_ASSIGN(const double scale, context.args().number("scale", 1));
  ETB_ASSIGN(const double zero_point, context.args().number("zero_point", 0));
  codes.scales = context.add_floats({static_cast<float>(scale)}, true);
  codes.zero_points = context.add_floats({static_cast<float>(zero_point)}, true);
  return context.define_codes(value, codes);
}

Status lower_per_channel(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, codes_of(context));
  ETB_ASSIGN(const Shape shape, context.bounds(value));
  Codes codes;
  ETB_ASSIGN(codes.bits, bits_of(context, value));
  ETB_ASSIGN(codes.axis, context.args().dim("axis", 0, shape.rank));
  if (shape.rank == 0) return reject("rank", "input: rank 0");
  const uint64_t count = shape.sizes[codes.axis];
  ETB_ASSIGN(codes.scales, factors_value(context, "scales", count));
  ETB_ASSIGN(codes.zero_points, zero_points_value(context, "zero_points", count));
  return context.define_codes(value, codes);
}

// Adds the scales of a matrix [outputs, inputs] by groups of a row.
Status define_groups(LoweringContext& context, uint32_t value, int64_t group, const char* scales,
                     const char* zero_points) {
  ETB_ASSIGN(const Shape shape, context.bounds(value));
  if (shape.rank != 2 || group < 1 || shape.sizes[1] % group != 0)
    return reject("quant",
                  "groups of " + std::to_string(group) + ", expected a divisor of a row of a matrix");
  Codes codes;
  ETB_ASSIGN(codes.bits, bits_of(context, value));
  codes.group = group == shape.sizes[1] ? 0 : static_cast<uint32_t>(group);
  const uint64_t count = shape.sizes[0] * (shape.sizes[1] / static_cast<uint64_t>(group));
  ETB_ASSIGN(codes.scales, factors_value(context, scales, count));
  ETB_ASSIGN(codes.zero_points, zero_points_value(context, zero_points, count));
  return context.define_codes(value, codes);
}

Status lower_per_channel_group(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, codes_of(context));
  ETB_ASSIGN(const int64_t group, context.args().integer("group_size", 0));
  return define_groups(context, value, group, "scales", "zero_points");
}

// A block is the whole tensor, one element of a dimension, or a part of a row.
Status lower_affine(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, codes_of(context));
  ETB_ASSIGN(const Shape shape, context.bounds(value));
  ETB_ASSIGN(const std::vector<int64_t> block, context.args().integers("block_size"));
  if (block.size() != shape.rank || shape.rank == 0)
    return reject("quant", "block_size, expected a number for each dimension");
  uint32_t axis = 0, partial = 0, single = 0;
  for (uint32_t d = 0; d < shape.rank; ++d) {
    if (block[d] == int64_t{shape.sizes[d]}) continue;
    axis = block[d] == 1 ? d : axis;
    ++(block[d] == 1 ? single : partial);
  }
  if (partial != 0 || (single == 2 && shape.rank == 2)) {
    if (block[0] != 1) return reject("quant", "block_size, expected parts of single rows");
    return define_groups(context, value, block[1], "scale", "zero_point");
  }
  if (single > 1) return reject("quant", "block_size, expected single elements of one dimension");
  Codes codes;
  ETB_ASSIGN(codes.bits, bits_of(context, value));
  codes.axis = axis;
  const uint64_t count = single == 0 ? 1 : shape.sizes[axis];
  ETB_ASSIGN(codes.scales, factors_value(context, "scale", count));
  ETB_ASSIGN(codes.zero_points, zero_points_value(context, "zero_point", count));
  return context.define_codes(value, codes);
}

constexpr const char* kConstraint = "Of a constant.";
constexpr Op kRows[] = {
    {"quantized_decomposed.dequantize_per_tensor.default", lower_per_tensor, 1, kMaxRank, kConstraint, false,
     kInt8Only, true},
    {"quantized_decomposed.dequantize_per_channel.default", lower_per_channel, 1, kMaxRank, kConstraint,
     false, kInt8Only, true},
    {"quantized_decomposed.dequantize_per_channel_group.default", lower_per_channel_group, 2, 2,
     "Of a constant; groups divide a row.", false, kInt8Only, true},
    {"torchao.dequantize_affine.default", lower_affine, 1, kMaxRank,
     "Of a constant; blocks are the whole tensor, single elements of one dimension, or equal parts of a "
     "matrix's rows.",
     false, kInt8Only, true},
};

}  // namespace

extern const OpList quantised_ops = kRows;

}  // namespace etb::gpu
