// SPDX-License-Identifier: Apache-2.0
// Special functions on numbers of all magnitudes of their domain: exact points, the ends of the intervals in which kernels
// choose a formula, and numbers between them whose logarithms are uniform.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::value_arg;

// Where a function is defined, and finite in float32.
struct Interval {
  double low, high;
  bool has_poles = false;  // at integers that are not positive: numbers stay 1/20 away from them
};

// Integers and halves up to 34, and both sides of bounds that approximations use.
const std::vector<double>& plain_points() {
  static const std::vector<double> points = [] {
    std::vector<double> out;
    for (const double magnitude :
         {0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0, 12.0, 15.0, 20.0, 30.0, 33.5})
      for (const double sign : {1.0, -1.0})
        for (const double part : {0.0, -0x1p-9, 0x1p-9}) out.push_back(sign * magnitude * (1 + part));
    return out;
  }();
  return points;
}

bool is_inside(const Interval& in, double x) {
  if (!(x >= in.low && x <= in.high)) return false;
  return !in.has_poles || x > 0.05 || std::abs(x - std::nearbyint(x)) >= 0.05;
}

double drawn_number(const Interval& in, Random& random) {
  for (;;) {
    const double widest = std::max(std::abs(in.low), std::abs(in.high));
    const double magnitude =
        std::exp(std::log(1e-5) + (std::log(widest) - std::log(1e-5)) * random.uniform());
    // Intervals around one end, such as 0.5 to 1, are drawn from that end, too.
    const double from_end = random.between(0, 3) == 0 ? in.high - magnitude : magnitude;
    const double x = random.between(0, 1) != 0 ? from_end : -from_end;
    if (is_inside(in, x)) return x;
  }
}

Operand numbers_of(const Shape& shape, const Interval& in) {
  Operand out{shape};
  out.fill = [in](TensorData& data, Random& random) {
    std::vector<double> points;
    for (const double point : plain_points())
      if (is_inside(in, point)) points.push_back(point);
    data = filled(data.shape, [&](int64_t i) {
      const auto at = static_cast<size_t>(i);
      return at < points.size() ? points[at] : drawn_number(in, random);
    });
  };
  return out;
}

constexpr etb_dtype kComputed[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64};

// A function of one argument. `scale` is the largest of its intermediates near zeros and poles.
struct Function {
  const char* op;
  Interval in;
  double scale = 1;
  const char* argument = "self";
};
constexpr Function kFunctions[] = {
    {"aten.digamma.default", {-34, 100, true}, 64},
    {"aten.lgamma.default", {-34, 100, true}, 100},
    {"aten.erfc.default", {-5, 9}},
    {"aten.erf.default", {-5, 5}},
    {"aten.expm1.default", {-20, 80}},
    {"aten.log1p.default", {-0.999, 1e6}},
    {"aten.erfinv.default", {-0.9999, 0.9999}},
    {"aten.special_erfcx.default", {-6, 1e4}},
    {"aten.special_log_ndtr.default", {-100, 8}},
    {"aten.special_ndtri.default", {1e-6, 0.9999}},
    {"aten.i0.default", {-80, 80}},
    {"aten.special_i0e.default", {-1e4, 1e4}},
    {"aten.special_i1.default", {-80, 80}},
    {"aten.special_i1e.default", {-1e4, 1e4}},
    {"aten.special_modified_bessel_i0.default", {-80, 80}},
    {"aten.special_modified_bessel_i1.default", {-80, 80}},
    {"aten.special_modified_bessel_k0.default", {1e-5, 80}},
    {"aten.special_modified_bessel_k1.default", {1e-5, 80}},
    {"aten.special_scaled_modified_bessel_k0.default", {1e-5, 1e4}, 1, "x"},
    {"aten.special_scaled_modified_bessel_k1.default", {1e-5, 1e4}, 1, "x"},
    {"aten.special_bessel_j0.default", {-60, 60}, 2},
    {"aten.special_bessel_j1.default", {-60, 60}, 2},
    {"aten.special_bessel_y0.default", {1e-5, 60}, 2},
    {"aten.special_bessel_y1.default", {1e-5, 60}, 2},
    {"aten.special_airy_ai.default", {-40, 12}, 8, "x"},
    {"aten.sigmoid.default", {-80, 80}},
    {"aten.logit.default", {1e-5, 0.99999}, 4},
};

// A correct float32 implementation is some units off the result, and some of the scale near a zero.
ErrorModel function_model(double scale) { return rounded_model(128, 16, fixed_magnitude(scale)); }

OpForm function_form(const Function& function, etb_dtype dtype, const Sizes& sizes) {
  const Shape shape{dtype, sizes, {}};
  OpForm form{function.op, {numbers_of(shape, function.in)}, {value_arg(0, function.argument)}, {shape}};
  form.error_model = function_model(function.scale);
  form.word = "magnitudes";
  return form;
}

// The sum of the magnitudes of 1 / (x + k)^power. Near a negative pole its terms have both signs.
double terms_of(double x, double power) {
  double sum = 0;
  for (int k = 0; k < 60; ++k) sum += std::pow(std::abs(x + k), -power);
  return sum;
}

OpForm polygamma_form(int64_t order, etb_dtype dtype) {
  const Shape shape{dtype, {200}, {}};
  OpForm form{"aten.polygamma.default",
              {numbers_of(shape, {-8, 60, true})},
              {graph::int_arg(order, "n"), value_arg(0, "self")},
              {shape}};
  const double n = static_cast<double>(order);
  form.error_model = rounded_model(1024, 16 * (n + 1));
  form.error_model.magnitude = [n](const std::vector<TensorData>& inputs) {
    std::vector<double> out;
    for (const double x : elements_of(inputs[0]))
      out.push_back(n == 0 ? 64 : std::tgamma(n + 1) * terms_of(x, n + 1));
    return out;
  };
  form.word = "magnitudes";
  return form;
}

void add_functions(CaseList& out) {
  size_t at = 0;
  for (const Function& function : kFunctions)
    for (const etb_dtype dtype : kComputed) {
      for (const Sizes& sizes : {Sizes{200}, Sizes{611}})
        add_form(out, dtype, function_form(function, dtype, sizes));
      if (dtype == ETB_DTYPE_FLOAT32)
        add_dynamic_forms(
            out, dtype,
            [&function, dtype](const Sizes& sizes) { return function_form(function, dtype, sizes); },
            {3, 4, 5}, at++);
    }
  for (const etb_dtype dtype : kComputed)
    for (const int64_t order : {0, 1, 2, 3, 5, 10}) add_form(out, dtype, polygamma_form(order, dtype));
}

// A function of two arguments, each in an interval of its own.
struct PairFunction {
  const char* op;
  Interval first, second;
  bool is_defined_at_infinity;
};
constexpr PairFunction kPairFunctions[] = {
    {"aten.igamma.default", {1e-4, 60}, {1e-4, 100}, true},
    {"aten.igammac.default", {1e-4, 60}, {1e-4, 100}, true},
    {"aten.special_zeta.default", {1.05, 20}, {0.05, 60}, false},
};

// Powers of negative numbers have whole exponents.
OpForm negative_zeta_form(etb_dtype dtype) {
  constexpr int64_t kOrders = 5;
  const Shape orders{dtype, {kOrders, 1}, {}}, numbers{dtype, {80}, {}};
  OpForm form{"aten.special_zeta.default",
              {constant_of(orders, [](int64_t i) { return static_cast<double>(2 + i); }),
               numbers_of(numbers, {-20, -0.05, true})},
              {value_arg(0, "self"), value_arg(1, "other")},
              {{dtype, {kOrders, 80}, {}}}};
  form.operands[0].is_constant = false;
  form.error_model = rounded_model(1024, 64);
  form.error_model.magnitude = [](const std::vector<TensorData>& inputs) {
    std::vector<double> out;
    for (const double order : elements_of(inputs[0]))
      for (const double x : elements_of(inputs[1])) out.push_back(terms_of(x, order));
    return out;
  };
  form.word = "negative";
  return form;
}

void add_pair_functions(CaseList& out) {
  for (const PairFunction& function : kPairFunctions)
    for (const etb_dtype dtype : kComputed) {
      const Shape rows{dtype, {60, 1}, {}}, columns{dtype, {70}, {}};
      OpForm form{function.op,
                  {numbers_of(rows, function.first), numbers_of(columns, function.second)},
                  {value_arg(0, "self"), value_arg(1, "other")},
                  {{dtype, {60, 70}, {}}}};
      form.error_model = function_model(4);
      form.error_model.ulps = 1024;  // a power of a factor that was rounded
      form.word = "magnitudes";
      add_form(out, dtype, form);
    }
  for (const etb_dtype dtype : kComputed) add_form(out, dtype, negative_zeta_form(dtype));
}

// A polynomial by its recurrence p[k + 1] = (a x + b + c k) p[k] - (d + e k) p[k - 1], divided by k + 1 or not: only the
// magnitudes of the terms count here.
enum class Family { kChebyshev, kShifted, kHermite, kHermiteE, kLaguerre, kLegendre };
struct Polynomial {
  const char* op;
  Family family;
};
constexpr Polynomial kPolynomials[] = {
    {"aten.special_chebyshev_polynomial_t", Family::kChebyshev},
    {"aten.special_chebyshev_polynomial_u", Family::kChebyshev},
    {"aten.special_chebyshev_polynomial_v", Family::kChebyshev},
    {"aten.special_chebyshev_polynomial_w", Family::kChebyshev},
    {"aten.special_shifted_chebyshev_polynomial_t", Family::kShifted},
    {"aten.special_shifted_chebyshev_polynomial_u", Family::kShifted},
    {"aten.special_shifted_chebyshev_polynomial_v", Family::kShifted},
    {"aten.special_shifted_chebyshev_polynomial_w", Family::kShifted},
    {"aten.special_hermite_polynomial_h", Family::kHermite},
    {"aten.special_hermite_polynomial_he", Family::kHermiteE},
    {"aten.special_laguerre_polynomial_l", Family::kLaguerre},
    {"aten.special_legendre_polynomial_p", Family::kLegendre},
};

// The sum of the magnitudes of all terms of the recurrence.
double magnitude_of(Family family, double x, int64_t degree) {
  x = std::abs(x);
  if (family == Family::kShifted) x = 2 * x + 1;
  double before = 1, now = 2 * x + 1;
  for (int64_t i = 1; i < degree; ++i) {
    const auto k = static_cast<double>(i);
    const double after = family == Family::kHermite    ? 2 * (x * now + k * before)
                         : family == Family::kHermiteE ? x * now + k * before
                         : family == Family::kLaguerre ? ((2 * k + 1 + x) * now + k * before) / (k + 1)
                         : family == Family::kLegendre ? ((2 * k + 1) * x * now + k * before) / (k + 1)
                                                       : 2 * x * now + before;
    before = now;
    now = after;
  }
  return degree == 0 ? 1 : now;
}

constexpr int64_t kDegrees = 9;

// Rows are the degrees 0 to 8, with fractions that are cut off.
OpForm polynomial_form(const Polynomial& polynomial, etb_dtype dtype) {
  const Shape degrees{dtype, {kDegrees, 1}, {}}, numbers{dtype, {121}, {}};
  OpForm form;
  form.op = std::string(polynomial.op) + ".default";
  form.operands = {numbers_of(numbers, {-20, 20}), constant_of(degrees, [](int64_t i) {
                     return static_cast<double>(i) + (i % 2 == 1 ? 0.5 : 0);
                   })};
  form.operands[1].is_constant = false;
  form.args = {value_arg(0, "x"), value_arg(1, "n")};
  form.results = {{dtype, {kDegrees, 121}, {}}};
  form.error_model = rounded_model(8, 64);
  form.error_model.magnitude = [family = polynomial.family](const std::vector<TensorData>& inputs) {
    const Elements x = elements_of(inputs[0]);
    std::vector<double> out;
    for (int64_t degree = 0; degree < kDegrees; ++degree)
      for (const double number : x) out.push_back(magnitude_of(family, number, degree));
    return out;
  };
  form.word = "magnitudes";
  return form;
}

// Degrees around 64 and above, where kernels use angles. Errors of a recurrence grow with the square of the degree.
OpForm high_degree_form(const Polynomial& polynomial, etb_dtype dtype) {
  const bool is_shifted = polynomial.family == Family::kShifted;
  constexpr double kLargest = 101;
  const Shape degrees{dtype, {5, 1}, {}}, numbers{dtype, {90}, {}};
  OpForm form;
  form.op = std::string(polynomial.op) + ".default";
  form.operands = {numbers_of(numbers, {is_shifted ? 0.0 : -1.0, 1}), constant_of(degrees, [](int64_t i) {
                     constexpr double kNumbers[] = {20, 63, 64, 66, kLargest};
                     return kNumbers[i];
                   })};
  form.operands[1].is_constant = false;
  form.args = {value_arg(0, "x"), value_arg(1, "n")};
  form.results = {{dtype, {5, 90}, {}}};
  form.error_model = rounded_model(8, 4 * kLargest * kLargest, fixed_magnitude(2 * kLargest));
  form.word = "high_degrees";
  return form;
}

// The overloads with a number instead of a tensor.
void add_scalar_overloads(CaseList& out, const Polynomial& polynomial, etb_dtype dtype) {
  for (const int64_t degree : {0, 1, 6}) {
    OpForm form = polynomial_form(polynomial, dtype);
    form.op = std::string(polynomial.op) + ".n_scalar";
    form.operands.pop_back();
    form.args[1] = graph::int_arg(degree, "n");
    form.results[0].sizes = {121};
    form.error_model.magnitude = [family = polynomial.family, degree](const std::vector<TensorData>& inputs) {
      std::vector<double> magnitudes;
      for (const double number : elements_of(inputs[0]))
        magnitudes.push_back(magnitude_of(family, number, degree));
      return magnitudes;
    };
    add_form(out, dtype, form);
  }
  for (const double number : {-2.5, 0.0, 0.75}) {
    OpForm form = polynomial_form(polynomial, dtype);
    form.op = std::string(polynomial.op) + ".x_scalar";
    form.operands.erase(form.operands.begin());
    form.args = {graph::float_arg(number, "x"), value_arg(0, "n")};
    form.results[0].sizes = {kDegrees, 1};
    form.error_model.magnitude = [family = polynomial.family, number](const std::vector<TensorData>&) {
      std::vector<double> magnitudes;
      for (int64_t degree = 0; degree < kDegrees; ++degree)
        magnitudes.push_back(magnitude_of(family, number, degree));
      return magnitudes;
    };
    add_form(out, dtype, form);
  }
}

void add_polynomials(CaseList& out) {
  for (const Polynomial& polynomial : kPolynomials)
    for (const etb_dtype dtype : kComputed) {
      add_form(out, dtype, polynomial_form(polynomial, dtype));
      add_scalar_overloads(out, polynomial, dtype);
      if (polynomial.family == Family::kChebyshev || polynomial.family == Family::kShifted)
        add_form(out, dtype, high_degree_form(polynomial, dtype));
    }
}

// Numbers at the ends of a domain, and outside of it.
struct End {
  const char* op;
  std::vector<double> numbers;
  const char* argument = "self";
};

void add_ends(CaseList& out) {
  const double nan = std::nan("");
  const End ends[] = {
      {"aten.erfinv.default", {-1, 1, 0, 1.5, -2, nan}},
      {"aten.special_ndtri.default", {0, 1, 0.5, -0.5, 1.5, nan}},
      {"aten.lgamma.default", {0, 1, 2, -1, -2, nan, HUGE_VAL}},
      {"aten.digamma.default", {0, -0.0, 1, -1, -2, nan, HUGE_VAL}},
      {"aten.i0.default", {0, nan}},
      {"aten.special_i0e.default", {0, nan}},
      {"aten.special_i1.default", {0, nan}},
      {"aten.special_i1e.default", {0, nan}},
      {"aten.special_modified_bessel_k0.default", {0, -1, nan}},
      {"aten.special_modified_bessel_k1.default", {0, -1, nan}},
      {"aten.special_scaled_modified_bessel_k0.default", {0, -1, nan}, "x"},
      {"aten.special_scaled_modified_bessel_k1.default", {0, -1, nan}, "x"},
      {"aten.special_bessel_j0.default", {0, nan}},
      {"aten.special_bessel_j1.default", {0, nan}},
      {"aten.special_bessel_y0.default", {0, -1, nan}},
      {"aten.special_bessel_y1.default", {0, -1, nan}},
      {"aten.special_airy_ai.default", {0, nan}, "x"},
      {"aten.special_erfcx.default", {0, -30, nan, HUGE_VAL}},
      {"aten.special_log_ndtr.default", {0, nan}},
      {"aten.logit.default", {0, 1, 0.5, -0.5, 1.5, nan}},
  };
  for (const End& end : ends)
    for (const etb_dtype dtype : kComputed) {
      const Shape shape{dtype, {static_cast<int64_t>(end.numbers.size())}, {}};
      OpForm form{end.op, {{shape}}, {value_arg(0, end.argument)}, {shape}};
      form.operands[0].fill = [numbers = end.numbers](TensorData& data, Random&) {
        data = filled(data.shape, [&](int64_t i) { return numbers[static_cast<size_t>(i)]; });
      };
      form.error_model = function_model(1);
      form.group = "edge";
      form.word = "ends";
      add_form(out, dtype, form);
    }
}

// All pairs of numbers at the ends of the domains of two arguments, and outside of them.
void add_pair_ends(CaseList& out) {
  static constexpr double kNumbers[] = {-2, -0.5, 0, 0.5, 1, 3, HUGE_VAL};
  const auto fill = [](TensorData& data, Random&) {
    data = filled(data.shape, [](int64_t i) { return kNumbers[i]; });
  };
  for (const PairFunction& function : kPairFunctions)
    for (const etb_dtype dtype : kComputed) {
      const int64_t count = std::ssize(kNumbers) - (function.is_defined_at_infinity ? 0 : 1);
      const Shape rows{dtype, {count, 1}, {}}, columns{dtype, {count}, {}};
      OpForm form{function.op,
                  {{rows}, {columns}},
                  {value_arg(0, "self"), value_arg(1, "other")},
                  {{dtype, {count, count}, {}}}};
      form.operands[0].fill = form.operands[1].fill = fill;
      form.error_model = function_model(1);
      form.group = "edge";
      form.word = "ends";
      add_form(out, dtype, form);
    }
}

}  // namespace

void add_special_function_designs(CaseList& out) {
  add_functions(out);
  add_pair_functions(out);
  add_polynomials(out);
  add_ends(out);
  add_pair_ends(out);
}

}  // namespace etb::conformance
