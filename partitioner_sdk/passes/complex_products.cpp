// SPDX-License-Identifier: Apache-2.0
// Complex numbers: matrix products and convolutions, which are linear in each of two operands.
#include "partitioner_sdk/passes/complex_builder.hpp"

namespace etb::passes {

namespace {

// Calls the op with other tensors at the two positions.
Real with_operands(ComplexBuilder& b, const Call& a, ValueId first, ValueId second) {
  std::vector<Argument> args(a.arguments().begin(), a.arguments().end());
  args[0] = ValueRef{first};
  args[1] = ValueRef{second};
  return b.real_value(b.call(a.op().name, std::move(args)));
}

// Both parts of op(x, y) for an op that is linear in x and in y: four real products, or two if one is real.
Parts bilinear(ComplexBuilder& b, const Call& a, ValueId first, ValueId second) {
  const Dtype dtype = ops::real_part(
      infer::promote_dtypes(b.spec(first).dtype, b.spec(second).dtype).value_or(Dtype::COMPLEX64));
  const auto real = [&](ValueId value) { return to_dtype(b, b.real(value), dtype); };
  const auto imaginary = [&](ValueId value) { return to_dtype(b, b.imaginary(value), dtype); };
  const auto product = [&](ValueId x, ValueId y) { return with_operands(b, a, x, y); };
  if (!b.is_complex(first)) {
    const ValueId x = real(first);
    return {product(x, real(second)), product(x, imaginary(second))};
  }
  if (!b.is_complex(second)) {
    const ValueId y = real(second);
    return {product(real(first), y), product(imaginary(first), y)};
  }
  const ValueId xr = real(first), xi = imaginary(first), yr = real(second), yi = imaginary(second);
  return {product(xr, yr) - product(xi, yi), product(xr, yi) + product(xi, yr)};
}

Values matrix_product(ComplexBuilder& b, const Call& a) {
  const ValueId first = a.read_tensor(0), second = a.read_tensor(1);
  const auto dtype = infer::promote_dtypes(b.spec(first).dtype, b.spec(second).dtype);
  return {b.make(bilinear(b, a, first, second), dtype.value_or(Dtype::COMPLEX64))};
}

// beta * self + alpha * (mat1 x mat2)
Values add_product(ComplexBuilder& b, const Call& a) {
  const bool is_batched = a.op().schema->base_name() == "baddbmm";
  const ValueId product =
      b.call(is_batched ? "aten.bmm.default" : "aten.mm.default", {a.argument(1), a.argument(2)});
  const auto scaled = [&](ValueId value, const Argument& factor) {
    return b.call("aten.mul.Tensor", {ValueRef{value}, factor});
  };
  const auto is_number = [](const Argument& argument, double wanted) {
    const auto* dim = ir::get_if<Dim>(argument);
    const auto* number = ir::get_if<double>(argument);
    return (dim != nullptr && dim->is(static_cast<int64_t>(wanted))) ||
           (number != nullptr && *number == wanted);
  };
  const Argument beta = a.argument(3), alpha = a.argument(4);
  const ValueId right = is_number(alpha, 1) ? product : scaled(product, alpha);
  if (is_number(beta, 0)) return {right};
  const ValueId left = is_number(beta, 1) ? ValueId(a.read_tensor(0)) : scaled(a.read_tensor(0), beta);
  return {b.call("aten.add.Tensor", {ValueRef{left}, ValueRef{right}})};
}

// The bias is added once, to the sum of the products.
Values convolution(ComplexBuilder& b, const Call& a) {
  const ValueId first = a.read_tensor(0), second = a.read_tensor(1);
  const bool has_bias = a.argument(2).has_value();
  std::vector<Argument> args(a.arguments().begin(), a.arguments().end());
  args[2] = Nothing{};
  infer::CallState state(b.module(), b.graph(), b.module().op(a.op().name), args);
  const auto dtype = infer::promote_dtypes(b.spec(first).dtype, b.spec(second).dtype);
  const ValueId out = b.make(bilinear(b, Call(state), first, second), dtype.value_or(Dtype::COMPLEX64));
  if (!state.error.empty()) a.fail(state.error);
  if (!has_bias) return {out};
  Dims sizes(b.spec(out).rank() - 1, Dim(1));
  sizes[0] = b.spec(a.read_tensor(2)).sizes.at(0);
  const ValueId bias = reshape(b, a.read_tensor(2), std::move(sizes));
  return {b.call("aten.add.Tensor", {ValueRef{out}, ValueRef{bias}})};
}

// The first operand is conjugated.
Values conjugated_dot(ComplexBuilder& b, const Call& a) {
  const ValueId first = b.call("aten._conj.default", {a.argument(0)});
  const bool is_vecdot = a.op().schema->base_name() == "linalg_vecdot";
  const ValueId products = b.call("aten.mul.Tensor", {ValueRef{first}, a.argument(1)});
  const Dim dim = is_vecdot ? a.read_int(2).dim() : Dim(0);
  return {b.call("aten.sum.dim_IntList", {ValueRef{products}, Dims{dim}})};
}

}  // namespace

std::span<const ComplexRule> complex_product_rules() {
  static constexpr ComplexRule kRows[] = {
      {"aten.addmm", add_product},       {"aten.baddbmm", add_product},          {"aten.bmm", matrix_product},
      {"aten.convolution", convolution}, {"aten.linalg_vecdot", conjugated_dot}, {"aten.mm", matrix_product},
      {"aten.vdot", conjugated_dot},
  };
  return kRows;
}

}  // namespace etb::passes
