// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution.
#include <limits>

#include "plugins/gpu/compile/op.hpp"
#include "plugins/gpu/compile/ops/transposed_convolution.hpp"

namespace etb::gpu {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Adds a convolution of signals: images of one row.
Status lower_signal_convolution(LoweringContext& context) {
  const Arguments& args = context.args();
  ETB_ASSIGN(const uint32_t input, context.operand("input"));
  ETB_ASSIGN(const uint32_t weight_value, args.tensor("weight"));
  ETB_ASSIGN(const Shape filters, context.bounds(weight_value));
  if (filters.rank != 3) return reject("rank", "weight, expected rank 3");
  const Shape shape{4, {filters.sizes[0], filters.sizes[1], 1, filters.sizes[2]}};
  ETB_ASSIGN(const uint32_t weight, context.constant_as("weight", shape));
  const uint32_t image = context.add_node(
      {Operator::kReshape, {input}, kNoValue, {kCopiedSize, kCopiedSize - 1, 1, kCopiedSize - 2}});
  GpuNode node{Operator::kConvolution, {image, weight}, kNoValue, {}, {-kInfinity, kInfinity}};
  if (args.has("bias")) {
    ETB_ASSIGN(const uint32_t bias, context.operand("bias"));
    node.inputs.push_back(bias);
  }
  for (const char* name : {"stride", "padding", "dilation"}) {
    ETB_ASSIGN(const std::vector<int64_t> numbers, args.integers(name));
    if (numbers.size() != 1) return reject("attribute", std::string(name) + ": expected one number");
    node.ints.push_back(name[0] == 'p' ? 0 : 1);
    node.ints.push_back(to_int32(numbers[0]));
  }
  ETB_ASSIGN(const int64_t groups, args.integer("groups", 1));
  node.ints.push_back(to_int32(groups));
  const uint32_t made = context.add_node(std::move(node));
  return context.add_result_node(
      {Operator::kReshape, {made}, kNoValue, {kCopiedSize, kCopiedSize - 1, kCopiedSize - 3}});
}

Status lower_convolution(LoweringContext& context) {
  const Arguments& args = context.args();
  ETB_ASSIGN(const bool is_transposed, args.flag("transposed", false));
  if (is_transposed) return lower_transposed_convolution(context);
  if (context.spec(context.result()).rank == 3) return lower_signal_convolution(context);
  ETB_ASSIGN(const uint32_t input, context.operand("input"));
  ETB_ASSIGN(const uint32_t weight, context.constant("weight"));
  if (context.spec(context.result()).rank != 4) return reject("rank", "input, expected rank 3 or 4");
  std::vector<uint32_t> inputs = {input, weight};
  if (args.has("bias")) {
    ETB_ASSIGN(const uint32_t bias, context.operand("bias"));
    inputs.push_back(bias);
  }
  GpuNode node{Operator::kConvolution, std::move(inputs), kNoValue, {}, {-kInfinity, kInfinity}};
  for (const char* name : {"stride", "padding", "dilation"}) {
    ETB_ASSIGN(const std::vector<int64_t> pair, args.pair(name, {}));
    for (const int64_t number : pair) node.ints.push_back(to_int32(number));
  }
  ETB_ASSIGN(const int64_t groups, args.integer("groups", 1));
  node.ints.push_back(to_int32(groups));
  return context.add_result_node(std::move(node));
}

constexpr Op kRows[] = {
    {"aten.convolution.default", lower_convolution, 1, 4,
     "One or two spatial dimensions, transposed only with two; the weight is a constant."},
};

}  // namespace

extern const OpList convolution_ops = kRows;

}  // namespace etb::gpu
