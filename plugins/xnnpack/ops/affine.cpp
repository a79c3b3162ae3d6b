// SPDX-License-Identifier: Apache-2.0
// Quantisation as torchao writes it (8da4w and similar): int8 rows at run time times constant weights of int8
// or 4 bits, scaled by row or group.
#include "ops/torchao/choose_qparams_affine.hpp"
#include "ops/torchao/dequantize_affine.hpp"
#include "ops/torchao/quantize_affine.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

struct Range {
  int64_t low, high;
  bool operator==(const Range&) const = default;
};
constexpr Range kInt8 = {-128, 127}, kInt8Symmetric = {-127, 127}, kFourBits = {-8, 7};

// The blocks that share a scale, and the range of the integers.
struct BlockArguments {
  template <class View>
  explicit BlockArguments(const View& args)
      : block_size(args.block_size()), quant_min(args.quant_min()), quant_max(args.quant_max()) {}

  [[nodiscard]] Result<Range> range() const {
    ETB_ASSIGN(const int64_t low, quant_min.integer_or(-128));
    ETB_ASSIGN(const int64_t high, quant_max.integer_or(127));
    return Range{low, high};
  }

  NodeArguments::NumberList block_size;
  NodeArguments::Number quant_min, quant_max;
};

// Arguments of torchao.quantize_affine and torchao.dequantize_affine.
struct ConversionArguments {
  template <class View>
  explicit ConversionArguments(const View& args)
      : input(args.input()), scale(args.scale()), zero_point(args.zero_point()), blocks(args) {}

  NodeArguments::Tensor input, scale, zero_point;
  BlockArguments blocks;
};

// Checks for a block that spans the last dimension only: one scale per row.
Status check_rows(const BlockArguments& args, const std::vector<int64_t>& sizes) {
  ETB_ASSIGN(const std::vector<int64_t> block, args.block_size.integers());
  bool is_row = !sizes.empty() && block.size() == sizes.size() && block.back() == sizes.back();
  for (size_t d = 0; is_row && d + 1 < block.size(); ++d) is_row = block[d] == 1;
  ETB_ASSIGN(const Range range, args.range());
  if (!is_row || !(range == kInt8)) return reject("quant", "at run time, expected int8 with a scale a row");
  return {};
}

// Makes the result a name of the tensor that is quantised at run time.
Status define_dynamic(LoweringContext& context, const ConversionArguments& args, uint32_t source) {
  ETB_ASSIGN(const uint32_t input, args.input.id());
  if (context.values().dynamic_source(input).value_or(input) != source)
    return reject("quant", "scale: of another tensor");
  ETB_TRY(check_rows(args.blocks, context.graph().sizes(source)));
  context.values().define_dynamic(context.result(), source);
  return {};
}

// Reads the scales of a constant. Returns ones for a claim, which has no bytes.
Result<std::vector<float>> read_scales(LoweringContext& context, const ConversionArguments& args,
                                       size_t count) {
  ETB_ASSIGN(const ConstantPtr steps, context.constant(args.scale));
  std::vector<float> values(count, 1);
  if (static_cast<size_t>(numel_of(steps->sizes)) != count)
    return reject("quant", "scale: ", numel_of(steps->sizes), " numbers, expected ", count);
  if (args.zero_point.has_value()) ETB_TRY(context.check_zeros(args.zero_point));
  if (context.graph().is_claiming()) return values;
  return read_floats(*steps);
}

// Lowers a weight [outputs, inputs] with one scale for each group of inputs.
Status lower_weight(LoweringContext& context, const ConversionArguments& args) {
  constexpr int64_t kGroupUnit = 32;  // XNNPACK's unit
  ETB_ASSIGN(const uint32_t input, args.input.id());
  ETB_ASSIGN(const ConstantPtr constant, context.constant(args.input));
  ETB_ASSIGN(const std::vector<int64_t> block, args.blocks.block_size.integers());
  ETB_ASSIGN(const Range range, args.blocks.range());
  const std::vector<int64_t> sizes = context.graph().sizes(input);
  if (sizes.size() != 2 || block.size() != 2 || block[0] != 1 || block[1] < 1 || sizes[1] % block[1] != 0)
    return reject("quant", "block_size, expected [1, a divisor of the inputs]");
  const bool is_by_row = block[1] == sizes[1];
  if (!(range == kFourBits) && !((range == kInt8 || range == kInt8Symmetric) && is_by_row))
    return reject("quant", "range ", range.low, " to ", range.high,
                  ", expected 4 bits, or int8 with a scale a row");
  if (!is_by_row && block[1] % kGroupUnit != 0)
    return reject("quant", "groups of ", block[1], ", expected a multiple of ", kGroupUnit);
  ETB_ASSIGN(std::vector<float> scales,
             read_scales(context, args, static_cast<size_t>(sizes[0] * (sizes[1] / block[1]))));
  const uint32_t id =
      context.builder().add_constant(std::make_shared<Constant>(*constant), XnnDatatype::kQcint8);
  XnnValue& value = context.builder().value(id);
  value.quantisation = is_by_row ? XnnQuantisation::kPerChannel : XnnQuantisation::kPerChannelGroup;
  value.group_size = static_cast<uint32_t>(block[1]);
  value.scales = std::move(scales);
  if (range == kFourBits) context.builder().mark_four_bits(id);
  context.define(context.result(), {id, identity(2)});
  return {};
}

Status lower_choose_qparams_affine(LoweringContext& context,
                                   ops::torchao::choose_qparams_affine_default<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t input, args.input().id());
  if (args.mapping_type().text() != "ASYMMETRIC")
    return reject("quant", "mapping_type: ", args.mapping_type().text(), ", expected ASYMMETRIC");
  ETB_TRY(check_rows(BlockArguments(args), context.graph().sizes(input)));
  ETB_TRY(context.lowered(input));
  for (uint32_t i = 0; i < context.result_count(); ++i)
    context.values().define_dynamic(context.result(i), input);
  return {};
}

Status lower_quantize_affine(LoweringContext& context, ConversionArguments args) {
  ETB_ASSIGN(const uint32_t scale, args.scale.id());
  const auto source = context.values().dynamic_source(scale);
  if (!source) return reject("quant", "scale: of no tensor of this region");
  return define_dynamic(context, args, *source);
}

Status lower_dequantize_affine(LoweringContext& context, ConversionArguments args) {
  ETB_ASSIGN(const uint32_t scale, args.scale.id());
  if (const auto source = context.values().dynamic_source(scale))
    return define_dynamic(context, args, *source);
  if (context.graph().spec(context.result()).dtype != ETB_DTYPE_FLOAT32)
    return reject("dtype", "result, expected float32");
  return lower_weight(context, args);
}

constexpr Op kRows[] = {
    op_row<ops::torchao::choose_qparams_affine_default, lower_choose_qparams_affine>(
        {.dtypes = kFloat32Only,
         .min_rank = 1,
         .constraint = "A scale a row; all that reads it ends in linear layers with constant weights of int8 "
                       "or 4 bits.",
         .traits = kStartsChain}),
    op_row<ops::torchao::quantize_affine_default, lower_quantize_affine>(
        {.dtypes = kFloat32Only,
         .min_rank = 1,
         .constraint = "As part of a dynamically quantised linear layer.",
         .traits = kInChain}),
    op_row<ops::torchao::dequantize_affine_default, lower_dequantize_affine>(
        {.dtypes = kInt8Only,
         .min_rank = 1,
         .constraint =
             "As part of a dynamically quantised linear layer, or of a constant: rows of int8, rows or "
             "groups of 4 bits.",
         .traits = kFolds | kInChain}),
};

}  // namespace

extern const OpList affine_ops = kRows;

}  // namespace etb::xnnpack
