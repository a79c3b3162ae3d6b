// SPDX-License-Identifier: Apache-2.0
// Complex numbers: powers, exponentials, logarithms, trigonometric functions. The branch cuts are those of C99's
// complex.h; the inverse functions follow Kahan, "Branch cuts for complex elementary functions" (1987).
#include <cmath>
#include <numbers>

#include "partitioner_sdk/passes/complex_builder.hpp"

namespace etb::passes {

namespace {

Real sine(Real x) { return compute("sin.default", x); }
Real cosine(Real x) { return compute("cos.default", x); }
Real exponential(Real x) { return compute("exp.default", x); }
Real magnitude(Real x) { return compute("abs.default", x); }
Real angle(Real y, Real x) { return compute("atan2.default", y, x); }
// The magnitude of x with the sign of y.
Real with_sign(Real x, Real y) { return compute("copysign.Tensor", x, y); }
Real less(Real x, double y) { return compute("lt.Scalar", x, {x.b, ir::kNoValue, y}); }
Real equal(Real x, double y) { return compute("eq.Scalar", x, {x.b, ir::kNoValue, y}); }
Real constant(Real x, double y) { return {x.b, ir::kNoValue, y}; }

Parts conjugate(Parts x) { return {x.re, -x.im}; }
Parts times_i(Parts x) { return {-x.im, x.re}; }
Parts times_minus_i(Parts x) { return {x.im, -x.re}; }
Parts plus(Parts x, double y) { return {x.re + y, x.im}; }
// 1 - x.
Parts one_minus(Parts x) { return {1.0 - x.re, -x.im}; }

Parts exp_of(Parts x) {
  const Real e = exponential(x.re);
  return {e * cosine(x.im), e * sine(x.im)};
}
// exp(x) - 1 without cancellation: the cosine of a small angle is 1 - 2 sin^2 of its half.
Parts expm1_of(Parts x) {
  const Real half = sine(x.im * 0.5), growth = compute("expm1.default", x.re);
  return {growth * cosine(x.im) - half * half * 2.0, exponential(x.re) * sine(x.im)};
}

Parts log_of(Parts x) { return {compute("log.default", absolute(x)), angle(x.im, x.re)}; }
template <int base>
Parts log_to_base(Parts x) {
  const double scale = base == 2 ? std::numbers::log2e : std::numbers::log10e;
  const Parts natural = log_of(x);
  return {natural.re * scale, natural.im * scale};
}
// log(1 + x); near 0 by log1p of |1 + x|^2 - 1.
Parts log1p_of(Parts x) {
  const Parts shifted = plus(x, 1);
  const Real excess = x.re * (x.re + 2.0) + x.im * x.im;
  const Real is_small = less(absolute(x), 0.5);
  const Real near = compute("log1p.default", choose(is_small, excess, constant(x.re, 0))) * 0.5;
  return {choose(is_small, near, compute("log.default", absolute(shifted))), angle(shifted.im, shifted.re)};
}

// The root with a real part that is not negative.
Parts sqrt_of(Parts x) {
  const Real root = compute("sqrt.default", magnitude(x.re) * 0.5 + absolute(x) * 0.5);
  const Real other = choose(equal(root, 0), constant(root, 0), magnitude(x.im) * 0.5 / root);
  const Real is_left = less(x.re, 0);
  return {choose(is_left, other, root), with_sign(choose(is_left, root, other), x.im)};
}
Parts one_over(Parts x) { return divide({constant(x.re, 1), constant(x.re, 0)}, x); }
Parts rsqrt_of(Parts x) { return one_over(sqrt_of(x)); }
Parts square_of(Parts x) { return multiply(x, x); }
Parts sigmoid_of(Parts x) { return one_over(plus(exp_of({-x.re, -x.im}), 1)); }

Parts sin_of(Parts x) {
  return {sine(x.re) * compute("cosh.default", x.im), cosine(x.re) * compute("sinh.default", x.im)};
}
Parts cos_of(Parts x) {
  return {cosine(x.re) * compute("cosh.default", x.im), -(sine(x.re) * compute("sinh.default", x.im))};
}
Parts sinh_of(Parts x) { return times_minus_i(sin_of(times_i(x))); }
Parts cosh_of(Parts x) { return cos_of(times_i(x)); }
// Kahan's formula. Beyond 20 the result is 1 to the last bit, and sinh would overflow.
Parts tanh_of(Parts x) {
  ComplexBuilder& b = *x.re.b;
  const Real limited{&b, b.call("aten.clamp.default", {ValueRef{x.re.id}, -20.0, 20.0})};
  const Real t = compute("tan.default", x.im), beta = t * t + 1.0, s = compute("sinh.default", limited);
  const Real rho = compute("sqrt.default", s * s + 1.0), norm = beta * s * s + 1.0;
  return {beta * rho * s / norm, t / norm};
}
Parts tan_of(Parts x) { return times_minus_i(tanh_of(times_i(x))); }

Parts asin_of(Parts x) {
  const Parts left = sqrt_of(one_minus(x)), right = sqrt_of(plus(x, 1));
  return {angle(x.re, multiply(left, right).re),
          compute("asinh.default", multiply(conjugate(left), right).im)};
}
Parts acos_of(Parts x) {
  const Parts left = sqrt_of(one_minus(x)), right = sqrt_of(plus(x, 1));
  return {angle(left.re, right.re) * 2.0, compute("asinh.default", multiply(conjugate(right), left).im)};
}
Parts acosh_of(Parts x) {
  const Parts left = sqrt_of(plus(x, -1)), right = sqrt_of(plus(x, 1));
  return {compute("asinh.default", multiply(conjugate(left), right).re), angle(left.im, right.re) * 2.0};
}
// The function is odd: with a real part that is not negative nothing cancels.
Parts atanh_of(Parts x) {
  const Real side = magnitude(x.re), away = 1.0 - side, y2 = x.im * x.im;
  const Real re = compute("log1p.default", side * 4.0 / (away * away + y2)) * 0.25;
  const Real im = angle(x.im * 2.0, away * (side + 1.0) - y2) * 0.5;
  return {with_sign(re, x.re), im};
}
Parts asinh_of(Parts x) { return times_minus_i(asin_of(times_i(x))); }
Parts atan_of(Parts x) { return times_minus_i(atanh_of(times_i(x))); }

template <Parts (*kFunction)(Parts)>
Values map(ComplexBuilder& b, const Call& a) {
  const ValueId self = a.read_tensor(0);
  return {b.make(kFunction(b.parts(self)), b.spec(self).dtype)};
}

// x to an integer power by squaring.
Parts whole_power(Parts x, int64_t exponent) {
  Parts power = x;
  Parts out{constant(x.re, 1), constant(x.re, 0)};
  for (int64_t left = std::abs(exponent); left > 0; left /= 2) {
    if (left % 2 != 0) out = out.im.is(0) && out.re.is(1) ? power : multiply(out, power);
    if (left > 1) power = square_of(power);
  }
  return exponent < 0 ? one_over(out) : out;
}

// exp(y log x); 0 to the power of 0 is 1, and 0 to other powers 0.
Parts general_power(Parts x, Parts y) {
  const auto is_zero = [&](Parts z) {
    if (z.re.is_number() || z.im.is_number()) {
      const Real re = z.re.is_number() ? z.im : z.re;
      if (re.is_number()) return Real{};
      return z.im.is(0) ? equal(z.re, 0) : Real{};
    }
    return compute("logical_and.default", equal(z.re, 0), equal(z.im, 0));
  };
  Parts log_x;
  if (x.re.is_number() && x.im.is_number()) {
    log_x = {constant(y.re, std::log(std::hypot(x.re.number, x.im.number))),
             constant(y.re, std::atan2(x.im.number, x.re.number))};
    const Parts exponent = multiply(y, log_x);
    return exp_of(exponent);
  }
  log_x = x.im.is(0) ? Parts{compute("log.default", magnitude(x.re)),
                             angle(x.re.b->real_value(x.re.b->filled(x.re.id, 0)), x.re)}
                     : log_of(x);
  const Parts power = exp_of(multiply(y, log_x));
  const Real base_is_zero = is_zero(x);
  const Real exponent_is_zero = is_zero(y);
  const auto fixed = [&](Real part, double at_zero) {
    if (exponent_is_zero.b == nullptr) {
      const bool is_one = y.re.is(0) && y.im.is(0);
      return choose(base_is_zero, constant(x.re, is_one ? at_zero : 0), part);
    }
    const Real other = choose(base_is_zero, constant(x.re, 0), part);
    return choose(exponent_is_zero, constant(x.re, at_zero), other);
  };
  return {fixed(power.re, 1), fixed(power.im, 0)};
}

Values power(ComplexBuilder& b, const Call& a) {
  std::vector<infer::AnyArgument> operands{a.argument(0), a.argument(1)};
  const Dtype dtype = infer::promote_arguments(operands).value_or(Dtype::COMPLEX64);
  const Parts x = b.parts(a.argument(0)), y = b.parts(a.argument(1));
  if (b.has_failed()) return {};
  constexpr double kMaxSquared = 64;
  if (y.re.is_number() && y.im.is(0) && !x.re.is_number()) {
    const double number = y.re.number;
    if (number == 0) return {b.make({b.real_value(b.filled(x.re.id, 1)), b.number(0)}, dtype)};
    if (number == 0.5) return {b.make(sqrt_of(x), dtype)};
    if (number == -0.5) return {b.make(rsqrt_of(x), dtype)};
    if (number == std::floor(number) && std::abs(number) <= kMaxSquared)
      return {b.make(whole_power(x, static_cast<int64_t>(number)), dtype)};
  }
  return {b.make(general_power(x, y), dtype)};
}
// pow in complex128.
Values float_power(ComplexBuilder& b, const Call& a) {
  const auto wide = [&](size_t index) {
    const Argument& argument = a.argument(index);
    const auto* ref = ir::get_if<ValueRef>(argument);
    if (ref == nullptr) return argument;
    return Argument(
        ValueRef{to_dtype(b, ref->id, b.is_complex(ref->id) ? Dtype::COMPLEX128 : Dtype::FLOAT64)});
  };
  const std::string overload(a.op().schema->overload_name());
  return {b.call("aten.pow." + overload, {wide(0), wide(1)})};
}
Values exp2(ComplexBuilder& b, const Call& a) {
  const Parts x = b.parts(a.argument(0));
  return {
      b.make(exp_of({x.re * std::numbers::ln2, x.im * std::numbers::ln2}), b.spec(a.read_tensor(0)).dtype)};
}

}  // namespace

std::span<const ComplexRule> complex_function_rules() {
  static constexpr ComplexRule kRows[] = {
      {"aten.acos", map<acos_of>},
      {"aten.acosh", map<acosh_of>},
      {"aten.asin", map<asin_of>},
      {"aten.asinh", map<asinh_of>},
      {"aten.atan", map<atan_of>},
      {"aten.atanh", map<atanh_of>},
      {"aten.cos", map<cos_of>},
      {"aten.cosh", map<cosh_of>},
      {"aten.exp", map<exp_of>},
      {"aten.exp2", exp2},
      {"aten.expm1", map<expm1_of>},
      {"aten.float_power", float_power},
      {"aten.log", map<log_of>},
      {"aten.log10", map<log_to_base<10>>},
      {"aten.log1p", map<log1p_of>},
      {"aten.log2", map<log_to_base<2>>},
      {"aten.pow", power},
      {"aten.rsqrt", map<rsqrt_of>},
      {"aten.sigmoid", map<sigmoid_of>},
      {"aten.sin", map<sin_of>},
      {"aten.sinh", map<sinh_of>},
      {"aten.sqrt", map<sqrt_of>},
      {"aten.square", map<square_of>},
      {"aten.tan", map<tan_of>},
      {"aten.tanh", map<tanh_of>},
  };
  return kRows;
}

}  // namespace etb::passes
