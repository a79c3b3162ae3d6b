// SPDX-License-Identifier: Apache-2.0
// Complex numbers: arithmetic, comparisons and norms.
#include <cmath>

#include "partitioner_sdk/passes/complex_builder.hpp"

namespace etb::passes {

namespace {

// The dtype that PyTorch gives a result of the first `count` arguments.
Dtype promoted(const Call& a, size_t count) {
  std::vector<infer::AnyArgument> operands;
  for (size_t i = 0; i < count; ++i) operands.push_back(a.argument(i));
  return infer::promote_arguments(operands).value_or(Dtype::COMPLEX64);
}

// Arguments of the op that are neither tensors nor numbers of arithmetic.
bool has_rounding(const Call& a) {
  const int position = a.op().schema->find_argument("rounding_mode");
  return position >= 0 && a.argument(static_cast<size_t>(position)).has_value();
}

// self + alpha * other. Without a complex or scaled operand on one side the other one passes through.
template <int sign>
Values sum(ComplexBuilder& b, const Call& a) {
  Parts x = b.parts(a.argument(0)), y = b.parts(a.argument(1));
  const int alpha = a.op().schema->find_argument("alpha");
  if (alpha >= 0 && a.argument(static_cast<size_t>(alpha)).has_value())
    y = multiply(y, b.parts(a.argument(static_cast<size_t>(alpha))));
  if (sign > 0) return {b.make({x.re + y.re, x.im + y.im}, promoted(a, 2))};
  return {b.make({x.re - y.re, x.im - y.im}, promoted(a, 2))};
}
Values reversed_difference(ComplexBuilder& b, const Call& a) {
  const int alpha = a.op().schema->find_argument("alpha");
  const Parts x = multiply(b.parts(a.argument(0)), b.parts(a.argument(static_cast<size_t>(alpha))));
  const Parts y = b.parts(a.argument(1));
  return {b.make({y.re - x.re, y.im - x.im}, promoted(a, 2))};
}
Values product(ComplexBuilder& b, const Call& a) {
  const Parts x = b.parts(a.argument(0));
  Parts out = multiply(x, b.parts(a.argument(1)));
  // A factor of 0 leaves no tensor.
  if (out.re.is_number() && out.im.is_number() && !x.re.is_number())
    out.re = b.real_value(b.filled(x.re.id, out.re.number));
  return {b.make(out, promoted(a, 2))};
}
Values quotient(ComplexBuilder& b, const Call& a) {
  if (has_rounding(a)) return {};
  return {b.make(divide(b.parts(a.argument(0)), b.parts(a.argument(1))), promoted(a, 2))};
}
Values reciprocal(ComplexBuilder& b, const Call& a) {
  return {b.make(divide({b.number(1), b.number(0)}, b.parts(a.argument(0))), promoted(a, 1))};
}

Values magnitude(ComplexBuilder& b, const Call& a) { return {absolute(b.parts(a.argument(0))).id}; }
Values angle(ComplexBuilder& b, const Call& a) {
  const Parts x = b.parts(a.argument(0));
  return {compute("atan2.default", x.im, x.re).id};
}
// The number divided by its magnitude; 0 stays.
Values direction(ComplexBuilder& b, const Call& a) {
  const Parts x = b.parts(a.argument(0));
  const Real length = absolute(x), is_zero = compute("eq.Scalar", length, b.number(0));
  const auto unit = [&](Real part) { return choose(is_zero, b.number(0), part / length); };
  return {b.make({unit(x.re), unit(x.im)}, promoted(a, 1))};
}

// eq: both parts are equal. ne: one of them differs.
template <bool is_equal>
Values compare(ComplexBuilder& b, const Call& a) {
  const Parts x = b.parts(a.argument(0)), y = b.parts(a.argument(1));
  const auto part = [&](Real p, Real q) {
    const bool is_number = p.is_number() || q.is_number();
    if (p.is_number()) std::swap(p, q);
    return is_equal ? compute(is_number ? "eq.Scalar" : "eq.Tensor", p, q)
                    : compute(is_number ? "ne.Scalar" : "ne.Tensor", p, q);
  };
  const Real re = part(x.re, y.re), im = part(x.im, y.im);
  return {compute(is_equal ? "logical_and.default" : "logical_or.default", re, im).id};
}

// True where one part (or, for is_all, each part) has the property.
template <bool is_all>
Values property(ComplexBuilder& b, const Call& a) {
  const Parts x = b.parts(a.argument(0));
  const std::string op = std::string(a.op().schema->base_name()) + ".default";
  return {compute(is_all ? "logical_and.default" : "logical_or.default", compute(op, x.re), compute(op, x.im))
              .id};
}
Values is_real(ComplexBuilder& b, const Call& a) {
  return {compute("eq.Scalar", b.parts(a.argument(0)).im, b.number(0)).id};
}

// Calls the op with other arguments. The results of an exported node have its specs, since those of some ops cannot
// be inferred.
Values call_again(ComplexBuilder& b, const Call& a, std::vector<Argument> args) {
  if (b.declared().empty() || infer::find_rule(a.op().schema) != nullptr)
    return b.call_all(a.op().name, std::move(args));
  return b.add_declared(b.module().op(a.op().name), std::move(args), b.declared());
}

// Ops that only ask whether numbers are 0 read bools.
Values of_bools(ComplexBuilder& b, const Call& a) {
  std::vector<Argument> args;
  for (const Argument& argument : a.arguments()) {
    const auto* ref = ir::get_if<ValueRef>(argument);
    args.push_back(ref == nullptr ? argument : Argument(ValueRef{to_dtype(b, ref->id, Dtype::BOOL)}));
  }
  return call_again(b, a, std::move(args));
}

// Norms depend on magnitudes only.
Values of_magnitudes(ComplexBuilder& b, const Call& a) {
  std::vector<Argument> args;
  for (const Argument& argument : a.arguments()) {
    const auto* ref = ir::get_if<ValueRef>(argument);
    const auto* dtype = ir::get_if<Dtype>(argument);
    if (ref != nullptr && b.is_complex(ref->id))
      args.emplace_back(ValueRef{absolute(b.parts(ref->id)).id});
    else
      args.push_back(dtype == nullptr ? argument : Argument(ops::real_part(*dtype)));
  }
  return call_again(b, a, std::move(args));
}

// The variance of complex numbers is real: that of both parts together.
Values variance(ComplexBuilder& b, const Call& a) {
  const ValueId self = a.read_tensor(0);
  std::vector<Argument> args(a.arguments().begin(), a.arguments().end());
  args[0] = ValueRef{b.real(self)};
  const Real re = b.real_value(b.call(a.op().name, args));
  args[0] = ValueRef{b.imaginary(self)};
  return {(re + b.real_value(b.call(a.op().name, args))).id};
}

// Products of the first numbers: each step doubles the number of factors.
Values running_product(ComplexBuilder& b, const Call& a) {
  ValueId value = a.read_tensor(0);
  for (const Argument& argument : a.arguments())
    if (const auto* dtype = ir::get_if<Dtype>(argument)) value = to_dtype(b, value, *dtype);
  const TensorSpec in = b.spec(value);
  if (in.rank() == 0) return {value};
  const Dim axis = static_cast<int64_t>(a.axis(a.read_int(1).integer(), in.rank()));
  const Dim size = in.sizes[static_cast<size_t>(axis.value())];
  if (!size.is_static() || size.value() > 65536) {
    a.fail("the dimension has " + b.symbols().format(size) + " complex numbers, expected at most 65536");
    return {};
  }
  for (int64_t step = 1; step < size.value(); step *= 2) {
    const auto slice = [&](int64_t start, int64_t end) {
      return b.call("aten.slice.Tensor", {ValueRef{value}, axis, Dim(start), Dim(end)});
    };
    const ValueId product = b.call(
        "aten.mul.Tensor", {ValueRef{slice(step, size.value())}, ValueRef{slice(0, size.value() - step)}});
    const ir::ValueList both{{slice(0, step), product}};
    value = b.call("aten.cat.default", {both, axis});
  }
  return {value};
}

// The number of nodes grows with the logarithm.
constexpr int64_t kMaxFactors = int64_t{1} << 20;

// Multiplies along one dimension by halves. The product of nothing is 1.
ValueId product_along(ComplexBuilder& b, ValueId value, int64_t axis) {
  TensorSpec spec = b.spec(value);
  int64_t size = spec.sizes[static_cast<size_t>(axis)].value();
  if (size == 0) {
    spec.sizes[static_cast<size_t>(axis)] = Dim(1);
    return b.call("aten.full.default", {spec.sizes, Dim(1)}, {{"dtype", spec.dtype}});
  }
  const auto slice = [&](ValueId from, int64_t start, int64_t end) {
    return b.call("aten.slice.Tensor", {ValueRef{from}, Dim(axis), Dim(start), Dim(end)});
  };
  while (size > 1) {
    const int64_t half = size / 2;
    ValueId next =
        b.call("aten.mul.Tensor", {ValueRef{slice(value, 0, half)}, ValueRef{slice(value, half, 2 * half)}});
    if (size % 2 != 0) {
      const ir::ValueList both{{next, slice(value, size - 1, size)}};
      next = b.call("aten.cat.default", {both, Dim(axis)});
    }
    value = next;
    size = half + size % 2;
  }
  return value;
}
Values product_of_all(ComplexBuilder& b, const Call& a) {
  ValueId value = a.read_tensor(0);
  for (const Argument& argument : a.arguments())
    if (const auto* dtype = ir::get_if<Dtype>(argument)) value = to_dtype(b, value, *dtype);
  const bool has_dim = a.op().schema->find_argument("dim") >= 0;
  if (!has_dim) value = reshape(b, value, {Dim(-1)});
  const TensorSpec in = b.spec(value);
  const int64_t wanted = has_dim ? a.read_int(1).integer() : 0;
  if (in.rank() == 0) return {value};
  const auto axis = static_cast<int64_t>(a.axis(wanted, in.rank()));
  const Dim size = in.sizes[static_cast<size_t>(axis)];
  if (!size.is_static() || size.value() > kMaxFactors) {
    a.fail("the dimension has " + b.symbols().format(size) +
           " complex numbers, expected a constant of at most " + std::to_string(kMaxFactors));
    return {};
  }
  const ValueId out = product_along(b, value, axis);
  if (has_dim && a.read_bool(2)) return {out};
  return {b.call("aten.squeeze.dims", {ValueRef{out}, Dims{Dim(axis)}})};
}

}  // namespace

Parts multiply(Parts x, Parts y) {
  // One after the other: the order of operands is the compiler's choice, and so would be that of the nodes.
  const Real first = x.re * y.re, second = x.im * y.im;
  const Real re = first - second;
  const Real third = x.re * y.im, fourth = x.im * y.re;
  return {re, third + fourth};
}

Parts divide(Parts x, Parts y) {
  if (y.im.is(0)) return {x.re / y.re, x.im / y.re};
  if (y.re.is_number() && y.im.is_number()) {
    const double scale = std::max(std::abs(y.re.number), std::abs(y.im.number));
    const double re = y.re.number / scale, im = y.im.number / scale;
    const double norm = (re * re + im * im) * scale;
    return multiply(x, {{x.re.b, ir::kNoValue, re / norm}, {x.re.b, ir::kNoValue, -im / norm}});
  }
  const Real scale = compute("maximum.default", compute("abs.default", y.re), compute("abs.default", y.im));
  const Parts unit{y.re / scale, y.im / scale};
  const Real norm = unit.re * unit.re + unit.im * unit.im;
  const Parts scaled{x.re / scale, x.im / scale};
  const Parts top = multiply(scaled, {unit.re, -unit.im});
  return {top.re / norm, top.im / norm};
}

Real absolute(Parts x) {
  return x.im.is(0) ? compute("abs.default", x.re) : compute("hypot.default", x.re, x.im);
}

std::span<const ComplexRule> complex_arithmetic_rules() {
  static constexpr ComplexRule kRows[] = {
      {"aten.abs", magnitude},
      {"aten.absolute", magnitude},
      {"aten.add", sum<1>},
      {"aten.all", of_bools},
      {"aten.angle", angle},
      {"aten.any", of_bools},
      {"aten.argwhere", of_bools},
      {"aten.count_nonzero", of_bools},
      {"aten.cumprod", running_product},
      {"aten.div", quotient},
      {"aten.eq", compare<true>},
      {"aten.frobenius_norm", of_magnitudes},
      {"aten.isfinite", property<true>},
      {"aten.isinf", property<false>},
      {"aten.isnan", property<false>},
      {"aten.isreal", is_real},
      {"aten.linalg_norm", of_magnitudes},
      {"aten.linalg_vector_norm", of_magnitudes},
      {"aten.logical_and", of_bools},
      {"aten.logical_not", of_bools},
      {"aten.logical_or", of_bools},
      {"aten.logical_xor", of_bools},
      {"aten.mul", product},
      {"aten.ne", compare<false>},
      {"aten.nonzero", of_bools},
      {"aten.nonzero_static", of_bools},
      {"aten.norm", of_magnitudes},
      {"aten.prod", product_of_all},
      {"aten.reciprocal", reciprocal},
      {"aten.rsub", reversed_difference},
      {"aten.sgn", direction},
      {"aten.sub", sum<-1>},
      {"aten.var", variance},
  };
  return kRows;
}

}  // namespace etb::passes
