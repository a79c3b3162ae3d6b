// SPDX-License-Identifier: Apache-2.0
// Clamps. They are fused into the input's producer where XNNPACK can do that.
#include <algorithm>
#include <limits>

#include "ops/clamp.hpp"
#include "ops/hardtanh.hpp"
#include "ops/relu.hpp"
#include "ops/relu6.hpp"
#include "plugins/xnnpack/ops/ops.hpp"
#include "plugins/xnnpack/payload/operators.hpp"

namespace etb::xnnpack {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Clamps by a maximum and a minimum.
void add_bounds(LoweringContext& context, const LoweredValue& in, float min, float max) {
  XnnGraphBuilder& builder = context.builder();
  uint32_t id = in.id;
  if (min > -kInfinity)
    id = add_binary(builder, XnnOperator::kMaximum, id, builder.add_floats({1}, {min}, id),
                    builder.extents(id));
  if (max < kInfinity)
    id = add_binary(builder, XnnOperator::kMinimum, id, builder.add_floats({1}, {max}, id),
                    builder.extents(id));
  context.define(context.result(), {id, in.perm});
}

Status clamp(LoweringContext& context, const NodeArguments::Tensor& input, double low, double high) {
  if (!(low <= high)) return reject("attribute", "range from ", low, " to ", high);
  const auto min = static_cast<float>(low), max = static_cast<float>(high);
  ETB_ASSIGN(const uint32_t value, input.id());
  ETB_ASSIGN(const LoweredValue in, context.lowered(value));
  XnnNode* producer = context.find_only_producer(value);
  if (producer != nullptr && can_clamp(producer->op)) {
    const float first_min = producer->is_clamped ? std::clamp(producer->clamp_min, min, max) : min,
                first_max = producer->is_clamped ? std::clamp(producer->clamp_max, min, max) : max;
    if (!producer->is_clamped || first_min < first_max) {
      producer->is_clamped = true;
      producer->clamp_min = first_min;
      producer->clamp_max = first_max;
      context.define(context.result(), in);
      return {};
    }
    // Two ranges with one number in common. XNNPACK would fuse them itself, and then refuse the range.
    if (!context.is_quantised()) return add_bounds(context, in, min, max), Status();
  }
  ETB_ASSIGN(const uint32_t out, context.add_result(0, in.perm));
  XnnNode& node = context.builder().add_node(XnnOperator::kClamp, {in.id}, {out});
  node.is_clamped = true;
  node.clamp_min = min;
  node.clamp_max = max;
  return {};
}

Status lower_relu(LoweringContext& context, ops::relu_default<NodeArguments> args) {
  return clamp(context, args.self(), 0, kInfinity);
}
Status lower_relu6(LoweringContext& context, ops::relu6_default<NodeArguments> args) {
  return clamp(context, args.self(), 0, 6);
}

Status lower_hardtanh(LoweringContext& context, ops::hardtanh_default<NodeArguments> args) {
  ETB_ASSIGN(const double low, args.min_val().number_or(-1));
  ETB_ASSIGN(const double high, args.max_val().number_or(1));
  return clamp(context, args.self(), low, high);
}

Status lower_clamp(LoweringContext& context, ops::clamp_default<NodeArguments> args) {
  ETB_ASSIGN(const double low, args.min().number_or(-kInfinity));
  ETB_ASSIGN(const double high, args.max().number_or(kInfinity));
  return clamp(context, args.self(), low, high);
}

constexpr Op kRows[] = {
    op_row<ops::relu_default, lower_relu>({.quantised = QuantKind::kMoves, .traits = kClamps}),
    op_row<ops::clamp_default, lower_clamp>(
        {.quantised = QuantKind::kMoves, .constraint = "min is at most max.", .traits = kClamps}),
    op_row<ops::hardtanh_default, lower_hardtanh>(
        {.quantised = QuantKind::kMoves, .constraint = "min_val is at most max_val.", .traits = kClamps}),
    op_row<ops::relu6_default, lower_relu6>({.quantised = QuantKind::kMoves, .traits = kClamps}),
};

}  // namespace

extern const OpList clamp_ops = kRows;

}  // namespace etb::xnnpack
