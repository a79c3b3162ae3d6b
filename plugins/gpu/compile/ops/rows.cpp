// SPDX-License-Identifier: Apache-2.0
// Softmax and norms.
#include <algorithm>

#include "plugins/gpu/compile/op.hpp"

namespace etb::gpu {

namespace {

template <bool is_logarithm>
Status lower_softmax(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t self, context.operand("self"));
  ETB_ASSIGN(const uint32_t dim, context.args().dim("dim", -1, context.spec(context.result()).rank));
  return context.add_result_node(
      {Operator::kSoftmax, {self}, kNoValue, {static_cast<int32_t>(dim), is_logarithm ? 1 : 0}});
}

// Returns the operand, or `count` equal numbers if the node has none.
Result<uint32_t> operand_or(LoweringContext& context, const char* name, uint64_t count, float otherwise) {
  constexpr uint64_t kMost = 1 << 20;  // numbers that the payload stores
  if (context.args().has(name)) return context.operand(name);
  if (count > kMost) return reject("attribute", std::string(name) + ": too many numbers left out");
  return context.add_floats(std::vector<float>(count, otherwise));
}

Status lower_layer_norm(LoweringContext& context) {
  ETB_TRY(context.check_only_first_result_is_read("statistics"));
  ETB_ASSIGN(const uint32_t input, context.operand("input"));
  ETB_ASSIGN(const std::vector<int64_t> shape, context.args().integers("normalized_shape"));
  ETB_ASSIGN(const double eps, context.args().number("eps", 1e-5));
  uint64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0 || size > static_cast<int64_t>(kMaxNumel)) return reject("attribute", "normalized_shape");
    count = std::min(count * static_cast<uint64_t>(size), kMaxNumel);
  }
  ETB_ASSIGN(const uint32_t weight, operand_or(context, "weight", count, 1));
  ETB_ASSIGN(const uint32_t bias, operand_or(context, "bias", count, 0));
  return context.add_result_node({Operator::kLayerNorm,
                                  {input, weight, bias},
                                  kNoValue,
                                  {static_cast<int32_t>(shape.size())},
                                  {static_cast<float>(eps)}});
}

Status lower_batch_norm(LoweringContext& context) {
  ETB_TRY(context.check_only_first_result_is_read("statistics"));
  ETB_ASSIGN(const uint32_t input, context.operand("input"));
  ETB_ASSIGN(const uint32_t mean, context.operand("running_mean"));
  ETB_ASSIGN(const uint32_t variance, context.operand("running_var"));
  ETB_ASSIGN(const double eps, context.args().number("eps", 1e-5));
  const etb_graph_spec spec = context.spec(context.result());
  if (spec.rank < 2 || (spec.dynamic_dims & 2) != 0 || spec.sizes[1] < 0)
    return reject("rank", "input, expected rank 2 or more and static channels");
  const auto channels = static_cast<uint64_t>(spec.sizes[1]);
  ETB_ASSIGN(const uint32_t weight, operand_or(context, "weight", channels, 1));
  ETB_ASSIGN(const uint32_t bias, operand_or(context, "bias", channels, 0));
  return context.add_result_node(
      {Operator::kBatchNorm, {input, weight, bias, mean, variance}, kNoValue, {}, {static_cast<float>(eps)}});
}

constexpr Op kRows[] = {
    {"aten._softmax.default", lower_softmax<false>},
    {"aten._log_softmax.default", lower_softmax<true>},
    {"aten.native_layer_norm.default", lower_layer_norm, 1, kMaxRank,
     "The second and third result are not read."},
    {"aten._native_batch_norm_legit_no_training.default", lower_batch_norm, 1, kMaxRank,
     "The input has rank 2 or more; the second and third result are not read."},
};

}  // namespace

extern const OpList rows_ops = kRows;

}  // namespace etb::gpu
