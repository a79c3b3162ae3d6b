// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/metrics.hpp"

#include <algorithm>
#include <cmath>

#include "tools/run/array.hpp"

namespace etb::diff {

using conformance::load_element;

std::optional<Metrics> measure(const TensorData& a, const TensorData& b) {
  if (a.shape.sizes != b.shape.sizes) return std::nullopt;
  Metrics out;
  const int64_t count = a.shape.numel();
  double squares = 0, power_a = 0, power_b = 0, product = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double x = load_element(a.shape.dtype, a.bytes.data(), i);
    const double y = load_element(b.shape.dtype, b.bytes.data(), i);
    const bool is_equal = x == y || (std::isnan(x) && std::isnan(y));
    const double error = is_equal ? 0 : std::isnan(x - y) ? HUGE_VAL : std::abs(x - y);
    squares += error * error;
    out.l1 += error;
    if (error > out.max_abs) {
      out.max_abs = error;
      out.max_index = static_cast<size_t>(i);
    }
    if (error > 0) out.max_rel = std::max(out.max_rel, x == 0 ? HUGE_VAL : error / std::abs(x));
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    power_a += x * x;
    power_b += y * y;
    product += x * y;
  }
  if (count == 0) {
    out.snr = HUGE_VAL;
    return out;
  }
  out.mse = squares / static_cast<double>(count);
  out.snr = out.mse == 0 ? HUGE_VAL : 10 * std::log10(power_a / static_cast<double>(count) / out.mse);
  if (power_a == 0 || power_b == 0)
    out.cosine = power_a == power_b ? 1 : 0;
  else
    out.cosine = std::min(1.0, product / std::sqrt(power_a) / std::sqrt(power_b));
  return out;
}

std::string describe_shape(const TensorData& tensor) {
  return tools::format_shape(static_cast<host::Dtype>(tensor.shape.dtype), tensor.shape.sizes);
}

}  // namespace etb::diff
