// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/tensor_data.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "etb/cpp/tensor.hpp"

namespace etb::conformance {
namespace {

template <class T>
T load(const void* data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(data) + static_cast<size_t>(index) * sizeof(T),
              sizeof(T));
  return value;
}

template <class T>
void store(void* data, int64_t index, T value) {
  std::memcpy(static_cast<std::byte*>(data) + static_cast<size_t>(index) * sizeof(T), &value, sizeof(T));
}

template <class T>
void store_integer(void* data, int64_t index, double value) {
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double high = static_cast<double>(std::numeric_limits<T>::max());
  if (std::isnan(value)) return store<T>(data, index, 0);
  if (value <= low) return store(data, index, std::numeric_limits<T>::min());
  if (value >= high) return store(data, index, std::numeric_limits<T>::max());
  store(data, index, static_cast<T>(value));
}

// Decodes a 16-bit float: sign, `exponent_bits`, fraction.
double decode(uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1)
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

// `value` must be representable.
uint16_t encode(double value, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const int top = ((1 << exponent_bits) - 1) << fraction_bits;
  if (std::isnan(value)) return static_cast<uint16_t>(top | 1 << (fraction_bits - 1));
  if (std::isinf(value)) return static_cast<uint16_t>(sign | top);
  if (value == 0) return sign;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);  // [0.5, 1)
  const int biased = exponent - 1 + bias;
  if (biased <= 0)
    return static_cast<uint16_t>(sign |
                                 static_cast<int>(std::ldexp(std::abs(value), bias - 1 + fraction_bits)));
  return static_cast<uint16_t>(
      sign | biased << fraction_bits |
      (static_cast<int>(std::ldexp(fraction, fraction_bits + 1)) & ((1 << fraction_bits) - 1)));
}

}  // namespace

int64_t Shape::numel() const {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

size_t element_nbytes(etb_dtype dtype) { return dtype_bits(dtype) / 8; }

bool is_floating(etb_dtype dtype) {
  return dtype == ETB_DTYPE_FLOAT32 || dtype == ETB_DTYPE_FLOAT64 || dtype == ETB_DTYPE_FLOAT16 ||
         dtype == ETB_DTYPE_BFLOAT16;
}

bool is_half(etb_dtype dtype) { return dtype == ETB_DTYPE_FLOAT16 || dtype == ETB_DTYPE_BFLOAT16; }

bool is_integer(etb_dtype dtype) {
  return dtype == ETB_DTYPE_INT64 || dtype == ETB_DTYPE_INT32 || dtype == ETB_DTYPE_INT16 ||
         dtype == ETB_DTYPE_INT8 || dtype == ETB_DTYPE_UINT8;
}

const char* short_name(etb_dtype dtype) {
  switch (dtype) {
    case ETB_DTYPE_FLOAT32:
      return "f32";
    case ETB_DTYPE_FLOAT64:
      return "f64";
    case ETB_DTYPE_FLOAT16:
      return "f16";
    case ETB_DTYPE_BFLOAT16:
      return "bf16";
    case ETB_DTYPE_INT64:
      return "i64";
    case ETB_DTYPE_INT32:
      return "i32";
    case ETB_DTYPE_INT16:
      return "i16";
    case ETB_DTYPE_INT8:
      return "i8";
    case ETB_DTYPE_UINT8:
      return "u8";
    case ETB_DTYPE_BOOL:
      return "bool";
    default:
      return "other";
  }
}

double load_element(etb_dtype dtype, const void* data, int64_t index) {
  switch (dtype) {
    case ETB_DTYPE_FLOAT32:
      return load<float>(data, index);
    case ETB_DTYPE_FLOAT64:
      return load<double>(data, index);
    case ETB_DTYPE_FLOAT16:
      return decode(load<uint16_t>(data, index), 5);
    case ETB_DTYPE_BFLOAT16:
      return decode(load<uint16_t>(data, index), 8);
    case ETB_DTYPE_INT64:
      return static_cast<double>(load<int64_t>(data, index));
    case ETB_DTYPE_INT32:
      return load<int32_t>(data, index);
    case ETB_DTYPE_INT16:
      return load<int16_t>(data, index);
    case ETB_DTYPE_INT8:
      return load<int8_t>(data, index);
    default:
      return load<uint8_t>(data, index);
  }
}

void store_element(etb_dtype dtype, void* data, int64_t index, double value) {
  switch (dtype) {
    case ETB_DTYPE_FLOAT32:
      return store(data, index, static_cast<float>(value));
    case ETB_DTYPE_FLOAT64:
      return store(data, index, value);
    case ETB_DTYPE_FLOAT16:
      return store(data, index, encode(float_format(dtype).round(value), 5));
    case ETB_DTYPE_BFLOAT16:
      return store(data, index, encode(float_format(dtype).round(value), 8));
    case ETB_DTYPE_INT64:
      return store_integer<int64_t>(data, index, value);
    case ETB_DTYPE_INT32:
      return store_integer<int32_t>(data, index, value);
    case ETB_DTYPE_INT16:
      return store_integer<int16_t>(data, index, value);
    case ETB_DTYPE_INT8:
      return store_integer<int8_t>(data, index, value);
    case ETB_DTYPE_BOOL:
      return store<uint8_t>(data, index, value != 0);
    default:
      return store_integer<uint8_t>(data, index, value);
  }
}

double FloatFormat::unit() const { return std::ldexp(1.0, -significand_bits); }

double FloatFormat::ulp(double value) const {
  int exponent = min_exponent;
  if (value != 0 && std::isfinite(value)) std::frexp(value, &exponent);
  return std::ldexp(1.0, std::max(exponent, min_exponent) - significand_bits);
}

double FloatFormat::round(double value) const {
  if (!std::isfinite(value) || significand_bits == 53) return value;
  const double step = ulp(value);
  const double rounded = std::copysign(std::nearbyint(std::abs(value) / step) * step, value);
  return std::abs(rounded) > largest ? std::copysign(HUGE_VAL, value) : rounded;
}

const FloatFormat& float_format(etb_dtype dtype) {
  static const FloatFormat kFloat32{24, -125, std::numeric_limits<float>::max()};
  static const FloatFormat kFloat64{53, -1021, std::numeric_limits<double>::max()};
  static const FloatFormat kFloat16{11, -13, 65504};
  static const FloatFormat kBFloat16{8, -125, 0x1.FEp127};
  switch (dtype) {
    case ETB_DTYPE_FLOAT64:
      return kFloat64;
    case ETB_DTYPE_FLOAT16:
      return kFloat16;
    case ETB_DTYPE_BFLOAT16:
      return kBFloat16;
    default:
      return kFloat32;
  }
}

}  // namespace etb::conformance
