// SPDX-License-Identifier: Apache-2.0
// Clamps. They are fused into the input's producer where XNNPACK can do that.
#include <limits>

#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// True if XNNPACK can clamp the operator's result.
bool can_clamp(XnnOperator op) {
  switch (op) {
    case XnnOperator::kFullyConnected:
    case XnnOperator::kConv2d:
    case XnnOperator::kDepthwiseConv2d:
    case XnnOperator::kConvTranspose2d:
    case XnnOperator::kAdd:
    case XnnOperator::kSubtract:
    case XnnOperator::kMultiply:
    case XnnOperator::kDivide:
    case XnnOperator::kAveragePooling2d:
    case XnnOperator::kMaxPooling2d:
      return true;
    default:
      return false;
  }
}

Status clamp(Lowering& l, double low, double high) {
  if (!(low <= high)) return Lowering::refuse("attribute", "range from ", low, " to ", high);
  const auto min = static_cast<float>(low), max = static_cast<float>(high);
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const Form input, l.form(self));
  XnnNode* producer = l.only_producer(self);
  if (producer != nullptr && can_clamp(producer->op) && !producer->is_clamped) {
    producer->is_clamped = true;
    producer->clamp_min = min;
    producer->clamp_max = max;
    l.define(l.result(), input);
    return {};
  }
  ETB_ASSIGN(const uint32_t out, l.add_result(0, input.perm));
  XnnNode& node = l.draft().add_node(XnnOperator::kClamp, {input.id}, {out});
  node.is_clamped = true;
  node.clamp_min = min;
  node.clamp_max = max;
  return {};
}

Status lower_relu(Lowering& l) { return clamp(l, 0, kInfinity); }
Status lower_relu6(Lowering& l) { return clamp(l, 0, 6); }

Status lower_hardtanh(Lowering& l) {
  ETB_ASSIGN(const double low, l.number("min_val", -1));
  ETB_ASSIGN(const double high, l.number("max_val", 1));
  return clamp(l, low, high);
}

Status lower_clamp(Lowering& l) {
  ETB_ASSIGN(const double low, l.number("min", -kInfinity));
  ETB_ASSIGN(const double high, l.number("max", kInfinity));
  return clamp(l, low, high);
}

constexpr Op kRows[] = {
    {.name = "aten.relu.default", .lower = lower_relu, .quantised = QuantKind::kMoves, .traits = kClamps},
    {.name = "aten.clamp.default", .lower = lower_clamp, .quantised = QuantKind::kMoves, .traits = kClamps},
    {.name = "aten.hardtanh.default",
     .lower = lower_hardtanh,
     .quantised = QuantKind::kMoves,
     .traits = kClamps},
    {.name = "aten.relu6.default", .lower = lower_relu6, .quantised = QuantKind::kMoves, .traits = kClamps},
};

}  // namespace

extern const OpList clamp_ops = kRows;

}  // namespace etb::xnnpack
