// SPDX-License-Identifier: Apache-2.0
// Pooling over height and width.
#include "plugins/gpu/compile/op.hpp"

namespace etb::gpu {

namespace {

Status add_pool(LoweringContext& context, bool is_mean, bool counts_padding, int64_t divisor) {
  const Arguments& args = context.args();
  ETB_ASSIGN(const uint32_t self, context.operand("self"));
  ETB_ASSIGN(const std::vector<int64_t> kernel, args.pair("kernel_size", {}));
  ETB_ASSIGN(const std::vector<int64_t> stride, args.pair("stride", kernel));
  ETB_ASSIGN(const std::vector<int64_t> padding, args.pair("padding", {0, 0}));
  ETB_ASSIGN(const std::vector<int64_t> dilation, args.pair("dilation", {1, 1}));
  ETB_ASSIGN(const bool rounds_up, args.flag("ceil_mode", false));
  GpuNode node{Operator::kPool, {self}, kNoValue, {is_mean ? 1 : 0}};
  for (const auto* pair : {&kernel, &stride, &padding, &dilation})
    for (const int64_t number : *pair) node.ints.push_back(to_int32(number));
  node.ints.push_back(rounds_up ? 1 : 0);
  node.ints.push_back(counts_padding ? 1 : 0);
  node.ints.push_back(to_int32(divisor));
  return context.add_result_node(std::move(node));
}

Status lower_max_pool2d(LoweringContext& context) {
  ETB_TRY(context.check_only_first_result_is_read("indices"));
  return add_pool(context, false, false, 0);
}

Status lower_avg_pool2d(LoweringContext& context) {
  ETB_ASSIGN(const bool counts_padding, context.args().flag("count_include_pad", true));
  ETB_ASSIGN(const int64_t divisor, context.args().integer("divisor_override", 0));
  if (divisor < 0) return reject("attribute", "divisor_override: expected a positive number");
  return add_pool(context, true, counts_padding, divisor);
}

Status lower_adaptive_avg_pool2d(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t self, context.operand("self"));
  ETB_ASSIGN(const std::vector<int64_t> sizes, context.args().pair("output_size", {}));
  return context.add_result_node(
      {Operator::kAdaptiveMeanPool, {self}, kNoValue, {to_int32(sizes[0]), to_int32(sizes[1])}});
}

constexpr Op kRows[] = {
    {"aten.max_pool2d.default", lower_max_pool2d, 3, 4},
    {"aten.max_pool2d_with_indices.default", lower_max_pool2d, 3, 4, "The indices are not read."},
    {"aten.avg_pool2d.default", lower_avg_pool2d, 3, 4},
    {"aten._adaptive_avg_pool2d.default", lower_adaptive_avg_pool2d, 3, 4},
};

}  // namespace

extern const OpList pool_ops = kRows;

}  // namespace etb::gpu
