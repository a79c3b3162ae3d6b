// SPDX-License-Identifier: Apache-2.0
// Quantisation as torchao writes it (8da4w and similar): int8 rows at run time times constant weights of int8
// or 4 bits, scaled by row or group.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

struct Range {
  int64_t low, high;
  bool operator==(const Range&) const = default;
};
constexpr Range kInt8 = {-128, 127}, kInt8Symmetric = {-127, 127}, kFourBits = {-8, 7};

Result<Range> read_range(const Lowering& l) {
  ETB_ASSIGN(const int64_t low, l.integer("quant_min", -128));
  ETB_ASSIGN(const int64_t high, l.integer("quant_max", 127));
  return Range{low, high};
}

// Checks for a block that spans the last dimension only: one scale per row.
Status check_rows(const Lowering& l, uint32_t value) {
  ETB_ASSIGN(const std::vector<int64_t> block, l.integers("block_size", {}));
  const std::vector<int64_t> sizes = l.sizes(value);
  bool is_row = !sizes.empty() && block.size() == sizes.size() && block.back() == sizes.back();
  for (size_t d = 0; is_row && d + 1 < block.size(); ++d) is_row = block[d] == 1;
  ETB_ASSIGN(const Range range, read_range(l));
  if (!is_row || !(range == kInt8))
    return Lowering::refuse("quant", "at run time, expected int8 with a scale a row");
  return {};
}

Status pass_on(Lowering& l, uint32_t source) {
  ETB_ASSIGN(const uint32_t input, l.value("input"));
  if (l.dynamic_source(input).value_or(input) != source)
    return Lowering::refuse("quant", "scale: of another tensor");
  ETB_TRY(check_rows(l, source));
  l.define_dynamic(l.result(), source);
  return {};
}

// Reads the scales of a constant. Returns ones for a claim, which has no bytes.
Result<std::vector<float>> read_scales(Lowering& l, size_t count) {
  ETB_ASSIGN(const uint32_t scales, l.value("scale"));
  ETB_ASSIGN(const ConstantPtr steps, l.constant(scales, "scale"));
  std::vector<float> values(count, 1);
  if (static_cast<size_t>(numel_of(steps->sizes)) != count)
    return Lowering::refuse("quant", "scale: ", numel_of(steps->sizes), " numbers, expected ", count);
  if (l.is_claiming()) return values;
  if (l.has("zero_point")) {
    ETB_ASSIGN(const uint32_t found, l.value("zero_point"));
    ETB_ASSIGN(const ConstantPtr zero_points, l.constant(found, "zero_point"));
    ETB_ASSIGN(const std::vector<float> numbers, read_floats(*zero_points));
    for (const float number : numbers)
      if (number != 0) return Lowering::refuse("quant", "zero_point: ", number, ", expected 0");
  }
  return read_floats(*steps);
}

// Lowers a weight [outputs, inputs] with one scale for each group of inputs.
Status lower_weight(Lowering& l, uint32_t input) {
  constexpr int64_t kGroupUnit = 32;  // XNNPACK's unit
  ETB_ASSIGN(const ConstantPtr constant, l.constant(input, "input"));
  ETB_ASSIGN(const std::vector<int64_t> block, l.integers("block_size", {}));
  ETB_ASSIGN(const Range range, read_range(l));
  const std::vector<int64_t> sizes = l.sizes(input);
  if (sizes.size() != 2 || block.size() != 2 || block[0] != 1 || block[1] < 1 || sizes[1] % block[1] != 0)
    return Lowering::refuse("quant", "block_size, expected [1, a divisor of the inputs]");
  const bool is_by_row = block[1] == sizes[1];
  if (!(range == kFourBits) && !((range == kInt8 || range == kInt8Symmetric) && is_by_row))
    return Lowering::refuse("quant", "range ", range.low, " to ", range.high,
                            ", expected 4 bits, or int8 with a scale a row");
  if (!is_by_row && block[1] % kGroupUnit != 0)
    return Lowering::refuse("quant", "groups of ", block[1], ", expected a multiple of ", kGroupUnit);
  ETB_ASSIGN(std::vector<float> scales,
             read_scales(l, static_cast<size_t>(sizes[0] * (sizes[1] / block[1]))));
  const uint32_t id = l.draft().add_constant(std::make_shared<Constant>(*constant), XnnDatatype::kQcint8);
  XnnValue& value = l.draft().value(id);
  value.quantisation = is_by_row ? XnnQuantisation::kPerChannel : XnnQuantisation::kPerChannelGroup;
  value.group_size = static_cast<uint32_t>(block[1]);
  value.scales = std::move(scales);
  if (range == kFourBits) l.mark_four_bits(id);
  l.define(l.result(), {id, identity(2)});
  return {};
}

Status lower_choose_qparams_affine(Lowering& l) {
  ETB_ASSIGN(const uint32_t input, l.value("input"));
  if (l.text("mapping_type") != "ASYMMETRIC")
    return Lowering::refuse("quant", "mapping_type: ", l.text("mapping_type"), ", expected ASYMMETRIC");
  ETB_TRY(check_rows(l, input));
  ETB_TRY(l.form(input));
  for (uint32_t i = 0; i < l.result_count(); ++i) l.define_dynamic(l.result(i), input);
  return {};
}

Status lower_quantize_affine(Lowering& l) {
  ETB_ASSIGN(const uint32_t scale, l.value("scale"));
  const auto source = l.dynamic_source(scale);
  if (!source) return Lowering::refuse("quant", "scale: of no tensor of this region");
  return pass_on(l, *source);
}

Status lower_dequantize_affine(Lowering& l) {
  ETB_ASSIGN(const uint32_t scale, l.value("scale"));
  if (const auto source = l.dynamic_source(scale)) return pass_on(l, *source);
  ETB_ASSIGN(const uint32_t input, l.value("input"));
  if (l.spec(l.result()).dtype != ETB_DTYPE_FLOAT32)
    return Lowering::refuse("dtype", "result, expected float32");
  return lower_weight(l, input);
}

constexpr Op kRows[] = {
    {.name = "torchao.choose_qparams_affine.default",
     .lower = lower_choose_qparams_affine,
     .dtypes = kFloat32Only,
     .min_rank = 1,
     .constraint =
         "A scale a row; all that reads it ends in linear layers with constant weights of int8 or 4 bits.",
     .traits = kStartsChain},
    {.name = "torchao.quantize_affine.default",
     .lower = lower_quantize_affine,
     .dtypes = kFloat32Only,
     .min_rank = 1,
     .constraint = "As part of a dynamically quantised linear layer.",
     .traits = kInChain},
    {.name = "torchao.dequantize_affine.default",
     .lower = lower_dequantize_affine,
     .dtypes = kInt8Only,
     .min_rank = 1,
     .constraint = "As part of a dynamically quantised linear layer, or of a constant: rows of int8, rows or "
                   "groups of 4 bits.",
     .traits = kFolds | kInChain},
};

}  // namespace

extern const OpList affine_ops = kRows;

}  // namespace etb::xnnpack
