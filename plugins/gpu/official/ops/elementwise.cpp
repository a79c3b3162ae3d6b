// SPDX-License-Identifier: Apache-2.0
// Functions of single elements and of pairs, comparisons, logic and conversions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "plugins/gpu/official/ops.hpp"

namespace etb::gpu {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <UnaryFunction function>
Status lower_unary(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  return call.define_floats(call.add_unary(function, x));
}

// The magnitude grows by less than 1.
template <UnaryFunction function>
Status lower_rounding(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  return call.define(call.add_unary(function, x), call.magnitude(x) + 1);
}

// Neither changes the type, nor the largest magnitude.
template <UnaryFunction function>
Status lower_sign(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.tensor(0));
  ETB_TRY(call.check_same_kind(0));
  if (call.declared(0).type == ElementType::kUint8 || call.kind(0) == NumberKind::kBool)
    return unsupported("argument 0: ", to_text(call.declared(0).type));
  return call.define(call.add_unary(function, x), call.magnitude(x));
}

Status add_clamp(CallContext& call, double low, double high) {
  ETB_ASSIGN(const uint32_t x, call.tensor(0));
  ETB_TRY(call.check_same_kind(0));
  double magnitude = call.magnitude(x);
  if (std::isfinite(low) || std::isfinite(high)) {
    const double bound = std::max(std::isfinite(low) ? std::abs(low) : magnitude,
                                  std::isfinite(high) ? std::abs(high) : magnitude);
    magnitude = std::isfinite(low) && std::isfinite(high) ? bound : std::max(bound, magnitude);
  }
  return call.define(call.add_unary(UnaryFunction::kClamp, x, to_float(low), to_float(high)), magnitude);
}

Result<double> limit(const CallContext& call, uint32_t at, double missing) {
  if (call.is_null(at)) return missing;
  return call.number(at);
}

Status lower_relu(CallContext& call) { return add_clamp(call, 0, kInfinity); }

Status lower_clamp(CallContext& call) {
  ETB_ASSIGN(const double low, limit(call, 1, -kInfinity));
  ETB_ASSIGN(const double high, limit(call, 2, kInfinity));
  return add_clamp(call, low, high);
}

Status lower_leaky_relu(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(const double slope, call.number(1));
  return call.define_floats(call.add_unary(UnaryFunction::kLeakyRelu, x, to_float(slope)));
}

Status lower_gelu(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(const std::string_view approximate, call.text(1));
  if (approximate != "none" && approximate != "tanh")
    return unsupported("argument 1: '", std::string(approximate), "'");
  return call.define_floats(
      call.add_unary(approximate == "tanh" ? UnaryFunction::kGeluTanh : UnaryFunction::kGelu, x));
}

// x * min(max(x + 3, 0), 6) / 6, as x * min(max(x / 6 + 0.5, 0), 1): its roundings are smaller, and x does not overflow.
Status lower_hardswish(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  const uint32_t part = call.add_binary(BinaryFunction::kDiv, x, call.add_number(6));
  const uint32_t raised = call.add_binary(BinaryFunction::kAdd, part, call.add_number(0.5));
  const uint32_t gate = call.add_unary(UnaryFunction::kClamp, raised, 0, 1);
  return call.define_floats(call.add_binary(BinaryFunction::kMul, x, gate));
}

// x where |x| > lambda, else 0. NaN stays.
Status lower_hardshrink(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(const double lambda, call.number(1));
  const uint32_t size = call.add_unary(UnaryFunction::kAbs, x);
  const uint32_t is_small = call.add_binary(BinaryFunction::kLessEqual, size, call.add_number(lambda));
  const uint32_t zero = call.add_binary(BinaryFunction::kLess, x, x);
  return call.define_floats(call.add(Operator::kWhere, {is_small, zero, x}));
}

Status lower_log10(CallContext& call) {
  constexpr double kLogOf10 = 2.302585092994045684;
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  const uint32_t natural = call.add_unary(UnaryFunction::kLog, x);
  return call.define_floats(call.add_binary(BinaryFunction::kMul, natural, call.add_number(1 / kLogOf10)));
}

Status lower_pow(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.floats(0));
  ETB_ASSIGN(const double exponent, call.number(1));
  const auto squared = [&](uint32_t of) { return call.add_binary(BinaryFunction::kMul, of, of); };
  if (exponent == 1) return call.define_floats(x);
  if (exponent == 2) return call.define_floats(squared(x));
  if (exponent == 3) return call.define_floats(call.add_binary(BinaryFunction::kMul, squared(x), x));
  if (exponent == 4) return call.define_floats(squared(squared(x)));
  if (exponent == 0.5) return call.define_floats(call.add_unary(UnaryFunction::kSqrt, x));
  if (exponent == -0.5) return call.define_floats(call.add_unary(UnaryFunction::kRsqrt, x));
  if (exponent == -1) return call.define_floats(call.add_unary(UnaryFunction::kReciprocal, x));
  return unsupported("argument 1: ", exponent, ", expected -1, -0.5, 0.5, 1, 2, 3 or 4");
}

// ---- Pairs

// Magnitude of the result. `rounding`: the factor by which floats may become larger.
double magnitude_of(BinaryFunction function, double a, double b, double alpha, double rounding) {
  switch (function) {
    case BinaryFunction::kAdd:
    case BinaryFunction::kSub:
      return (a + std::abs(alpha) * b) * rounding;
    case BinaryFunction::kMul:
      return a * b * rounding;
    case BinaryFunction::kDiv:
      return kInfinity;
    default:
      return std::max(a, b);
  }
}

// Arithmetic on floats or on integers; uint8 and bool would wrap.
Status check_arithmetic(CallContext& call, BinaryFunction function) {
  ETB_TRY(call.check_same_kind(0));
  ETB_TRY(call.check_same_kind(1));
  if (call.kind(0) == NumberKind::kFloat) return {};
  const bool is_exact = call.kind(0) == NumberKind::kInteger && function != BinaryFunction::kDiv &&
                        call.declared(0).type != ElementType::kUint8;
  if (!is_exact) return unsupported("argument 0: ", to_text(call.declared(0).type));
  return {};
}

template <BinaryFunction function, bool has_alpha>
Status lower_binary(CallContext& call) {
  ETB_ASSIGN(const uint32_t a, call.tensor(0));
  ETB_ASSIGN(const uint32_t b, call.tensor(1));
  ETB_TRY(check_arithmetic(call, function));
  double alpha = 1;
  if (has_alpha) {
    ETB_ASSIGN(alpha, call.number(2));
  }
  if (call.kind(0) == NumberKind::kInteger && alpha != std::trunc(alpha))
    return bad("argument 2: a fraction");
  const double rounding = call.kind(0) == NumberKind::kFloat ? 1 + 0x1p-20 : 1;
  return call.define(call.add_binary(function, a, b, to_float(alpha)),
                     magnitude_of(function, call.magnitude(a), call.magnitude(b), alpha, rounding));
}

// Rounded down or towards 0. The quotient of integers may be wrong by a unit in the last place, so it is corrected by its remainder,
// which is exact.
Status lower_div_mode(CallContext& call) {
  ETB_ASSIGN(const uint32_t a, call.tensor(0));
  ETB_ASSIGN(const uint32_t b, call.tensor(1));
  const bool is_integer = call.kind(0) == NumberKind::kInteger;
  if (call.kind(0) == NumberKind::kBool) return unsupported("argument 0: bool");
  ETB_TRY(call.check_same_kind(0));
  ETB_TRY(call.check_same_kind(1));
  const uint32_t quotient = call.add_binary(BinaryFunction::kDiv, a, b);
  if (call.is_null(2)) return call.define_floats(quotient);
  ETB_ASSIGN(const std::string_view mode, call.text(2));
  if (mode != "floor" && mode != "trunc") return unsupported("argument 2: '", std::string(mode), "'");
  if (!is_integer)
    return call.define_floats(
        call.add_unary(mode == "floor" ? UnaryFunction::kFloor : UnaryFunction::kTrunc, quotient));
  if (mode != "floor") return unsupported("argument 2: 'trunc' of integers");
  // With |a| and |b| up to 2^21, q * b is exact: floor(a / b) is off by at most 1.
  if (std::max(call.magnitude(a), call.magnitude(b)) > 0x1p21)
    return call.define(quotient, std::numeric_limits<double>::infinity());
  const uint32_t floored = call.add_unary(UnaryFunction::kFloor, quotient);
  const uint32_t rest =
      call.add_binary(BinaryFunction::kSub, a, call.add_binary(BinaryFunction::kMul, floored, b));
  // The remainder has the sign of b and a smaller magnitude: else the quotient is too large or too small.
  const uint32_t zero = call.add_number(0);
  const uint32_t is_negative = call.add_binary(BinaryFunction::kLess, b, zero);
  const uint32_t sign = call.add_binary(BinaryFunction::kSub, call.add_number(1), is_negative, 2);
  const uint32_t signed_rest = call.add_binary(BinaryFunction::kMul, rest, sign);
  const uint32_t is_above = call.add_binary(BinaryFunction::kLess, signed_rest, zero);
  const uint32_t is_below =
      call.add_binary(BinaryFunction::kLessEqual, call.add_unary(UnaryFunction::kAbs, b), signed_rest);
  const uint32_t change = call.add_binary(BinaryFunction::kSub, is_below, is_above);
  return call.define(call.add_binary(BinaryFunction::kAdd, floored, change), call.magnitude(a) + 1);
}

// ---- Comparisons and logic: 1 for true, 0 for false

uint32_t add_not(CallContext& call, uint32_t x) {
  return call.add_binary(BinaryFunction::kEqual, x, call.add_number(0));
}

// A comparison by one of the three that have kernels.
struct Comparison {
  BinaryFunction function;
  bool swaps, negates;
};

Status add_comparison(CallContext& call, const Comparison& how, uint32_t a, uint32_t b) {
  uint32_t made = how.swaps ? call.add_binary(how.function, b, a) : call.add_binary(how.function, a, b);
  if (how.negates) made = add_not(call, made);
  return call.define(made, 1);
}

constexpr Comparison kEq{BinaryFunction::kEqual, false, false}, kNe{BinaryFunction::kEqual, false, true},
    kLt{BinaryFunction::kLess, false, false}, kLe{BinaryFunction::kLessEqual, false, false},
    kGt{BinaryFunction::kLess, true, false}, kGe{BinaryFunction::kLessEqual, true, false};

template <const Comparison& how>
Status lower_comparison(CallContext& call) {
  ETB_ASSIGN(const uint32_t a, call.tensor(0));
  ETB_ASSIGN(const uint32_t b, call.tensor(1));
  if (call.kind(0) != call.kind(1)) return unsupported("arguments of different types");
  return add_comparison(call, how, a, b);
}

template <const Comparison& how>
Status lower_scalar_comparison(CallContext& call) {
  ETB_ASSIGN(const uint32_t a, call.tensor(0));
  ETB_ASSIGN(const double number, call.number(1));
  // Integers are compared with fractions as floats.
  if (call.kind(0) != NumberKind::kFloat && number == std::trunc(number) &&
      static_cast<double>(to_float(number)) != number)
    return unsupported("argument 1: ", number, ", which floats do not represent");
  return add_comparison(call, how, a, call.add_number(number));
}

Status check_bool(CallContext& call, uint32_t at) {
  if (call.kind(at) != NumberKind::kBool)
    return unsupported("argument ", at, ": ", to_text(call.declared(at).type), ", expected bool");
  return {};
}

Status lower_not(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.tensor(0));
  return call.define(add_not(call, x), 1);
}
Status lower_bitwise_not(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.tensor(0));
  ETB_TRY(check_bool(call, 0));
  return call.define(add_not(call, x), 1);
}

template <BinaryFunction function>
Status lower_logic(CallContext& call) {
  ETB_ASSIGN(const uint32_t a, call.tensor(0));
  ETB_ASSIGN(const uint32_t b, call.tensor(1));
  ETB_TRY(check_bool(call, 0));
  ETB_TRY(check_bool(call, 1));
  return call.define(call.add_binary(function, a, b), 1);
}

Status lower_where(CallContext& call) {
  ETB_ASSIGN(const uint32_t condition, call.tensor(0));
  ETB_ASSIGN(const uint32_t a, call.tensor(1));
  ETB_ASSIGN(const uint32_t b, call.tensor(2));
  ETB_TRY(check_bool(call, 0));
  ETB_TRY(call.check_same_kind(1));
  ETB_TRY(call.check_same_kind(2));
  const Shape shape = call.result().shape;
  const uint32_t operands[] = {condition, a, b};
  const auto is_whole = [&](uint32_t at) { return call.declared(at).shape == shape; };
  const uint32_t like = is_whole(0) ? 0 : is_whole(1) ? 1 : 2;
  // The sizes of an operand that has those of the result: they may be smaller in a run.
  const auto whole = [&](uint32_t at) {
    if (is_whole(at)) return operands[at];
    if (!is_whole(like)) return call.add_expand(operands[at], call.declared(at).shape, shape);
    std::vector<int32_t> sizes;
    for (uint32_t d = 0; d < shape.rank; ++d)
      sizes.push_back(kCopiedSize - static_cast<int32_t>(kMaxRank + d));
    return call.add(Operator::kExpand, {operands[at], operands[like]}, std::move(sizes));
  };
  const uint32_t made = call.add(Operator::kWhere, {whole(0), whole(1), whole(2)});
  return call.define_moved(made, call.magnitude(a) > call.magnitude(b) ? a : b);
}

// ---- Conversions

Status lower_to_copy(CallContext& call) {
  ETB_ASSIGN(const uint32_t x, call.tensor(0));
  const NumberKind from = call.kind(0), to = kind_of(call.result().type);
  if (from == to && (to != NumberKind::kInteger || call.declared(0).type == call.result().type))
    return call.define_moved(x, x);
  switch (to) {
    case NumberKind::kFloat:
      return call.define_moved(x, x);
    case NumberKind::kBool:
      return call.define(add_not(call, add_not(call, x)), 1);
    case NumberKind::kInteger:
      break;
  }
  if (from == NumberKind::kInteger) return call.define(x, call.magnitude(x));
  if (from == NumberKind::kBool) return call.define(x, 1);
  if (nbytes_of(call.result().type) < 4) return unsupported("floats as ", to_text(call.result().type));
  // Exact, however large. Arithmetic on it is rejected unless the floats have a bound, as positions of pixels have.
  const uint32_t whole = call.add_unary(UnaryFunction::kTrunc, x);
  return call.define_exact(whole, call.magnitude(x));
}

constexpr OfficialOp kRows[] = {
    {"aten.abs.default", 2, 2, lower_sign<UnaryFunction::kAbs>},
    {"aten.neg.default", 2, 2, lower_sign<UnaryFunction::kNeg>},
    {"aten.ceil.default", 2, 2, lower_rounding<UnaryFunction::kCeil>},
    {"aten.floor.default", 2, 2, lower_rounding<UnaryFunction::kFloor>},
    {"aten.round.default", 2, 2, lower_rounding<UnaryFunction::kRound>},
    {"aten.trunc.default", 2, 2, lower_rounding<UnaryFunction::kTrunc>},
    {"aten.exp.default", 2, 2, lower_unary<UnaryFunction::kExp>},
    {"aten.log.default", 2, 2, lower_unary<UnaryFunction::kLog>},
    {"aten.log10.default", 2, 2, lower_log10},
    {"aten.sqrt.default", 2, 2, lower_unary<UnaryFunction::kSqrt>},
    {"aten.rsqrt.default", 2, 2, lower_unary<UnaryFunction::kRsqrt>},
    {"aten.reciprocal.default", 2, 2, lower_unary<UnaryFunction::kReciprocal>},
    {"aten.sigmoid.default", 2, 2, lower_unary<UnaryFunction::kSigmoid>},
    {"aten.tanh.default", 2, 2, lower_unary<UnaryFunction::kTanh>},
    {"aten.erf.default", 2, 2, lower_unary<UnaryFunction::kErf>},
    {"aten.sin.default", 2, 2, lower_unary<UnaryFunction::kSin>},
    {"aten.cos.default", 2, 2, lower_unary<UnaryFunction::kCos>},
    {"aten.gelu.default", 3, 3, lower_gelu},
    {"aten.relu.default", 2, 2, lower_relu},
    {"aten.clamp.default", 4, 4, lower_clamp},
    {"aten.hardtanh.default", 4, 4, lower_clamp},
    {"aten.leaky_relu.default", 3, 3, lower_leaky_relu},
    {"aten.hardswish.default", 2, 2, lower_hardswish},
    {"aten.hardshrink.default", 3, 3, lower_hardshrink},
    {"aten.pow.Tensor_Scalar", 3, 3, lower_pow},
    {"aten.add.Tensor", 4, 4, lower_binary<BinaryFunction::kAdd, true>},
    {"aten.sub.Tensor", 4, 4, lower_binary<BinaryFunction::kSub, true>},
    {"aten.mul.Tensor", 3, 3, lower_binary<BinaryFunction::kMul, false>},
    {"aten.div.Tensor", 3, 3, lower_binary<BinaryFunction::kDiv, false>},
    {"aten.div.Tensor_mode", 4, 4, lower_div_mode},
    {"aten.minimum.default", 3, 3, lower_binary<BinaryFunction::kMinimum, false>},
    {"aten.maximum.default", 3, 3, lower_binary<BinaryFunction::kMaximum, false>},
    {"aten.eq.Tensor", 3, 3, lower_comparison<kEq>},
    {"aten.ne.Tensor", 3, 3, lower_comparison<kNe>},
    {"aten.lt.Tensor", 3, 3, lower_comparison<kLt>},
    {"aten.le.Tensor", 3, 3, lower_comparison<kLe>},
    {"aten.gt.Tensor", 3, 3, lower_comparison<kGt>},
    {"aten.ge.Tensor", 3, 3, lower_comparison<kGe>},
    {"aten.eq.Scalar", 3, 3, lower_scalar_comparison<kEq>},
    {"aten.ne.Scalar", 3, 3, lower_scalar_comparison<kNe>},
    {"aten.lt.Scalar", 3, 3, lower_scalar_comparison<kLt>},
    {"aten.le.Scalar", 3, 3, lower_scalar_comparison<kLe>},
    {"aten.gt.Scalar", 3, 3, lower_scalar_comparison<kGt>},
    {"aten.ge.Scalar", 3, 3, lower_scalar_comparison<kGe>},
    {"aten.logical_not.default", 2, 2, lower_not},
    {"aten.bitwise_not.default", 2, 2, lower_bitwise_not},
    {"aten.logical_and.default", 3, 3, lower_logic<BinaryFunction::kMul>},
    {"aten.bitwise_and.Tensor", 3, 3, lower_logic<BinaryFunction::kMul>},
    {"aten.logical_or.default", 3, 3, lower_logic<BinaryFunction::kMaximum>},
    {"aten.bitwise_or.Tensor", 3, 3, lower_logic<BinaryFunction::kMaximum>},
    {"aten.where.self", 4, 4, lower_where},
    {"aten._to_copy.default", 8, 8, lower_to_copy},
    {"dim_order_ops._to_dim_order_copy.default", 8, 8, lower_to_copy},
};

}  // namespace

extern const OfficialOpList elementwise_calls = kRows;

}  // namespace etb::gpu
