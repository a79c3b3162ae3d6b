// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/values.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "conformance/cases/case.hpp"

namespace etb::conformance {
namespace {

std::vector<double> special_floats(etb_dtype dtype) {
  const FloatFormat& format = float_format(dtype);
  const double smallest = std::ldexp(1.0, format.min_exponent - 1);
  const double tiniest = std::ldexp(1.0, format.min_exponent - format.significand_bits);
  std::vector<double> out = {std::numeric_limits<double>::quiet_NaN()};
  for (const double value :
       {HUGE_VAL, 0.0, 1.0, 0.5, 1.5, 2.5, format.largest, smallest, tiniest, 3 * tiniest, 0.1, 7.0})
    for (const double sign : {1.0, -1.0}) out.push_back(sign * value);
  return out;
}

std::vector<double> special_integers(etb_dtype dtype) {
  switch (dtype) {
    case ETB_DTYPE_BOOL:
      return {0, 1};
    case ETB_DTYPE_UINT8:
      return {0, 1, 2, 127, 128, 254, 255};
    case ETB_DTYPE_INT8:
      return {0, 1, -1, 2, -127, -128, 126, 127};
    case ETB_DTYPE_INT16:
      return {0, 1, -1, 2, -32767, -32768, 255, 256, 32767};
    case ETB_DTYPE_INT32:
      return {0, 1, -1, 2, -2147483647.0, -2147483648.0, 65535, 2147483647.0};
    default:
      return {0, 1, -1, 2, -4611686018427387904.0, 4294967295.0, 4611686018427387904.0, 9007199254740992.0};
  }
}

double exact_value(etb_dtype dtype, Random& random) {
  return static_cast<double>(random.between(dtype == ETB_DTYPE_UINT8 ? 0 : -7, 7));
}

double sparse_value(uint32_t operand, Random& random) {
  if (operand != 0) {
    const int64_t draw = random.between(0, 15);
    return draw == 0 ? 1 : draw == 1 ? -1 : 0;
  }
  const double odd = static_cast<double>(2 * random.between(1 << 11, (1 << 12) - 1) + 1);
  return random.between(0, 1) != 0 ? odd : -odd;
}

double statistical_value(etb_dtype dtype, const Domain& domain, Random& random) {
  if (!is_floating(dtype)) {
    const double low = dtype == ETB_DTYPE_UINT8 ? std::max(0.0, domain.low) : domain.low;
    return static_cast<double>(
        random.between(static_cast<int64_t>(std::ceil(low)), static_cast<int64_t>(std::floor(domain.high))));
  }
  return domain.low + (domain.high - domain.low) * random.uniform();
}

// Stores the bits of an element, so that NaNs of every kind occur.
void store_pattern(TensorData& out, int64_t index, Random& random) {
  const size_t step = element_nbytes(out.shape.dtype);
  uint32_t bits = static_cast<uint32_t>(index & 0xffff);
  if (step == 4) bits = bits << 16 | static_cast<uint32_t>(random.next() & 0xffff);
  std::memcpy(out.bytes.data() + static_cast<size_t>(index) * step, &bits, step);
}

// Special values of two operands cover all pairs.
double special_value(const std::vector<double>& specials, uint32_t operand, int64_t index) {
  const auto count = static_cast<int64_t>(specials.size());
  return specials[static_cast<size_t>(operand == 0   ? index % count
                                      : operand == 1 ? index / count % count
                                                     : index * 7 % count)];
}

// 16-bit floats have few digits and, in squares, a small range.
double spread_value(etb_dtype dtype, Random& random) {
  if (!is_floating(dtype)) return static_cast<double>(random.between(-120, 120));
  const double magnitude = std::exp((is_half(dtype) ? 3 : 6) * (2 * random.uniform() - 1));
  return random.between(0, 1) != 0 ? magnitude : -magnitude;
}
double offset_value(etb_dtype dtype, Random& random) {
  if (!is_floating(dtype)) return static_cast<double>(90 + random.between(0, 2));
  return (is_half(dtype) ? 12 : 1000) + 2 * random.uniform() - 1;
}

double number(etb_dtype dtype, Values values, const Domain& domain, uint32_t operand, Random& random) {
  switch (values) {
    case Values::kExact:
      return exact_value(dtype, random);
    case Values::kSparse:
      return sparse_value(operand, random);
    case Values::kPositive:
      return std::abs(statistical_value(dtype, domain, random)) + 0.125;
    case Values::kTies:
      return static_cast<double>(random.between(-40, 40)) + 0.5;
    case Values::kFew:
      return static_cast<double>(random.between(0, 2)) + (is_floating(dtype) ? 0.5 : 0);
    case Values::kOffset:
      return offset_value(dtype, random);
    case Values::kSpread:
      return spread_value(dtype, random);
    case Values::kSmall:
      return (2 * random.uniform() - 1) / 32;
    default:
      return statistical_value(dtype, domain, random);
  }
}

void add_nans(TensorData& data, uint32_t operand, const std::vector<double>& specials) {
  const etb_dtype dtype = data.shape.dtype;
  for (int64_t i = static_cast<int64_t>(operand) + 3; i < data.shape.numel(); i += 7)
    store_element(
        dtype, data.bytes.data(), i,
        is_floating(dtype) ? std::numeric_limits<double>::quiet_NaN() : special_value(specials, 0, i));
}

}  // namespace

Random::Random(std::string_view name) : state_(hash_text(name) + kSuiteVersion) {}

uint64_t Random::next() {
  uint64_t z = state_ += 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

int64_t Random::between(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
}

const char* to_text(Values values) {
  constexpr std::array<const char*, 13> kTexts = {"exact", "sparse", "stat",     "positive", "special",
                                                  "ties",  "every",  "few",      "offset",   "wide",
                                                  "small", "nan",    "nonfinite"};
  return kTexts[static_cast<size_t>(values)];
}

TensorData filled(const Shape& shape, const std::function<double(int64_t)>& element) {
  TensorData out{shape,
                 std::vector<std::byte>(static_cast<size_t>(shape.numel()) * element_nbytes(shape.dtype))};
  for (int64_t i = 0; i < shape.numel(); ++i) store_element(shape.dtype, out.bytes.data(), i, element(i));
  return out;
}

TensorData make_values(const Shape& shape, Values values, const Domain& domain, uint32_t operand,
                       Random& random) {
  const std::vector<double> specials =
      is_floating(shape.dtype) ? special_floats(shape.dtype) : special_integers(shape.dtype);
  if (values == Values::kEvery) {
    TensorData out = filled(shape, [](int64_t) { return 0.0; });
    for (int64_t i = 0; i < shape.numel(); ++i) store_pattern(out, i, random);
    return out;
  }
  const bool is_bool = shape.dtype == ETB_DTYPE_BOOL;
  const bool has_bits = is_bool && values != Values::kTies;  // halves are all true
  TensorData out = filled(shape, [&](int64_t i) {
    if (values == Values::kSpecial) return special_value(specials, operand, i);
    return has_bits ? static_cast<double>(random.between(0, 1))
                    : number(shape.dtype, values, domain, operand, random);
  });
  if (values == Values::kNan && !is_bool) add_nans(out, operand, specials);
  if (values == Values::kNonFinite && operand == 0 && shape.numel() != 0)
    for (const double value : {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, -HUGE_VAL})
      store_element(shape.dtype, out.bytes.data(), random.between(0, shape.numel() - 1), value);
  return out;
}

}  // namespace etb::conformance
