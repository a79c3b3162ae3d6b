// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution.
#include <limits>

#include "plugins/gpu/compile/op.hpp"

namespace etb::gpu {

namespace {

Status lower_convolution(LoweringContext& context) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Arguments& args = context.args();
  ETB_ASSIGN(const bool is_transposed, args.flag("transposed", false));
  if (is_transposed) return reject("attribute", "transposed: expected false");
  ETB_ASSIGN(const uint32_t input, context.operand("input"));
  ETB_ASSIGN(const uint32_t weight, context.constant("weight"));
  if (context.spec(context.result()).rank != 4) return reject("rank", "input, expected rank 4");
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
     "Two spatial dimensions, not transposed; the weight is a constant."},
};

}  // namespace

extern const OpList convolution_ops = kRows;

}  // namespace etb::gpu
