// SPDX-License-Identifier: Apache-2.0
#include "conformance/judge/judge.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace etb::conformance {
namespace {

// One input of an output with its reference.
struct JudgeInput {
  const ErrorModel& error_model;
  const PrecisionContract& contract;
  etb_dtype dtype;
  const ReferenceTensor& reference;
  const void* data;

  double found(size_t index) const { return load_element(dtype, data, static_cast<int64_t>(index)); }
  double expected(size_t index) const { return reference.values[index]; }
  double magnitude(size_t index) const {
    if (reference.magnitude.empty()) return std::abs(expected(index));
    return reference.magnitude[reference.magnitude.size() == reference.values.size() ? index : 0];
  }
  Comparison wrong(size_t index, const char* check, double bound) const {
    return {false, HUGE_VAL, check,
            fmt::format("element {} is {:.9g}, expected {:.9g}{}", index, found(index), expected(index),
                        bound > 0 ? fmt::format(" within {:.3g} (error {:.3g})", bound,
                                                std::abs(found(index) - expected(index)))
                                  : "")};
  }
};

double smallest_normal(etb_dtype dtype) { return std::ldexp(1.0, float_format(dtype).min_exponent - 1); }

// True if the two differ, and flushing can explain it. Devices may flush in a comparison and keep the operand as the result:
// relu then returns a negative subnormal, or 0 for a positive one.
bool is_flushed(const JudgeInput& c, double expected, double found) {
  if (!c.contract.flushes_subnormals || !is_floating(c.dtype) || expected == found) return false;
  const double limit = smallest_normal(c.dtype);
  return std::abs(expected) < limit && std::abs(found) < limit;
}

bool is_equal(const JudgeInput& c, size_t index, bool with_sign_of_zero) {
  double expected = c.expected(index);
  if (is_floating(c.dtype)) expected = float_format(c.dtype).round(expected);
  const double found = c.found(index);
  if (c.contract.is_finite_only && !std::isfinite(expected)) return true;
  if (std::isnan(expected)) return std::isnan(found);
  if (found != expected) return is_flushed(c, expected, found);
  return expected != 0 || c.contract.is_finite_only || !with_sign_of_zero ||
         std::signbit(found) == std::signbit(expected);
}

Comparison judge_exact(const JudgeInput& c, const char* check) {
  if (!c.reference.exact_bytes.empty()) {
    if (std::memcmp(c.reference.exact_bytes.data(), c.data, c.reference.exact_bytes.size()) == 0) return {};
    const size_t step = element_nbytes(c.dtype);
    for (size_t i = 0; i < c.reference.values.size(); ++i)
      if (std::memcmp(c.reference.exact_bytes.data() + i * step,
                      static_cast<const std::byte*>(c.data) + i * step, step) != 0)
        return c.wrong(i, check, 0);
  }
  const bool with_sign = c.error_model.rule == Rule::kExact && is_floating(c.dtype);
  for (size_t i = 0; i < c.reference.values.size(); ++i)
    if (!is_equal(c, i, with_sign))
      return c.wrong(i, std::isnan(c.expected(i)) ? "nan" : c.expected(i) == 0 ? "zero" : check, 0);
  return {};
}

// Handles NaN, infinities, and reals that the output cannot hold. Nullopt: compare by bound.
std::optional<bool> judge_special(const JudgeInput& c, size_t index, double bound) {
  const double expected = c.expected(index), found = c.found(index);
  if (c.contract.is_finite_only && !std::isfinite(expected)) return true;
  if (std::isnan(expected)) return std::isnan(found);
  if (std::isnan(found)) return false;
  const double largest = float_format(c.dtype).largest;
  if (std::isinf(expected)) return found == expected;
  const double near = std::min(bound, largest / 16);
  if (std::isinf(float_format(c.dtype).round(std::abs(expected) - near)))  // above the overflow threshold
    return c.contract.is_finite_only || (std::isinf(found) && std::signbit(found) == std::signbit(expected));
  if (std::abs(expected) + near >= largest)  // within the bound of the overflow threshold
    return std::signbit(found) == std::signbit(expected) && std::abs(found) >= largest - near;
  if (std::isinf(found)) return false;
  return std::nullopt;
}

template <class Bound>
Comparison judge_by_bound(const JudgeInput& c, const char* check, Bound bound_of) {
  Comparison out;
  for (size_t i = 0; i < c.reference.values.size(); ++i) {
    const double bound = bound_of(i);
    const std::optional<bool> special = judge_special(c, i, bound);
    if (special) {
      if (!*special) return c.wrong(i, "special-value", bound);
      continue;
    }
    const double error = std::abs(c.found(i) - c.expected(i));
    if (!(error <= bound)) {
      const bool is_subnormal = std::abs(c.expected(i)) < smallest_normal(c.dtype) && c.expected(i) != 0;
      return c.wrong(i, is_subnormal ? "subnormal" : check, bound);
    }
    if (bound > 0) out.margin = std::max(out.margin, error / bound);
  }
  return out;
}

// Error of flushing: the smallest normal number, for result and operands.
double flush_allowance(const JudgeInput& c) {
  return c.contract.flushes_subnormals ? smallest_normal(c.dtype) : 0;
}

Comparison judge_rounded(const JudgeInput& c) {
  const FloatFormat& compute = float_format(c.contract.accumulator_of(c.dtype));
  const FloatFormat& output = float_format(c.dtype);
  const bool is_coarser = output.significand_bits < compute.significand_bits;
  // In float64 the reference has rounding errors, too: equal ones only where the result is rounded once.
  const bool is_rounded_once = c.error_model.ulps <= 0.5 && c.error_model.steps == 0;
  const double widening = c.dtype == ETB_DTYPE_FLOAT64 && !is_rounded_once ? 2 : 1;
  return judge_by_bound(c, "element-bound", [&](size_t i) {
    const double r = c.expected(i);
    double bound = std::max(c.error_model.ulps * widening, c.contract.ulps) * compute.ulp(r) +
                   c.contract.ulps_of_one * compute.unit() * 2 +
                   c.error_model.steps * widening * compute.unit() * c.magnitude(i) + flush_allowance(c);
    if (is_coarser || compute.significand_bits < output.significand_bits) bound += 0.5 * output.ulp(r);
    // Neighbours of a subnormal are further apart than those of the computing type.
    return std::max(bound, 0.5 * output.ulp(r));
  });
}

struct Totals {
  double sum = 0, sum_of_squares = 0, count = 0;
};

Comparison judge_contraction(const JudgeInput& c) {
  if (c.error_model.is_exact_probe && c.contract.inputs_of(c.dtype) == c.dtype)
    return judge_exact(c, "exact-probe");
  if (!is_floating(c.dtype)) return judge_exact(c, "element");
  const FloatFormat& accumulator = float_format(c.contract.accumulator_of(c.dtype));
  const etb_dtype inputs = c.contract.inputs_of(c.dtype);
  const FloatFormat& output = float_format(c.dtype);
  const double u = accumulator.unit(), length = static_cast<double>(c.error_model.length);
  const double u_inputs = inputs == c.dtype ? 0 : float_format(inputs).unit();
  const double worst = length * u < 1 ? length * u / (1 - length * u) : HUGE_VAL;
  Comparison comparison = judge_by_bound(c, "element-bound", [&](size_t i) {
    const double b = c.magnitude(i);
    const double sums = std::min(4 * std::sqrt(length) * u, worst) * b;
    return sums + 2 * u_inputs * b + 0.5 * output.ulp(c.expected(i)) + flush_allowance(c);
  });
  if (!comparison.is_right || u_inputs != 0 || output.significand_bits != accumulator.significand_bits)
    return comparison;
  Totals totals;
  for (size_t i = 0; i < c.reference.values.size(); ++i) {
    const double scale = u * c.magnitude(i);
    if (!(scale > 0) || !std::isfinite(scale)) continue;
    const double e = (c.found(i) - c.expected(i)) / scale;
    totals.sum += e;
    totals.sum_of_squares += e * e;
    totals.count += 1;
  }
  if (totals.count < 24) return comparison;
  const auto addends = static_cast<double>(c.error_model.addend_count);
  const double shared = addends > 0 ? 2.4 * totals.count / std::sqrt(addends) : 0;
  const double bias = 2 * std::sqrt(length * totals.count) + shared, variance = 0.4 * length * totals.count;
  if (std::abs(totals.sum) > bias)
    return {false, std::abs(totals.sum) / bias, "bias",
            fmt::format("errors add up to {:.4g} u B over {} elements, expected at most {:.4g}", totals.sum,
                        totals.count, bias)};
  if (totals.sum_of_squares > variance)
    return {false, totals.sum_of_squares / variance, "variance",
            fmt::format("squared errors add up to {:.4g}, expected at most {:.4g}", totals.sum_of_squares,
                        variance)};
  return comparison;
}

// Reference values are the real codes before rounding.
Comparison judge_quantized(const JudgeInput& c) {
  size_t off_count = 0;
  for (size_t i = 0; i < c.reference.values.size(); ++i) {
    const auto zero = static_cast<double>(c.error_model.zero_point);
    const double real = c.expected(i) - zero, found = c.found(i) - zero;
    const double down = std::floor(real);
    // Only quantize, whose cases are exact, defines how ties round. Between codes the rounding of a scale
    // decides.
    const double limit = std::max(c.error_model.codes, std::min(c.contract.codes, 0.5)) +
                         c.error_model.code_steps * std::abs(real);
    if (found == std::nearbyint(real)) continue;
    if (!(std::abs(found - real) < 0.5 + limit)) return c.wrong(i, "code", 0);
    off_count += real - down != 0.5 ? 1 : 0;
  }
  if (c.contract.codes > 0 || c.error_model.code_steps > 0) return {};
  // Two of a thousand reals are near a tie. Many more wrong ones mean a scale with too much rounding.
  const size_t most = std::max<size_t>(c.reference.values.size() / 100, 1);
  if (off_count > most)
    return {false, static_cast<double>(off_count) / static_cast<double>(most), "codes-near-ties",
            fmt::format("{} codes of {} are one off beside a tie, expected at most {}", off_count,
                        c.reference.values.size(), most)};
  return {};
}

}  // namespace

Comparison judge(const ErrorModel& error_model, const PrecisionContract& contract, etb_dtype dtype,
                 const ReferenceTensor& reference, const void* data) {
  const JudgeInput input{error_model, contract, dtype, reference, data};
  switch (error_model.rule) {
    case Rule::kExact:
    case Rule::kExactValue:
      return judge_exact(input, "element");
    case Rule::kContraction:
      return judge_contraction(input);
    case Rule::kQuantized:
      return judge_quantized(input);
    case Rule::kRounded:
      return is_floating(dtype) ? judge_rounded(input) : judge_exact(input, "element");
  }
  return {};
}

}  // namespace etb::conformance
