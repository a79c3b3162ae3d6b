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
  if (dtype == ETB_DTYPE_BOOL) return static_cast<double>(random.between(0, 1));
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
  if (dtype == ETB_DTYPE_BOOL) return static_cast<double>(random.between(0, 1));
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
  constexpr std::array<const char*, 7> kTexts = {"exact",   "sparse", "stat", "positive",
                                                 "special", "ties",   "every"};
  return kTexts[static_cast<size_t>(values)];
}

TensorData make_values(const Shape& shape, Values values, const Domain& domain, uint32_t operand,
                       Random& random) {
  TensorData out{shape,
                 std::vector<std::byte>(static_cast<size_t>(shape.numel()) * element_nbytes(shape.dtype))};
  const std::vector<double> specials =
      is_floating(shape.dtype) ? special_floats(shape.dtype) : special_integers(shape.dtype);
  const auto count = static_cast<int64_t>(specials.size());
  for (int64_t i = 0; i < shape.numel(); ++i) {
    double value = 0;
    switch (values) {
      case Values::kExact:
        value = exact_value(shape.dtype, random);
        break;
      case Values::kSparse:
        value = sparse_value(operand, random);
        break;
      case Values::kStatistical:
        value = statistical_value(shape.dtype, domain, random);
        break;
      case Values::kPositive:
        value = std::abs(statistical_value(shape.dtype, domain, random)) + 0.125;
        break;
      case Values::kSpecial:
        value = specials[static_cast<size_t>(operand == 0   ? i % count
                                             : operand == 1 ? i / count % count
                                                            : i * 7 % count)];
        break;
      case Values::kEvery:
        store_pattern(out, i, random);
        continue;
      case Values::kTies:
        value = static_cast<double>(random.between(-40, 40)) + 0.5;
        break;
    }
    store_element(shape.dtype, out.bytes.data(), i, value);
  }
  return out;
}

}  // namespace etb::conformance
