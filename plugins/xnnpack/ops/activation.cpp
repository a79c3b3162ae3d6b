#include <cmath>
#include <limits>

#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Operators whose result XNNPACK clamps on the way out.
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

// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as PyTorch defines the approximation; x (a + b x^2) takes one operator less.
Status gelu_tanh(Lowering& l, const Form& input) {
  Draft& draft = l.draft();
  const auto number = [&](double value) { return l.add_floats({1}, {static_cast<float>(value)}, input.id); };
  const Draft::Extents extents = draft.extents(input.id);
  const auto binary = [&](XnnOperator op, uint32_t a, uint32_t b) {
    return add_binary(draft, op, a, b, extents);
  };
  constexpr double kRoot = 0.7978845608028654;  // sqrt(2 / pi)
  uint32_t inner = add_unary(draft, XnnOperator::kSquare, input.id);
  inner = binary(XnnOperator::kMultiply, inner, number(kRoot * 0.044715));
  inner = binary(XnnOperator::kAdd, inner, number(kRoot));
  inner = binary(XnnOperator::kMultiply, inner, input.id);
  inner = add_unary(draft, XnnOperator::kTanh, inner);
  inner = binary(XnnOperator::kMultiply, inner, number(0.5));
  inner = binary(XnnOperator::kAdd, inner, number(0.5));
  ETB_ASSIGN(const uint32_t out, l.add_result(0, input.perm));
  draft.add_node(XnnOperator::kMultiply, {inner, input.id}, {out});
  return {};
}

}  // namespace

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

Status lower_elu(Lowering& l) {
  ETB_ASSIGN(const double alpha, l.number("alpha", 1));
  ETB_ASSIGN(const double scale, l.number("scale", 1));
  ETB_ASSIGN(const double input_scale, l.number("input_scale", 1));
  if (scale != 1 || input_scale != 1) return Lowering::refuse("attribute", "scale, expected 1");
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const Form input, l.form(self));
  ETB_ASSIGN(const uint32_t out, l.add_result(0, input.perm));
  l.draft().add_node(XnnOperator::kElu, {input.id}, {out}).value = static_cast<float>(alpha);
  return {};
}

Status lower_leaky_relu(Lowering& l) {
  ETB_ASSIGN(const double slope, l.number("negative_slope", 0.01));
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const Form input, l.form(self));
  ETB_ASSIGN(const uint32_t out, l.add_result(0, input.perm));
  l.draft().add_node(XnnOperator::kLeakyRelu, {input.id}, {out}).value = static_cast<float>(slope);
  return {};
}

Status lower_prelu(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const uint32_t weight, l.value("weight"));
  ETB_ASSIGN(const ConstantPtr slopes, l.constant(weight, "weight"));
  // Slopes go along dimension 1, which XNNPACK wants last.
  const size_t rank = l.rank(self);
  Permutation order = identity(rank);
  for (size_t i = 2; i < rank; ++i) --order[i];
  order[1] = static_cast<uint32_t>(rank - 1);
  ETB_ASSIGN(const uint32_t input, l.arranged(self, order));
  ETB_ASSIGN(const uint32_t out, l.add_result(0, order));
  const int64_t channels = l.sizes(self)[1];
  const ConstantPtr wide = numel_of(slopes->sizes) == channels ? slopes : expanded(slopes, {channels});
  l.draft().add_node(XnnOperator::kPrelu,
                     {input, l.draft().add_constant(wide, l.draft().value(input).datatype)}, {out});
  return {};
}

Status lower_gelu(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const Form input, l.form(self));
  const std::string_view approximate = l.text("approximate");
  if (approximate == "tanh") return gelu_tanh(l, input);
  ETB_ASSIGN(const uint32_t out, l.add_result(0, input.perm));
  l.draft().add_node(XnnOperator::kGelu, {input.id}, {out});
  return {};
}

Status lower_softmax(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const bool half_to_float, l.flag("half_to_float", false));
  if (half_to_float || l.spec(self).dtype != l.spec(l.result()).dtype)
    return Lowering::refuse("dtype", "result of another type than the input");
  const size_t rank = l.rank(self);
  ETB_ASSIGN(const uint32_t dim, l.dim("dim", -1, rank));
  ETB_ASSIGN(Form input, l.form(self));
  if (input.perm[dim] != rank - 1) {
    Permutation order = identity(rank);
    for (size_t i = dim + 1; i < rank; ++i) --order[i];
    order[dim] = static_cast<uint32_t>(rank - 1);
    ETB_ASSIGN(const uint32_t moved, l.arranged(self, order));
    input = {moved, order};
  }
  ETB_ASSIGN(const uint32_t out, l.add_result(0, input.perm));
  l.draft().add_node(XnnOperator::kSoftmax, {input.id}, {out});
  return {};
}

}  // namespace etb::xnnpack
