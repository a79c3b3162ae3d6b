// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/value_sets.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace etb::conformance {
namespace {

bool is_half(etb_dtype dtype) { return dtype == ETB_DTYPE_FLOAT16 || dtype == ETB_DTYPE_BFLOAT16; }

template <class Element>
TensorData filled(const Shape& shape, Element element) {
  TensorData out{shape,
                 std::vector<std::byte>(static_cast<size_t>(shape.numel()) * element_nbytes(shape.dtype))};
  for (int64_t i = 0; i < shape.numel(); ++i) store_element(shape.dtype, out.bytes.data(), i, element());
  return out;
}

// 16-bit floats have few digits and, in squares, a small range.
double offset_of(etb_dtype dtype) { return is_half(dtype) ? 12 : 1000; }
double reach_of(etb_dtype dtype) { return is_half(dtype) ? 3 : 6; }

TensorData with_non_finite(TensorData data, Random& random) {
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, -HUGE_VAL})
    if (data.shape.numel() != 0)
      store_element(data.shape.dtype, data.bytes.data(), random.between(0, data.shape.numel() - 1), value);
  return data;
}

}  // namespace

const char* to_text(ValueSet set) {
  constexpr std::array<const char*, 8> kTexts = {"exact",  "sparse", "stat",  "positive",
                                                 "offset", "wide",   "small", "nonfinite"};
  return kTexts[static_cast<size_t>(set)];
}

TensorData make_set(const Shape& shape, ValueSet set, const Domain& domain, uint32_t operand,
                    Random& random) {
  const etb_dtype dtype = shape.dtype;
  switch (set) {
    case ValueSet::kExact:
      return make_values(shape, Values::kExact, domain, operand, random);
    case ValueSet::kSparse:
      return make_values(shape, Values::kSparse, domain, operand, random);
    case ValueSet::kStatistical:
      return make_values(shape, Values::kStatistical, domain, operand, random);
    case ValueSet::kPositive:
      return make_values(shape, Values::kPositive, domain, operand, random);
    case ValueSet::kOffset:
      return filled(shape, [&] { return offset_of(dtype) + 2 * random.uniform() - 1; });
    case ValueSet::kWide:
      return filled(shape, [&] {
        const double magnitude = std::exp(reach_of(dtype) * (2 * random.uniform() - 1));
        return random.between(0, 1) != 0 ? magnitude : -magnitude;
      });
    case ValueSet::kSmall:
      return filled(shape, [&] { return (2 * random.uniform() - 1) / 32; });
    case ValueSet::kNonFinite:
      break;
  }
  TensorData data = make_values(shape, Values::kStatistical, domain, operand, random);
  return operand == 0 ? with_non_finite(std::move(data), random) : data;
}

bool is_exact_sum(etb_dtype dtype, ValueSet set, int64_t length) {
  if (!is_floating(dtype)) return set == ValueSet::kExact || set == ValueSet::kStatistical;
  if (set == ValueSet::kSparse) return !is_half(dtype);
  if (set != ValueSet::kExact) return false;
  // Products are at most 49. float16 holds integers up to 2^11, bfloat16 up to 2^8, float32 up to 2^24.
  const int64_t longest = dtype == ETB_DTYPE_FLOAT16 ? 41 : dtype == ETB_DTYPE_BFLOAT16 ? 5 : 342000;
  return length <= longest;
}

ValueSet fitting_set(etb_dtype dtype, ValueSet set, int64_t length) {
  const bool is_probe = set == ValueSet::kExact || set == ValueSet::kSparse;
  if (!is_floating(dtype)) return is_probe ? ValueSet::kExact : ValueSet::kStatistical;
  return is_probe && !is_exact_sum(dtype, set, length) ? ValueSet::kStatistical : set;
}

ErrorModel sum_model(ValueSet set, int64_t length) {
  ErrorModel out;
  out.rule = Rule::kContraction;
  out.length = std::max<int64_t>(length, 1);
  out.is_exact_probe = set == ValueSet::kExact || set == ValueSet::kSparse;
  out.has_input_magnitude = true;
  return out;
}

}  // namespace etb::conformance
