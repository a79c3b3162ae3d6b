// SPDX-License-Identifier: Apache-2.0
#include "host/layers/output_distance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "host/runtime/float16.hpp"

namespace etb::host {
namespace {

template <class T>
double as_double(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(to_float(value));
}

template <class T>
OutputDistance measure(std::span<const std::byte> expected, std::span<const std::byte> found,
                       const Tolerance& tolerance) {
  OutputDistance out;
  out.element_count = std::min(expected.size(), found.size()) / sizeof(T);
  for (uint64_t i = 0; i < out.element_count; ++i) {
    const std::byte* const wanted = expected.data() + i * sizeof(T);
    const std::byte* const got = found.data() + i * sizeof(T);
    if (std::memcmp(wanted, got, sizeof(T)) == 0) continue;
    T raw_a, raw_b;
    std::memcpy(&raw_a, wanted, sizeof(T));
    std::memcpy(&raw_b, got, sizeof(T));
    const double a = as_double(raw_a), b = as_double(raw_b);
    if (std::isnan(a) && std::isnan(b)) continue;
    const double change = std::abs(b - a);
    const bool is_beyond = !(change <= tolerance.atol + tolerance.rtol * std::abs(a)) ||
                           (tolerance.atol == 0 && tolerance.rtol == 0);
    if (out.differing_count == 0 || (is_beyond && out.beyond_count == 0)) {
      out.first_index = i;
      out.first_expected = a;
      out.first_found = b;
    }
    ++out.differing_count;
    if (is_beyond) ++out.beyond_count;
    if (!std::isfinite(change)) continue;
    out.max_abs = std::max(out.max_abs, change);
    if (a != 0) out.max_rel = std::max(out.max_rel, change / std::abs(a));
  }
  return out;
}

}  // namespace

OutputDistance measure_distance(etb_dtype dtype, std::span<const std::byte> expected,
                                std::span<const std::byte> found, const Tolerance& tolerance) {
  switch (dtype) {
    case ETB_DTYPE_FLOAT32:
      return measure<float>(expected, found, tolerance);
    case ETB_DTYPE_FLOAT64:
      return measure<double>(expected, found, tolerance);
    case ETB_DTYPE_FLOAT16:
      return measure<Half>(expected, found, tolerance);
    case ETB_DTYPE_BFLOAT16:
      return measure<BFloat16>(expected, found, tolerance);
    case ETB_DTYPE_INT8:
    case ETB_DTYPE_QINT8:
      return measure<int8_t>(expected, found, tolerance);
    case ETB_DTYPE_INT16:
      return measure<int16_t>(expected, found, tolerance);
    case ETB_DTYPE_INT32:
    case ETB_DTYPE_QINT32:
      return measure<int32_t>(expected, found, tolerance);
    case ETB_DTYPE_INT64:
      return measure<int64_t>(expected, found, tolerance);
    case ETB_DTYPE_UINT16:
      return measure<uint16_t>(expected, found, tolerance);
    case ETB_DTYPE_UINT32:
      return measure<uint32_t>(expected, found, tolerance);
    case ETB_DTYPE_UINT64:
      return measure<uint64_t>(expected, found, tolerance);
    default:
      return measure<uint8_t>(expected, found, tolerance);
  }
}

std::string describe_distance(const OutputDistance& distance) {
  return fmt::format(
      "{} of {} elements differ, at most {:.4g} ({:.3g} relative), first at {}: {:.9g}, expected {:.9g}",
      distance.differing_count, distance.element_count, distance.max_abs, distance.max_rel,
      distance.first_index, distance.first_found, distance.first_expected);
}

}  // namespace etb::host
