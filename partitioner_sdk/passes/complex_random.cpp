// SPDX-License-Identifier: Apache-2.0
// Complex random numbers. Both parts are drawn in one call, as pairs.
#include <numbers>

#include "partitioner_sdk/passes/complex_builder.hpp"

namespace etb::passes {

namespace {

// Pairs of random numbers of a kernel that draws real ones.
ValueId pairs(ComplexBuilder& b, std::string_view op, Dims sizes, Dtype dtype) {
  sizes.emplace_back(2);
  return b.call(op, {std::move(sizes)}, {{"dtype", ops::real_part(dtype)}});
}

// Returns the dtype argument; nothing if the op makes real numbers.
std::optional<Dtype> complex_dtype(const Call& a) {
  for (const Argument& argument : a.arguments())
    if (const auto* dtype = ir::get_if<Dtype>(argument); dtype != nullptr && ops::is_complex(*dtype))
      return *dtype;
  return std::nullopt;
}

Values rand(ComplexBuilder& b, const Call& a) {
  const auto dtype = complex_dtype(a);
  if (!dtype) return {};
  return {b.make_from_pair(pairs(b, "aten.rand.default", a.read_int_list(0, 0).dims(), *dtype))};
}

// The variance of a complex number is the sum of those of its parts: each has half of 1.
Values randn(ComplexBuilder& b, const Call& a) {
  const auto dtype = complex_dtype(a);
  if (!dtype) return {};
  const ValueId numbers = pairs(b, "aten.randn.default", a.read_int_list(0, 0).dims(), *dtype);
  const ValueId scaled = b.call("aten.mul.Scalar", {ValueRef{numbers}, 1 / std::numbers::sqrt2});
  return {b.make_from_pair(scaled)};
}

// The variance is `deviation` squared, and both parts have the mean.
Values normal(ComplexBuilder& b, Dims sizes, Dtype dtype, double mean, double deviation) {
  const ValueId numbers = pairs(b, "aten.randn.default", std::move(sizes), dtype);
  const ValueId scaled = b.call("aten.mul.Scalar", {ValueRef{numbers}, deviation / std::numbers::sqrt2});
  return {b.make_from_pair(b.call("aten.add.Scalar", {ValueRef{scaled}, mean}))};
}
Values normal_like(ComplexBuilder& b, const Call& a) {
  const TensorSpec self = a.read_tensor(0).spec();
  return normal(b, self.sizes, self.dtype, a.read_float(1).number(), a.read_float(2).number());
}
// Computes normal numbers with a mean and a deviation that are numbers. Tensors of means are operands of arithmetic.
Values normal_of_numbers(ComplexBuilder& b, const Call& a) {
  const auto dtype = complex_dtype(a);
  if (!dtype || a.op().schema->overload_name() != "float_float") return {};
  return normal(b, a.read_int_list(2, 0).dims(), *dtype, a.read_float(0).number(), a.read_float(1).number());
}

// Both parts are in [from, to).
Values uniform(ComplexBuilder& b, const Call& a) {
  const TensorSpec self = a.read_tensor(0).spec();
  const double from = a.read_float(1).number(), to = a.read_float(2).number();
  const ValueId numbers = pairs(b, "aten.rand.default", self.sizes, self.dtype);
  const ValueId scaled = b.call("aten.mul.Scalar", {ValueRef{numbers}, to - from});
  return {b.make_from_pair(b.call("aten.add.Scalar", {ValueRef{scaled}, from}))};
}

}  // namespace

std::span<const ComplexRule> complex_random_rules() {
  static constexpr ComplexRule kRows[] = {
      {"aten.normal", normal_of_numbers},
      {"aten.normal_functional", normal_like},
      {"aten.rand", rand},
      {"aten.randn", randn},
      {"aten.uniform", uniform},
  };
  return kRows;
}

}  // namespace etb::passes
