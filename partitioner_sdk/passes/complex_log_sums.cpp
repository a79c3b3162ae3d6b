// SPDX-License-Identifier: Apache-2.0
// Complex numbers: logarithms of sums of exponentials.
#include "partitioner_sdk/passes/complex_builder.hpp"

namespace etb::passes {

namespace {

// log of the sum of exp(x), without overflow: the largest real part is taken out of the sum.
Values log_of_sum(ComplexBuilder& b, const Call& a) {
  const ValueId self = a.read_tensor(0);
  const ValueId largest = b.call("aten.amax.default", {ValueRef{b.real(self)}, a.argument(1), true});
  const ValueId is_infinite = b.call("aten.isinf.default", {ValueRef{largest}});
  const ValueId high = b.call("aten.where.ScalarSelf", {ValueRef{is_infinite}, 0.0, ValueRef{largest}});
  const ValueId rest = b.call("aten.sub.Tensor", {ValueRef{self}, ValueRef{high}});
  const ValueId powers = b.call("aten.exp.default", {ValueRef{rest}});
  const ValueId sum = b.call("aten.sum.dim_IntList", {ValueRef{powers}, a.argument(1), a.argument(2)});
  const ValueId log = b.call("aten.log.default", {ValueRef{sum}});
  const ValueId shape = b.real(log);
  const ValueId again = b.call("aten.view.default", {ValueRef{high}, Argument(sizes_of(b, shape))});
  return {b.call("aten.add.Tensor", {ValueRef{log}, ValueRef{again}})};
}

// log(exp(x) + exp(y)) as high + log1p(exp(low - high)), where high has the larger real part. The difference of equal
// infinities is NaN: both -inf give the lower operand, as in PyTorch, both +inf the logarithm of the infinite sum.
Values log_of_two(ComplexBuilder& b, const Call& a) {
  std::vector<infer::AnyArgument> operands{a.argument(0), a.argument(1)};
  const Dtype dtype = infer::promote_arguments(operands).value_or(Dtype::COMPLEX64);
  const auto tensors = [&](ValueId value) {
    return Parts{b.real_value(b.real(value)), b.real_value(b.imaginary(value))};
  };
  const Parts x = tensors(a.read_tensor(0)), y = tensors(a.read_tensor(1));
  const auto either = [](Real condition, Parts yes, Parts no) {
    return Parts{choose(condition, yes.re, no.re), choose(condition, yes.im, no.im)};
  };
  const auto one = [&](std::string_view op, ValueId value) { return b.call(op, {ValueRef{value}}); };
  const auto two = [&](std::string_view op, ValueId first, ValueId second) {
    return b.call(op, {ValueRef{first}, ValueRef{second}});
  };
  const Real is_less = compute("lt.Tensor", x.re, y.re);
  const Parts low = either(is_less, x, y), high = either(is_less, y, x);
  const ValueId lower = b.make(low, dtype), higher = b.make(high, dtype);
  const ValueId ratio = one("aten.exp.default", two("aten.sub.Tensor", lower, higher));
  const ValueId usual = two("aten.add.Tensor", one("aten.log1p.default", ratio), higher);
  const ValueId sum = two("aten.add.Tensor", one("aten.exp.default", lower), one("aten.exp.default", higher));
  const Parts infinite = b.parts(one("aten.log.default", sum));
  const Real is_tied = compute("logical_and.default", compute("isinf.default", high.re),
                               compute("eq.Tensor", low.re, high.re));
  const Real is_nothing = compute("lt.Scalar", high.re, b.number(0));
  return {b.make(either(is_tied, either(is_nothing, low, infinite), b.parts(usual)), dtype)};
}

// A kernel adds one number after the other, because the order decides between angles that differ by whole turns.
Values running_log_of_sum(ComplexBuilder& b, const Call& a) {
  const ValueId self = b.whole(a.read_tensor(0));
  return {b.make_from_whole(b.call_unchanged(a.op().name, {ValueRef{self}, a.argument(1)}))};
}

}  // namespace

std::span<const ComplexRule> complex_log_sum_rules() {
  static constexpr ComplexRule kRows[] = {
      {"aten.logaddexp", log_of_two},
      {"aten.logcumsumexp", running_log_of_sum},
      {"aten.logsumexp", log_of_sum},
  };
  return kRows;
}

}  // namespace etb::passes
