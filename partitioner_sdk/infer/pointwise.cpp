// SPDX-License-Identifier: Apache-2.0
// Element-wise ops.
#include <algorithm>
#include <array>

#include "ops/div.hpp"
#include "ops/where.hpp"
#include "partitioner_sdk/infer/infer.hpp"

namespace etb::infer {

namespace {

using ir::Dim;
using ir::Dims;
using ir::Dtype;
using ir::TensorSpec;

enum class PointwiseDtype { kPromoted, kFloat, kBool, kFirst };

Specs pointwise(const Call& call, std::span<const AnyArgument> operands, PointwiseDtype kind) {
  TensorSpec out;
  for (const AnyArgument& operand : operands) {
    if (const TensorSpec* tensor = operand.find_tensor())
      out.sizes = broadcast(call, out.sizes, tensor->sizes);
  }
  const std::optional<Dtype> promoted = promote_arguments(operands);
  if (!promoted) call.fail("PyTorch promotes the dtypes of the operands to no common dtype");
  const Dtype common = promoted.value_or(Dtype::FLOAT32);
  switch (kind) {
    case PointwiseDtype::kPromoted:
      out.dtype = common;
      break;
    case PointwiseDtype::kFloat:
      out.dtype = ops::is_floating(common) ? common : Dtype::FLOAT32;
      break;
    case PointwiseDtype::kBool:
      out.dtype = Dtype::BOOL;
      break;
    case PointwiseDtype::kFirst:
      out.dtype = call.read_tensor(0).spec().dtype;
      break;
  }
  return {out};
}

// For ops whose first `count` arguments are the operands.
template <size_t count, PointwiseDtype kind>
Specs operands(const Call& call) {
  std::vector<AnyArgument> first;
  for (size_t i = 0; i < count; ++i) first.push_back(call.argument(i));
  return pointwise(call, first, kind);
}

constexpr auto unary = operands<1, PointwiseDtype::kFirst>;
constexpr auto unary_float = operands<1, PointwiseDtype::kFloat>;
constexpr auto unary_bool = operands<1, PointwiseDtype::kBool>;
constexpr auto binary = operands<2, PointwiseDtype::kPromoted>;
constexpr auto binary_float = operands<2, PointwiseDtype::kFloat>;
constexpr auto compare = operands<2, PointwiseDtype::kBool>;
constexpr auto clamp = operands<3, PointwiseDtype::kPromoted>;
template <class C>
Specs divide_with_mode(const C& call) {
  return call.rounding_mode().has_value() ? binary(call) : binary_float(call);
}
Specs where(const ops::where_self<Call>& call) {
  const std::array<AnyArgument, 2> branches = {call.self(), call.other()};
  Specs out = pointwise(call, branches, PointwiseDtype::kPromoted);
  out[0].sizes = broadcast(call, out[0].sizes, call.condition().spec().sizes);
  return out;
}

constexpr ResultLayout kPoint = ResultLayout::kPointwise;

constexpr Rule kRows[] = {
    {"aten.abs.default", unary, kPoint},
    {"aten.acos.default", unary_float, kPoint},
    {"aten.acosh.default", unary_float, kPoint},
    {"aten.add.Scalar", binary, kPoint},
    {"aten.add.Tensor", binary, kPoint},
    {"aten.asin.default", unary_float, kPoint},
    {"aten.asinh.default", unary_float, kPoint},
    {"aten.atan.default", unary_float, kPoint},
    {"aten.atan2.default", binary_float, kPoint},
    {"aten.atanh.default", unary_float, kPoint},
    {"aten.bitwise_and.Scalar", binary, kPoint},
    {"aten.bitwise_and.Tensor", binary, kPoint},
    {"aten.bitwise_not.default", unary, kPoint},
    {"aten.bitwise_or.Scalar", binary, kPoint},
    {"aten.bitwise_or.Tensor", binary, kPoint},
    {"aten.bitwise_xor.Scalar", binary, kPoint},
    {"aten.bitwise_xor.Tensor", binary, kPoint},
    {"aten.ceil.default", unary, kPoint},
    {"aten.clamp.Tensor", clamp, kPoint},
    {"aten.clamp.default", clamp, kPoint},
    {"aten.cos.default", unary_float, kPoint},
    {"aten.cosh.default", unary_float, kPoint},
    {"aten.div.Scalar", binary_float, kPoint},
    row<ops::div_Scalar_mode, divide_with_mode>(kPoint),
    {"aten.div.Tensor", binary_float, kPoint},
    row<ops::div_Tensor_mode, divide_with_mode>(kPoint),
    {"aten.elu.default", unary, kPoint},
    {"aten.eq.Scalar", compare, kPoint},
    {"aten.eq.Tensor", compare, kPoint},
    {"aten.erf.default", unary_float, kPoint},
    {"aten.exp.default", unary_float, kPoint},
    {"aten.expm1.default", unary_float, kPoint},
    {"aten.floor.default", unary, kPoint},
    {"aten.fmod.Scalar", binary, kPoint},
    {"aten.fmod.Tensor", binary, kPoint},
    {"aten.ge.Scalar", compare, kPoint},
    {"aten.ge.Tensor", compare, kPoint},
    {"aten.gelu.default", unary, kPoint},
    {"aten.gt.Scalar", compare, kPoint},
    {"aten.gt.Tensor", compare, kPoint},
    {"aten.hardtanh.default", unary, kPoint},
    {"aten.isinf.default", unary_bool, kPoint},
    {"aten.isnan.default", unary_bool, kPoint},
    {"aten.le.Scalar", compare, kPoint},
    {"aten.le.Tensor", compare, kPoint},
    {"aten.leaky_relu.default", unary, kPoint},
    {"aten.log.default", unary_float, kPoint},
    {"aten.log10.default", unary_float, kPoint},
    {"aten.log1p.default", unary_float, kPoint},
    {"aten.log2.default", unary_float, kPoint},
    {"aten.logical_and.default", compare, kPoint},
    {"aten.logical_not.default", unary_bool, kPoint},
    {"aten.logical_or.default", compare, kPoint},
    {"aten.logical_xor.default", compare, kPoint},
    {"aten.lt.Scalar", compare, kPoint},
    {"aten.lt.Tensor", compare, kPoint},
    {"aten.maximum.default", binary, kPoint},
    {"aten.minimum.default", binary, kPoint},
    {"aten.mul.Scalar", binary, kPoint},
    {"aten.mul.Tensor", binary, kPoint},
    {"aten.ne.Scalar", compare, kPoint},
    {"aten.ne.Tensor", compare, kPoint},
    {"aten.neg.default", unary, kPoint},
    {"aten.pow.Scalar", binary, kPoint},
    {"aten.pow.Tensor_Scalar", binary, kPoint},
    {"aten.pow.Tensor_Tensor", binary, kPoint},
    {"aten.reciprocal.default", unary_float, kPoint},
    {"aten.relu.default", unary, kPoint},
    {"aten.remainder.Scalar", binary, kPoint},
    {"aten.remainder.Tensor", binary, kPoint},
    {"aten.round.default", unary, kPoint},
    {"aten.rsqrt.default", unary_float, kPoint},
    {"aten.sigmoid.default", unary_float, kPoint},
    {"aten.sign.default", unary, kPoint},
    {"aten.sin.default", unary_float, kPoint},
    {"aten.sinh.default", unary_float, kPoint},
    {"aten.sqrt.default", unary_float, kPoint},
    {"aten.sub.Scalar", binary, kPoint},
    {"aten.sub.Tensor", binary, kPoint},
    {"aten.tan.default", unary_float, kPoint},
    {"aten.tanh.default", unary_float, kPoint},
    {"aten.trunc.default", unary, kPoint},
    row<ops::where_self, where>(kPoint),
};

}  // namespace

std::span<const Rule> pointwise_rules() { return kRows; }

}  // namespace etb::infer
