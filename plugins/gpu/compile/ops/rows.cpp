// SPDX-License-Identifier: Apache-2.0
// Softmax and norms.
#include <algorithm>

#include "plugins/gpu/compile/element_nodes.hpp"
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

uint32_t add_pair(LoweringContext& context, BinaryFunction function, uint32_t a, uint32_t b) {
  return context.add_node(binary_node(function, a, b));
}

// Adds a reshape of a channel's numbers to [channels, 1].
uint32_t add_column(LoweringContext& context, uint32_t x) {
  return context.add_node({Operator::kReshape, {x}, kNoValue, {kCopiedSize, 1}});
}

// (x - mean) / deviation of each group, as a tensor [images, groups, elements of a group].
uint32_t add_normalised(LoweringContext& context, uint32_t rows, double eps) {
  constexpr int32_t kLastOf3 = 1 << 2;
  const auto mean_of = [&](uint32_t x) {
    return context.add_node(
        {Operator::kReduce, {x}, kNoValue, {static_cast<int32_t>(Reduction::kMean), kLastOf3, 1}});
  };
  const uint32_t centred = add_pair(context, BinaryFunction::kSub, rows, mean_of(rows));
  const uint32_t variance = mean_of(add_pair(context, BinaryFunction::kMul, centred, centred));
  const uint32_t moved =
      add_pair(context, BinaryFunction::kAdd, variance, context.add_floats({static_cast<float>(eps)}, true));
  const uint32_t factor = context.add_node(unary_node(UnaryFunction::kRsqrt, moved));
  return add_pair(context, BinaryFunction::kMul, centred, factor);
}

Status lower_group_norm(LoweringContext& context) {
  ETB_TRY(context.check_only_first_result_is_read("statistics"));
  const Arguments& args = context.args();
  ETB_ASSIGN(const uint32_t value, args.tensor("input"));
  ETB_ASSIGN(const uint32_t input, context.operand(value));
  ETB_ASSIGN(const int64_t groups, args.integer("group", 1));
  ETB_ASSIGN(const double eps, args.number("eps", 1e-5));
  const etb_graph_spec spec = context.spec(value);
  if (spec.rank < 2 || (spec.dynamic_dims & ~1u) != 0)
    return reject("dynamic", "dynamic sizes other than the number of images");
  ETB_ASSIGN(const Shape bounds, context.bounds(value));
  const int64_t elements = bounds.product(1, bounds.rank);
  if (groups < 1 || elements == 0 || spec.sizes[1] % groups != 0) return reject("attribute", "group");
  const uint32_t rows = context.add_node(
      {Operator::kReshape, {input}, kNoValue, {kCopiedSize, to_int32(groups), to_int32(elements / groups)}});
  uint32_t made = add_normalised(context, rows, eps);
  const int32_t channels = to_int32(spec.sizes[1]), pixels = to_int32(elements / spec.sizes[1]);
  made = context.add_node({Operator::kReshape, {made}, kNoValue, {kCopiedSize, channels, pixels}});
  for (const auto& [name, function] :
       {std::pair{"weight", BinaryFunction::kMul}, std::pair{"bias", BinaryFunction::kAdd}}) {
    if (!args.has(name)) continue;
    ETB_ASSIGN(const uint32_t numbers, context.operand(name));
    made = add_pair(context, function, made, add_column(context, numbers));
  }
  GpuNode whole{Operator::kReshape, {made}, kNoValue, {kCopiedSize}};
  for (uint32_t d = 1; d < spec.rank; ++d) whole.ints.push_back(to_int32(spec.sizes[d]));
  return context.add_result_node(std::move(whole));
}

constexpr Op kRows[] = {
    {"aten._softmax.default", lower_softmax<false>},
    {"aten._log_softmax.default", lower_softmax<true>},
    {"aten.native_layer_norm.default", lower_layer_norm, 1, kMaxRank,
     "The second and third result are not read."},
    {"aten._native_batch_norm_legit_no_training.default", lower_batch_norm, 1, kMaxRank,
     "The input has rank 2 or more; the second and third result are not read."},
    {"aten.native_group_norm.default", lower_group_norm, 1, kMaxRank,
     "Only the number of images is dynamic; the second and third result are not read."},
};

}  // namespace

extern const OpList rows_ops = kRows;

}  // namespace etb::gpu
