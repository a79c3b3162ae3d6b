// SPDX-License-Identifier: Apache-2.0
// Activations, and arithmetic that the core set writes otherwise.
#include <cmath>
#include <limits>

#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

// The formulas are PyTorch's (torch/_decomp, torch/_refs), step by step, because the order decides rounding and overflow.

Values silu(Builder& b, const Arguments& a) {
  const ValueId x = a.value(0);
  return {b.call("aten.mul.Tensor", {ValueRef{x}, ValueRef{b.call("aten.sigmoid.default", {ValueRef{x}})}})};
}

// clamp(clamp(x + 3, min=0), max=6)
ValueId clamped_to_six(Builder& b, ValueId x) {
  const ValueId shifted = b.call("aten.add.Tensor", {ValueRef{x}, Dim(3)});
  const ValueId from_zero = b.call("aten.clamp.default", {ValueRef{shifted}, Dim(0)});
  return b.call("aten.clamp.default", {ValueRef{from_zero}, Nothing{}, Dim(6)});
}
Values hardswish(Builder& b, const Arguments& a) {
  const ValueId x = a.value(0);
  const ValueId product = b.call("aten.mul.Tensor", {ValueRef{x}, ValueRef{clamped_to_six(b, x)}});
  return {b.call("aten.div.Tensor", {ValueRef{product}, Dim(6)})};
}
Values hardsigmoid(Builder& b, const Arguments& a) {
  return {b.call("aten.div.Tensor", {ValueRef{clamped_to_six(b, a.value(0))}, Dim(6)})};
}

// log1p(exp(x)), and x itself where that is the same to the last bit.
ValueId plain_softplus(Builder& b, ValueId x, const Argument& threshold) {
  const ValueId log = b.call("aten.log1p.default", {ValueRef{b.call("aten.exp.default", {ValueRef{x}})}});
  const ValueId is_large = b.call("aten.gt.Scalar", {ValueRef{x}, threshold});
  return b.call("aten.where.self", {ValueRef{is_large}, ValueRef{x}, ValueRef{log}});
}
Values softplus(Builder& b, const Arguments& a) {
  const ValueId x = a.value(0);
  const ValueId scaled = b.call("aten.mul.Tensor", {ValueRef{x}, a.argument(1)});
  const ValueId log =
      b.call("aten.log1p.default", {ValueRef{b.call("aten.exp.default", {ValueRef{scaled}})}});
  const ValueId back = b.call("aten.div.Tensor", {ValueRef{log}, a.argument(1)});
  const ValueId is_large = b.call("aten.gt.Scalar", {ValueRef{scaled}, a.argument(2)});
  return {b.call("aten.where.self", {ValueRef{is_large}, ValueRef{x}, ValueRef{back}})};
}
Values mish(Builder& b, const Arguments& a) {
  const ValueId x = a.value(0);
  const ValueId gate = b.call("aten.tanh.default", {ValueRef{plain_softplus(b, x, Dim(20))}});
  return {b.call("aten.mul.Tensor", {ValueRef{x}, ValueRef{gate}})};
}

Values prelu(Builder& b, const Arguments& a) {
  const ValueId x = a.value(0);
  ValueId weight = a.value(1);
  // One slope a channel; a tensor of one dimension has none.
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

Values log_sigmoid(Builder& b, const Arguments& a) {
  const ValueId x = a.value(0);
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

Values celu(Builder& b, const Arguments& a) {
  const ValueId x = a.value(0);
  const ValueId scaled = b.call("aten.div.Tensor", {ValueRef{x}, a.argument(1)});
  const ValueId grown = b.call("aten.expm1.default", {ValueRef{scaled}});
  const ValueId negative = b.call("aten.mul.Tensor", {ValueRef{grown}, a.argument(1)});
  const ValueId is_positive = b.call("aten.gt.Scalar", {ValueRef{x}, Dim(0)});
  return {b.call("aten.where.self", {ValueRef{is_positive}, ValueRef{x}, ValueRef{negative}})};
}

Values selu(Builder& b, const Arguments& a) {
  // Klambauer et al. 2017, equation 14, with the digits that PyTorch has.
  return {b.call("aten.elu.default",
                 {a.ref(0), 1.6732632423543772848170429916717, 1.0507009873554804934193349852946})};
}

Values relu6(Builder& b, const Arguments& a) {
  return {b.call("aten.hardtanh.default", {a.ref(0), Dim(0), Dim(6)})};
}

Values softmax_along(Builder& b, const Arguments& a, std::string_view op) {
  const Dtype dtype = a.dtype(2).value_or(a.tensor(0).dtype);
  const ValueId x = to_dtype(b, a.value(0), dtype);
  return {b.call(op, {ValueRef{x}, a.argument(1), false})};
}
Values softmax(Builder& b, const Arguments& a) { return softmax_along(b, a, "aten._softmax.default"); }
Values log_softmax(Builder& b, const Arguments& a) {
  return softmax_along(b, a, "aten._log_softmax.default");
}

Values glu(Builder& b, const Arguments& a) {
  const ValueId x = a.value(0);
  const int64_t dim = a.integer(1);
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

Values rsub(Builder& b, const Arguments& a) {
  if (!(a.argument(2) == Argument(Dim(1)))) a.fail("alpha other than 1");
  return {b.call("aten.sub.Tensor", {a.argument(1), a.argument(0)})};
}
Values floor_divide(Builder& b, const Arguments& a) {
  return {b.call("aten.div.Tensor_mode", {a.argument(0), a.argument(1)},
                 {{"rounding_mode", std::string("floor")}})};
}
Values square(Builder& b, const Arguments& a) {
  return {b.call("aten.pow.Tensor_Scalar", {a.ref(0), Dim(2)})};
}
Values negative(Builder& b, const Arguments& a) { return {b.call("aten.neg.default", {a.ref(0)})}; }
Values clamp_min(Builder& b, const Arguments& a) {
  return {b.call("aten.clamp.default", {a.ref(0), a.argument(1)})};
}
Values clamp_max(Builder& b, const Arguments& a) {
  return {b.call("aten.clamp.default", {a.ref(0), Nothing{}, a.argument(1)})};
}

// A number in a place of where becomes a 0-d tensor; of the other operand's dtype unless that is a number too.
Values where_with_numbers(Builder& b, const Arguments& a) {
  const std::array<size_t, 2> branches = {1, 2};
  const auto dtype = infer::promote_arguments(a, branches);
  const auto as_tensor = [&](size_t i) -> Argument {
    if (a.find_tensor(i) != nullptr) return a.argument(i);
    return ValueRef{b.call("aten.scalar_tensor.default", {a.argument(i)},
                           {{"dtype", dtype.value_or(Dtype::FLOAT32)},
                            {"layout", ir::Layout::kStrided},
                            {"device", ir::Device{"cpu"}}})};
  };
  const Argument first = as_tensor(1), second = as_tensor(2);
  return {b.call("aten.where.self", {a.ref(0), first, second})};
}
Values masked_fill_number(Builder& b, const Arguments& a) {
  const ValueId value =
      b.call("aten.scalar_tensor.default", {a.argument(2)},
             {{"dtype", a.tensor(0).dtype}, {"layout", ir::Layout::kStrided}, {"device", ir::Device{"cpu"}}});
  return {b.call("aten.where.self", {a.ref(1), ValueRef{value}, a.ref(0)})};
}
Values masked_fill_tensor(Builder& b, const Arguments& a) {
  return {
      b.call("aten.where.self", {a.ref(1), ValueRef{to_dtype(b, a.value(2), a.tensor(0).dtype)}, a.ref(0)})};
}
// self, nan, posinf, neginf
Values nan_to_num(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  if (!ops::is_floating(in.dtype)) return {b.call("aten.clone.default", {a.ref(0)})};
  const double largest = in.dtype == Dtype::FLOAT64    ? std::numeric_limits<double>::max()
                         : in.dtype == Dtype::FLOAT16  ? 65504.0
                         : in.dtype == Dtype::BFLOAT16 ? 0x1.FEp127
                                                       : std::numeric_limits<float>::max();
  ValueId x = a.value(0);
  const auto put = [&](ValueId where, double value) {
    const ValueId number = b.call("aten.scalar_tensor.default", {value}, {{"dtype", in.dtype}});
    x = b.call("aten.where.self", {ValueRef{where}, ValueRef{number}, ValueRef{x}});
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  put(b.call("aten.isnan.default", {a.ref(0)}), a.has(1) ? a.number(1) : 0.0);
  put(b.call("aten.eq.Scalar", {a.ref(0), kInfinity}), a.has(2) ? a.number(2) : largest);
  put(b.call("aten.eq.Scalar", {a.ref(0), -kInfinity}), a.has(3) ? a.number(3) : -largest);
  return {x};
}
Values bitwise(Builder& b, const Arguments& a, std::string_view op) {
  return {b.call(op, {a.argument(0), a.argument(1)})};
}

}  // namespace

std::span<const Decomposition> activation_decompositions() {
  static constexpr Decomposition kRows[] = {
      {"aten.__and__.Scalar",
       [](Builder& b, const Arguments& a) { return bitwise(b, a, "aten.bitwise_and.Scalar"); }},
      {"aten.__and__.Tensor",
       [](Builder& b, const Arguments& a) { return bitwise(b, a, "aten.bitwise_and.Tensor"); }},
      {"aten.__or__.Scalar",
       [](Builder& b, const Arguments& a) { return bitwise(b, a, "aten.bitwise_or.Scalar"); }},
      {"aten.__or__.Tensor",
       [](Builder& b, const Arguments& a) { return bitwise(b, a, "aten.bitwise_or.Tensor"); }},
      {"aten.celu.default", celu},
      {"aten.clamp_max.default", clamp_max},
      {"aten.clamp_min.default", clamp_min},
      {"aten.floor_divide.Scalar", floor_divide},
      {"aten.floor_divide.default", floor_divide},
      {"aten.glu.default", glu},
      {"aten.hardsigmoid.default", hardsigmoid},
      {"aten.hardswish.default", hardswish},
      {"aten.log_sigmoid.default", log_sigmoid},
      {"aten.log_softmax.int", log_softmax},
      {"aten.masked_fill.Scalar", masked_fill_number},
      {"aten.masked_fill.Tensor", masked_fill_tensor},
      {"aten.mish.default", mish},
      {"aten.nan_to_num.default", nan_to_num},
      {"aten.negative.default", negative},
      {"aten.prelu.default", prelu},
      {"aten.relu6.default", relu6},
      {"aten.rsub.Scalar", rsub},
      {"aten.rsub.Tensor", rsub},
      {"aten.selu.default", selu},
      {"aten.silu.default", silu},
      {"aten.softmax.int", softmax},
      {"aten.softplus.default", softplus},
      {"aten.square.default", square},
      {"aten.where.Scalar", where_with_numbers},
      {"aten.where.ScalarOther", where_with_numbers},
      {"aten.where.ScalarSelf", where_with_numbers},
  };
  return kRows;
}

}  // namespace etb::passes
