// SPDX-License-Identifier: Apache-2.0
// Activations, and arithmetic that the core set expresses with other ops.
#include <cmath>
#include <limits>

#include "ops/__and__.hpp"
#include "ops/__lshift__.hpp"
#include "ops/__or__.hpp"
#include "ops/__rshift__.hpp"
#include "ops/__xor__.hpp"
#include "ops/celu.hpp"
#include "ops/clamp_max.hpp"
#include "ops/clamp_min.hpp"
#include "ops/floor_divide.hpp"
#include "ops/glu.hpp"
#include "ops/hardsigmoid.hpp"
#include "ops/hardswish.hpp"
#include "ops/log_sigmoid.hpp"
#include "ops/log_softmax.hpp"
#include "ops/masked_fill.hpp"
#include "ops/mish.hpp"
#include "ops/nan_to_num.hpp"
#include "ops/negative.hpp"
#include "ops/prelu.hpp"
#include "ops/relu6.hpp"
#include "ops/round.hpp"
#include "ops/rsub.hpp"
#include "ops/selu.hpp"
#include "ops/silu.hpp"
#include "ops/softmax.hpp"
#include "ops/softplus.hpp"
#include "ops/square.hpp"
#include "ops/where.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

// The formulas are PyTorch's (torch/_decomp, torch/_refs), step by step, because the order determines
// rounding and overflow.

Values silu(Builder& b, const ops::silu_default<Call>& a) {
  const ValueId x = a.self();
  return {b.call("aten.mul.Tensor", {ValueRef{x}, ValueRef{b.call("aten.sigmoid.default", {ValueRef{x}})}})};
}

// clamp(clamp(x + 3, min=0), max=6)
ValueId clamped_to_six(Builder& b, ValueId x) {
  const ValueId shifted = b.call("aten.add.Tensor", {ValueRef{x}, Dim(3)});
  const ValueId from_zero = b.call("aten.clamp.default", {ValueRef{shifted}, Dim(0)});
  return b.call("aten.clamp.default", {ValueRef{from_zero}, Nothing{}, Dim(6)});
}
Values hardswish(Builder& b, const ops::hardswish_default<Call>& a) {
  const ValueId x = a.self();
  const ValueId product = b.call("aten.mul.Tensor", {ValueRef{x}, ValueRef{clamped_to_six(b, x)}});
  return {b.call("aten.div.Tensor", {ValueRef{product}, Dim(6)})};
}
Values hardsigmoid(Builder& b, const ops::hardsigmoid_default<Call>& a) {
  return {b.call("aten.div.Tensor", {ValueRef{clamped_to_six(b, a.self())}, Dim(6)})};
}

// log1p(exp(x)), and x itself where both are equal to the last bit.
ValueId plain_softplus(Builder& b, ValueId x, const Argument& threshold) {
  const ValueId log = b.call("aten.log1p.default", {ValueRef{b.call("aten.exp.default", {ValueRef{x}})}});
  const ValueId is_large = b.call("aten.gt.Scalar", {ValueRef{x}, threshold});
  return b.call("aten.where.self", {ValueRef{is_large}, ValueRef{x}, ValueRef{log}});
}
Values softplus(Builder& b, const ops::softplus_default<Call>& a) {
  const Dtype dtype = a.self().spec().dtype;
  const ValueId x = to_dtype(b, a.self(), dtype == Dtype::FLOAT64 ? dtype : Dtype::FLOAT32);
  const ValueId scaled = b.call("aten.mul.Tensor", {ValueRef{x}, a.beta()});
  const ValueId log =
      b.call("aten.log1p.default", {ValueRef{b.call("aten.exp.default", {ValueRef{scaled}})}});
  const ValueId back = b.call("aten.div.Tensor", {ValueRef{log}, a.beta()});
  const ValueId is_large = b.call("aten.gt.Scalar", {ValueRef{scaled}, a.threshold()});
  return {to_dtype(b, b.call("aten.where.self", {ValueRef{is_large}, ValueRef{x}, ValueRef{back}}), dtype)};
}
Values mish(Builder& b, const ops::mish_default<Call>& a) {
  const ValueId x = a.self();
  const ValueId gate = b.call("aten.tanh.default", {ValueRef{plain_softplus(b, x, Dim(20))}});
  return {b.call("aten.mul.Tensor", {ValueRef{x}, ValueRef{gate}})};
}

Values prelu(Builder& b, const ops::prelu_default<Call>& a) {
  const ValueId x = a.self();
  ValueId weight = a.weight();
  // One slope per channel; a 1-d tensor has no channels.
  const size_t rank = b.spec(x).rank();
  Dims sizes(rank, Dim(1));
  if (rank >= 2) {
    sizes[1] = ir::numel(b.symbols(), b.spec(weight).sizes);
    weight = b.call("aten.view.default", {ValueRef{weight}, sizes});
  } else if (b.spec(weight).rank() != rank) {
    weight = b.call("aten.view.default", {ValueRef{weight}, sizes});
  }
  const ValueId is_positive = b.call("aten.gt.Scalar", {ValueRef{x}, Dim(0)});
  const ValueId scaled = b.call("aten.mul.Tensor", {ValueRef{weight}, ValueRef{x}});
  return {b.call("aten.where.self", {ValueRef{is_positive}, ValueRef{x}, ValueRef{scaled}})};
}

Values log_sigmoid(Builder& b, const ops::log_sigmoid_default<Call>& a) {
  const ValueId x = a.self();
  const ValueId zero = b.call("aten.full.default", {Dims{}, Dim(0)},
                              {{"dtype", b.spec(x).dtype},
                               {"layout", ir::Layout::kStrided},
                               {"device", ir::Device{"cpu"}},
                               {"pin_memory", false}});
  const ValueId low = b.call("aten.minimum.default", {ValueRef{zero}, ValueRef{x}});
  const ValueId minus = b.call("aten.neg.default", {ValueRef{b.call("aten.abs.default", {ValueRef{x}})}});
  const ValueId log = b.call("aten.log1p.default", {ValueRef{b.call("aten.exp.default", {ValueRef{minus}})}});
  return {b.call("aten.sub.Tensor", {ValueRef{low}, ValueRef{log}})};
}

Values celu(Builder& b, const ops::celu_default<Call>& a) {
  const ValueId x = a.self();
  const ValueId scaled = b.call("aten.div.Tensor", {ValueRef{x}, a.alpha()});
  const ValueId grown = b.call("aten.expm1.default", {ValueRef{scaled}});
  const ValueId negative = b.call("aten.mul.Tensor", {ValueRef{grown}, a.alpha()});
  const ValueId is_positive = b.call("aten.gt.Scalar", {ValueRef{x}, Dim(0)});
  return {b.call("aten.where.self", {ValueRef{is_positive}, ValueRef{x}, ValueRef{negative}})};
}

Values selu(Builder& b, const ops::selu_default<Call>& a) {
  // Klambauer et al. 2017, equation 14, with PyTorch's digits.
  return {b.call("aten.elu.default",
                 {a.self(), 1.6732632423543772848170429916717, 1.0507009873554804934193349852946})};
}

Values relu6(Builder& b, const ops::relu6_default<Call>& a) {
  return {b.call("aten.hardtanh.default", {a.self(), Dim(0), Dim(6)})};
}

template <class A>
Values softmax_along(Builder& b, const A& a, std::string_view op) {
  const Dtype dtype = a.dtype().value_or(a.self().spec().dtype);
  const ValueId x = to_dtype(b, a.self(), dtype);
  return {b.call(op, {ValueRef{x}, a.dim(), false})};
}
Values softmax(Builder& b, const ops::softmax_int<Call>& a) {
  return softmax_along(b, a, "aten._softmax.default");
}
Values log_softmax(Builder& b, const ops::log_softmax_int<Call>& a) {
  return softmax_along(b, a, "aten._log_softmax.default");
}

Values glu(Builder& b, const ops::glu_default<Call>& a) {
  const ValueId x = a.self();
  const int64_t dim = a.dim().integer();
  const TensorSpec spec = b.spec(x);
  const size_t axis = a.axis(dim, spec.rank());
  if (spec.rank() == 0) return {};
  const Dim size = spec.sizes[axis];
  const Dim half = b.symbols().floor_div(size, 2);
  const auto part = [&](Dim from, Dim to) {
    return b.call("aten.slice.Tensor", {ValueRef{x}, Dim(dim), from, to});
  };
  const ValueId first = part(0, half), second = part(half, size);
  return {b.call("aten.mul.Tensor",
                 {ValueRef{first}, ValueRef{b.call("aten.sigmoid.default", {ValueRef{second}})}})};
}

template <class A>
Values rsub(Builder& b, const A& a) {
  if (a.alpha().get() == Argument(Dim(1))) return {b.call("aten.sub.Tensor", {a.other(), a.self()})};
  const ValueId scaled = b.call("aten.mul.Tensor", {a.self(), a.alpha()});
  return {b.call("aten.sub.Tensor", {a.other(), ValueRef{scaled}})};
}
template <class A>
Values floor_divide(Builder& b, const A& a) {
  return {b.call("aten.div.Tensor_mode", {a.self(), a.other()}, {{"rounding_mode", std::string("floor")}})};
}
// Rounds after `decimals` digits behind the point; before it for a negative number.
Values round_decimals(Builder& b, const ops::round_decimals<Call>& a) {
  const int64_t decimals = a.decimals().integer();
  if (decimals == 0 || !ops::is_floating(a.self().spec().dtype))
    return {b.call("aten.round.default", {a.self()})};
  const double power = std::pow(10.0, std::abs(static_cast<double>(decimals)));
  const char *before = decimals > 0 ? "aten.mul.Tensor" : "aten.div.Tensor",
             *after = decimals > 0 ? "aten.div.Tensor" : "aten.mul.Tensor";
  const ValueId rounded = b.call("aten.round.default", {ValueRef{b.call(before, {a.self(), power})}});
  return {b.call(after, {ValueRef{rounded}, power})};
}
Values square(Builder& b, const ops::square_default<Call>& a) {
  return {b.call("aten.pow.Tensor_Scalar", {a.self(), Dim(2)})};
}
Values negative(Builder& b, const ops::negative_default<Call>& a) {
  return {b.call("aten.neg.default", {a.self()})};
}
Values clamp_min(Builder& b, const ops::clamp_min_default<Call>& a) {
  return {b.call("aten.clamp.default", {a.self(), a.min()})};
}
Values clamp_max(Builder& b, const ops::clamp_max_default<Call>& a) {
  return {b.call("aten.clamp.default", {a.self(), Nothing{}, a.max()})};
}

// A number among the operands of where becomes a 0-d tensor. Its dtype is the other operand's, unless that is
// a number too.
template <class A>
Values where_with_numbers(Builder& b, const A& a) {
  const std::array<infer::AnyArgument, 2> branches = {a.self(), a.other()};
  const auto dtype = infer::promote_arguments(branches);
  const auto as_tensor = [&](const infer::AnyArgument& branch) -> Argument {
    if (branch.find_tensor() != nullptr) return branch;
    return ValueRef{b.call("aten.scalar_tensor.default", {branch},
                           {{"dtype", dtype.value_or(Dtype::FLOAT32)},
                            {"layout", ir::Layout::kStrided},
                            {"device", ir::Device{"cpu"}}})};
  };
  const Argument first = as_tensor(a.self()), second = as_tensor(a.other());
  return {b.call("aten.where.self", {a.condition(), first, second})};
}
Values masked_fill_number(Builder& b, const ops::masked_fill_Scalar<Call>& a) {
  const ValueId value = b.call(
      "aten.scalar_tensor.default", {a.value()},
      {{"dtype", a.self().spec().dtype}, {"layout", ir::Layout::kStrided}, {"device", ir::Device{"cpu"}}});
  return {b.call("aten.where.self", {a.mask(), ValueRef{value}, a.self()})};
}
Values masked_fill_tensor(Builder& b, const ops::masked_fill_Tensor<Call>& a) {
  return {b.call("aten.where.self",
                 {a.mask(), ValueRef{to_dtype(b, a.value(), a.self().spec().dtype)}, a.self()})};
}
Values nan_to_num(Builder& b, const ops::nan_to_num_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  if (!ops::is_floating(in.dtype)) return {b.call("aten.clone.default", {a.self()})};
  const double largest = in.dtype == Dtype::FLOAT64    ? std::numeric_limits<double>::max()
                         : in.dtype == Dtype::FLOAT16  ? 65504.0
                         : in.dtype == Dtype::BFLOAT16 ? 0x1.FEp127
                                                       : std::numeric_limits<float>::max();
  ValueId x = a.self();
  const auto put = [&](ValueId where, double value) {
    const ValueId number = b.call("aten.scalar_tensor.default", {value}, {{"dtype", in.dtype}});
    x = b.call("aten.where.self", {ValueRef{where}, ValueRef{number}, ValueRef{x}});
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  put(b.call("aten.isnan.default", {a.self()}), a.nan().has_value() ? a.nan().number() : 0.0);
  put(b.call("aten.eq.Scalar", {a.self(), kInfinity}),
      a.posinf().has_value() ? a.posinf().number() : largest);
  put(b.call("aten.eq.Scalar", {a.self(), -kInfinity}),
      a.neginf().has_value() ? a.neginf().number() : -largest);
  return {x};
}
// Maps Python's operators, such as __and__, to the names of the core set.
template <class A>
Values bitwise(Builder& b, const A& a) {
  std::string op = A::kName;  // "aten.__and__.Scalar"
  op.replace(op.find("__"), 2, "bitwise_").erase(op.rfind("__"), 2);
  return {b.call(op, {a.self(), a.other()})};
}
// Maps << and >>, whose overloads for a number have another name there.
template <class A>
Values shift(Builder& b, const A& a) {
  const std::string_view op = A::kName;
  const bool is_left = op.starts_with("aten.__l"), is_number = op.ends_with(".Scalar");
  return {b.call(std::string("aten.bitwise_") + (is_left ? "left" : "right") + "_shift.Tensor" +
                     (is_number ? "_Scalar" : ""),
                 {a.self(), a.other()})};
}

}  // namespace

std::span<const Decomposition> activation_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_and_Scalar, bitwise>(),
      row<ops::_and_Tensor, bitwise>(),
      row<ops::_lshift_Scalar, shift>(),
      row<ops::_lshift_Tensor, shift>(),
      row<ops::_or_Scalar, bitwise>(),
      row<ops::_or_Tensor, bitwise>(),
      row<ops::_rshift_Scalar, shift>(),
      row<ops::_rshift_Tensor, shift>(),
      row<ops::_xor_Scalar, bitwise>(),
      row<ops::_xor_Tensor, bitwise>(),
      row<ops::celu_default, celu>(),
      row<ops::clamp_max_default, clamp_max>(),
      row<ops::clamp_min_default, clamp_min>(),
      row<ops::floor_divide_Scalar, floor_divide>(),
      row<ops::floor_divide_default, floor_divide>(),
      row<ops::glu_default, glu>(),
      row<ops::hardsigmoid_default, hardsigmoid>(),
      row<ops::hardswish_default, hardswish>(),
      row<ops::log_sigmoid_default, log_sigmoid>(),
      row<ops::log_softmax_int, log_softmax>(),
      row<ops::masked_fill_Scalar, masked_fill_number>(),
      row<ops::masked_fill_Tensor, masked_fill_tensor>(),
      row<ops::mish_default, mish>(),
      row<ops::nan_to_num_default, nan_to_num>(),
      row<ops::negative_default, negative>(),
      row<ops::prelu_default, prelu>(),
      row<ops::relu6_default, relu6>(),
      row<ops::round_decimals, round_decimals>(),
      row<ops::rsub_Scalar, rsub>(),
      row<ops::rsub_Tensor, rsub>(),
      row<ops::selu_default, selu>(),
      row<ops::silu_default, silu>(),
      row<ops::softmax_int, softmax>(),
      row<ops::softplus_default, softplus>(),
      row<ops::square_default, square>(),
      row<ops::where_Scalar, where_with_numbers>(),
      row<ops::where_ScalarOther, where_with_numbers>(),
      row<ops::where_ScalarSelf, where_with_numbers>(),
  };
  return kRows;
}

}  // namespace etb::passes
