// SPDX-License-Identifier: Apache-2.0
// Transposed convolution: a product of the filters with the pixels, whose rows are folded into the image.
#include "plugins/gpu/compile/ops/transposed_convolution.hpp"

#include <limits>

namespace etb::gpu {

namespace {

struct Filters {
  uint32_t groups, inputs, outputs, kernel[2];  // channels of one group
  uint32_t taps() const { return kernel[0] * kernel[1]; }
};

Result<Filters> filters_of(const LoweringContext& context, uint32_t channels) {
  ETB_ASSIGN(const uint32_t weight, context.args().tensor("weight"));
  ETB_ASSIGN(const int64_t groups, context.args().integer("groups", 1));
  ETB_ASSIGN(const Shape shape, context.bounds(weight));
  const bool fits = shape.rank == 4 && groups > 0 && groups <= int64_t{channels} && channels % groups == 0 &&
                    shape.sizes[0] == channels && shape.numel() > 0;
  if (!fits) return reject("rank", "weight, expected rank 4 and as many channels as the input");
  const auto parts = static_cast<uint32_t>(groups);
  return Filters{parts, channels / parts, shape.sizes[1], {shape.sizes[2], shape.sizes[3]}};
}

// The filters as the first factors of a batch of products: [images * groups, outputs * taps, inputs].
Result<uint32_t> add_factors(LoweringContext& context, const Filters& filters, uint32_t input) {
  const uint32_t rows = filters.outputs * filters.taps();
  ETB_ASSIGN(const uint32_t weight,
             context.constant_as("weight", {3, {filters.groups, filters.inputs, rows}}));
  const uint32_t turned = context.add_node({Operator::kPermute, {weight}, kNoValue, {0, 2, 1}});
  const auto groups = static_cast<int32_t>(filters.groups), depth = static_cast<int32_t>(filters.inputs);
  constexpr auto kImages = kCopiedSize - static_cast<int32_t>(kMaxRank);  // dimension 0 of the second input
  const uint32_t repeated = context.add_node(
      {Operator::kExpand, {turned, input}, kNoValue, {kImages, groups, static_cast<int32_t>(rows), depth}});
  return context.add_node(
      {Operator::kReshape, {repeated}, kNoValue, {kInferredSize, static_cast<int32_t>(rows), depth}});
}

// The pixels as the second factors: [images * groups, inputs, pixels].
Result<uint32_t> add_pixels(LoweringContext& context, const Filters& filters, uint32_t value,
                            uint32_t input) {
  const etb_graph_spec spec = context.spec(value);
  GpuNode node{Operator::kReshape, {input}, kNoValue, {kInferredSize, static_cast<int32_t>(filters.inputs)}};
  const bool has_dynamic_pixels = (spec.dynamic_dims & 0b1100) != 0;
  if (has_dynamic_pixels && (spec.dynamic_dims & 1) != 0)
    return reject("dynamic", "images and pixels in dynamic numbers");
  for (uint32_t d = 2; d < 4; ++d)
    if (spec.min_sizes[d] == 0)
      return reject(has_dynamic_pixels ? "dynamic" : "attribute", "images that may be empty");
  if (has_dynamic_pixels) node.ints[0] = to_int32(spec.sizes[0] * filters.groups);
  node.ints.push_back(has_dynamic_pixels ? kInferredSize : to_int32(spec.sizes[2] * spec.sizes[3]));
  return context.add_node(std::move(node));
}

}  // namespace

Status lower_transposed_convolution(LoweringContext& context) {
  const Arguments& args = context.args();
  ETB_ASSIGN(const uint32_t value, args.tensor("input"));
  ETB_ASSIGN(const Shape image, context.bounds(value));
  if (image.rank != 4 || context.is_dynamic(value, 1))
    return reject("rank", "input, expected rank 4 and static channels");
  ETB_ASSIGN(const uint32_t input, context.operand(value));
  ETB_ASSIGN(const Filters filters, filters_of(context, image.sizes[1]));
  ETB_ASSIGN(const uint32_t factors, add_factors(context, filters, input));
  ETB_ASSIGN(const uint32_t pixels, add_pixels(context, filters, value, input));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const uint32_t columns =
      context.add_node({Operator::kMatmul, {factors, pixels}, kNoValue, {0}, {1, 1, -kInfinity, kInfinity}});
  uint32_t bias = kNoValue;
  if (args.has("bias")) {
    ETB_ASSIGN(bias, context.operand("bias"));
  } else {
    bias = context.add_floats(std::vector<float>(size_t{filters.groups} * filters.outputs, 0.0f));
  }
  GpuNode fold{Operator::kFold, {columns, bias, input}, kNoValue, {}};
  for (const uint32_t size : filters.kernel) fold.ints.push_back(static_cast<int32_t>(size));
  for (const char* name : {"stride", "padding", "dilation", "output_padding"}) {
    ETB_ASSIGN(const std::vector<int64_t> numbers, args.pair(name, {}));
    for (const int64_t number : numbers) fold.ints.push_back(to_int32(number));
  }
  return context.add_result_node(std::move(fold));
}

}  // namespace etb::gpu
