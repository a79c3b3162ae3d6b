// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/error_models.hpp"

#include <algorithm>
#include <cmath>

namespace etb::conformance {

ErrorModel error_model_of(Rule rule, double ulps, double steps) {
  ErrorModel out;
  out.rule = rule;
  out.ulps = ulps;
  out.steps = steps;
  return out;
}

ErrorModel exact_model(Rule rule) { return error_model_of(rule, 0); }

ErrorModel rounded_model(double ulps, double steps, const Magnitude& magnitude) {
  ErrorModel out = error_model_of(Rule::kRounded, ulps, steps);
  out.magnitude = magnitude;
  return out;
}

ErrorModel sum_model(Values values, int64_t length, int64_t addend_count) {
  ErrorModel out;
  out.rule = Rule::kContraction;
  out.length = std::max<int64_t>(length, 1);
  out.addend_count = addend_count;
  out.is_exact_probe = values == Values::kExact || values == Values::kSparse;
  out.has_input_magnitude = true;
  return out;
}

ErrorModel mean_model(double count) {
  ErrorModel out = error_model_of(Rule::kRounded, 1.5, std::min(4 * std::sqrt(count), count));
  out.has_input_magnitude = true;
  return out;
}

ErrorModel code_model(int64_t zero_point) {
  ErrorModel out;
  out.rule = Rule::kQuantized;
  out.zero_point = zero_point;
  return out;
}

ErrorModel wide_code_model(int64_t zero_point, double codes) {
  ErrorModel out = code_model(zero_point);
  out.codes = codes;
  out.code_steps = 0x1p-15;
  return out;
}

bool is_exact_sum(etb_dtype dtype, Values values, int64_t length) {
  if (!is_floating(dtype)) return values == Values::kExact || values == Values::kStatistical;
  if (values == Values::kSparse) return !is_half(dtype);
  if (values != Values::kExact) return false;
  // Products are at most 49. float16 holds integers up to 2^11, bfloat16 up to 2^8, float32 up to 2^24.
  const int64_t longest = dtype == ETB_DTYPE_FLOAT16 ? 41 : dtype == ETB_DTYPE_BFLOAT16 ? 5 : 342000;
  return length <= longest;
}

Values fitting_values(etb_dtype dtype, Values values, int64_t length) {
  const bool is_probe = values == Values::kExact || values == Values::kSparse;
  if (!is_floating(dtype)) return is_probe ? Values::kExact : Values::kStatistical;
  return is_probe && !is_exact_sum(dtype, values, length) ? Values::kStatistical : values;
}

std::vector<double> twice_the_largest(const std::vector<TensorData>& inputs) {
  double largest = 0;
  for (const TensorData& input : inputs)
    for (int64_t i = 0; i < input.shape.numel(); ++i) {
      const double value = std::abs(load_element(input.shape.dtype, input.bytes.data(), i));
      if (std::isfinite(value)) largest = std::max(largest, value);
    }
  return {2 * largest};
}

Magnitude fixed_magnitude(double magnitude) {
  return [magnitude](const std::vector<TensorData>&) { return std::vector<double>{magnitude}; };
}

}  // namespace etb::conformance
