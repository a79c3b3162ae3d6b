// SPDX-License-Identifier: Apache-2.0
// Functions of single elements and of pairs.
#include <limits>

#include "plugins/gpu/compile/element_nodes.hpp"
#include "plugins/gpu/compile/op.hpp"

namespace etb::gpu {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Status add_unary(LoweringContext& context, UnaryFunction function, float p0 = 0, float p1 = 0) {
  ETB_ASSIGN(const uint32_t self, context.operand("self"));
  return context.add_result_node(unary_node(function, self, p0, p1));
}

template <UnaryFunction function>
Status lower_unary(LoweringContext& context) {
  return add_unary(context, function);
}

// Limits a value. A product or convolution that only this node reads does it itself.
Status add_clamp(LoweringContext& context, float low, float high) {
  ETB_ASSIGN(const uint32_t self, context.operand("self"));
  GpuNode* producer = context.find_only_producer(self);
  const uint32_t at = producer == nullptr                      ? 0
                      : producer->op == Operator::kMatmul      ? field::kMatmulLow
                      : producer->op == Operator::kConvolution ? field::kLow
                                                               : UINT32_MAX;
  const bool fuses = producer != nullptr && at != UINT32_MAX && producer->floats[at] == -kInfinity &&
                     producer->floats[at + 1] == kInfinity && low <= high;
  if (fuses) {
    producer->floats[at] = low;
    producer->floats[at + 1] = high;
    context.define(0, self);
    return {};
  }
  return add_unary(context, UnaryFunction::kClamp, low, high);
}

Status lower_relu(LoweringContext& context) { return add_clamp(context, 0, kInfinity); }

Status lower_clamp(LoweringContext& context) {
  ETB_ASSIGN(const double low, context.args().number("min", -kInfinity));
  ETB_ASSIGN(const double high, context.args().number("max", kInfinity));
  return add_clamp(context, static_cast<float>(low), static_cast<float>(high));
}

Status lower_hardtanh(LoweringContext& context) {
  ETB_ASSIGN(const double low, context.args().number("min_val", -1));
  ETB_ASSIGN(const double high, context.args().number("max_val", 1));
  return add_clamp(context, static_cast<float>(low), static_cast<float>(high));
}

Status lower_leaky_relu(LoweringContext& context) {
  ETB_ASSIGN(const double slope, context.args().number("negative_slope", 0.01));
  return add_unary(context, UnaryFunction::kLeakyRelu, static_cast<float>(slope));
}

Status lower_gelu(LoweringContext& context) {
  const bool is_tanh = context.args().text("approximate") == "tanh";
  return add_unary(context, is_tanh ? UnaryFunction::kGeluTanh : UnaryFunction::kGelu);
}

template <BinaryFunction function>
Status lower_binary(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t self, context.operand("self"));
  ETB_ASSIGN(const uint32_t other, context.operand_or_number("other"));
  ETB_ASSIGN(const double alpha, context.args().number("alpha", 1));
  return context.add_result_node(binary_node(function, self, other, static_cast<float>(alpha)));
}

Status lower_square(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t self, context.operand("self"));
  return context.add_result_node(binary_node(BinaryFunction::kMul, self, self));
}

// Powers that are products and functions with kernels.
Status lower_pow(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t self, context.operand("self"));
  ETB_ASSIGN(const double exponent, context.args().number("exponent", 1));
  if (exponent == 1) {
    context.define(0, self);
    return {};
  }
  if (exponent == 2) return context.add_result_node(binary_node(BinaryFunction::kMul, self, self));
  if (exponent == 3 || exponent == 4) {
    const uint32_t squared = context.add_node(binary_node(BinaryFunction::kMul, self, self));
    return context.add_result_node(
        binary_node(BinaryFunction::kMul, squared, exponent == 3 ? self : squared));
  }
  if (exponent == 0.5) return add_unary(context, UnaryFunction::kSqrt);
  if (exponent == -0.5) return add_unary(context, UnaryFunction::kRsqrt);
  if (exponent == -1) return add_unary(context, UnaryFunction::kReciprocal);
  return reject("attribute", "exponent: " + std::to_string(exponent));
}

// Another name of the operand. An output of the payload becomes a copy.
Status lower_alias(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  ETB_ASSIGN(const uint32_t self, context.moved_operand(value));
  if (context.spec(context.result()).dtype != context.spec(value).dtype)
    return reject("dtype", "a conversion, expected one dtype");
  context.define(0, self);
  return {};
}

constexpr Op kRows[] = {
    {"aten.abs.default", lower_unary<UnaryFunction::kAbs>},
    {"aten.neg.default", lower_unary<UnaryFunction::kNeg>},
    {"aten.ceil.default", lower_unary<UnaryFunction::kCeil>},
    {"aten.floor.default", lower_unary<UnaryFunction::kFloor>},
    {"aten.round.default", lower_unary<UnaryFunction::kRound>},
    {"aten.trunc.default", lower_unary<UnaryFunction::kTrunc>},
    {"aten.exp.default", lower_unary<UnaryFunction::kExp>},
    {"aten.log.default", lower_unary<UnaryFunction::kLog>},
    {"aten.sqrt.default", lower_unary<UnaryFunction::kSqrt>},
    {"aten.rsqrt.default", lower_unary<UnaryFunction::kRsqrt>},
    {"aten.reciprocal.default", lower_unary<UnaryFunction::kReciprocal>},
    {"aten.sigmoid.default", lower_unary<UnaryFunction::kSigmoid>},
    {"aten.tanh.default", lower_unary<UnaryFunction::kTanh>},
    {"aten.erf.default", lower_unary<UnaryFunction::kErf>},
    {"aten.square.default", lower_square},
    {"aten.gelu.default", lower_gelu},
    {"aten.relu.default", lower_relu},
    {"aten.clamp.default", lower_clamp},
    {"aten.hardtanh.default", lower_hardtanh},
    {"aten.leaky_relu.default", lower_leaky_relu},
    {"aten.add.Tensor", lower_binary<BinaryFunction::kAdd>},
    {"aten.sub.Tensor", lower_binary<BinaryFunction::kSub>},
    {"aten.mul.Tensor", lower_binary<BinaryFunction::kMul>},
    {"aten.div.Tensor", lower_binary<BinaryFunction::kDiv>},
    {"aten.add.Scalar", lower_binary<BinaryFunction::kAdd>},
    {"aten.sub.Scalar", lower_binary<BinaryFunction::kSub>},
    {"aten.mul.Scalar", lower_binary<BinaryFunction::kMul>},
    {"aten.div.Scalar", lower_binary<BinaryFunction::kDiv>},
    {"aten.maximum.default", lower_binary<BinaryFunction::kMaximum>},
    {"aten.minimum.default", lower_binary<BinaryFunction::kMinimum>},
    {"aten.pow.Tensor_Scalar", lower_pow, 0, kMaxRank, "The exponent is -1, -0.5, 0.5, 1, 2, 3 or 4."},
    {"aten.sin.default", lower_unary<UnaryFunction::kSin>},
    {"aten.cos.default", lower_unary<UnaryFunction::kCos>},
    {.name = "aten.clone.default", .lower = lower_alias, .dtypes = kFloatOrBool},
    {.name = "aten.alias_copy.default", .lower = lower_alias, .dtypes = kFloatOrBool},
    {"dim_order_ops._clone_dim_order.default", lower_alias, 0, kMaxRank, "The result is row-major.", false,
     kFloatOrBool},
};

}  // namespace

extern const OpList elementwise_ops = kRows;

}  // namespace etb::gpu
