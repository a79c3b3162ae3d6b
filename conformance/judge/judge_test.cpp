// SPDX-License-Identifier: Apache-2.0
// Tests the judge on values with a known verdict.
#include "conformance/judge/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace etb::conformance {
namespace {

Comparison judge_float(Rule rule, double expected, float found, double ulps = 0.5) {
  ErrorModel error_model;
  error_model.rule = rule;
  error_model.ulps = ulps;
  ReferenceTensor reference;
  reference.sizes = {1};
  reference.values = {expected};
  return judge(error_model, {}, ETB_DTYPE_FLOAT32, reference, &found);
}

TEST(Judge, ExactMeansTheSignOfZeroAndAnyNaN) {
  EXPECT_TRUE(judge_float(Rule::kExact, 1.5, 1.5f).is_right);
  EXPECT_FALSE(judge_float(Rule::kExact, -0.0, 0.0f).is_right);
  EXPECT_EQ(judge_float(Rule::kExact, -0.0, 0.0f).check, "zero");
  EXPECT_TRUE(judge_float(Rule::kExactValue, -0.0, 0.0f).is_right);
  EXPECT_TRUE(judge_float(Rule::kExact, NAN, -NAN).is_right);
  EXPECT_EQ(judge_float(Rule::kExact, NAN, 0).check, "nan");
}

// A device that flushes in comparisons returns a negative subnormal from relu: it is "not less than zero".
TEST(Judge, ExactResultsOfDevicesThatFlush) {
  const auto is_right = [](const char* contract, double expected, float found) {
    ErrorModel error_model;
    error_model.rule = Rule::kExact;
    ReferenceTensor reference;
    reference.sizes = {1};
    reference.values = {expected};
    return judge(error_model, *parse_contract(contract), ETB_DTYPE_FLOAT32, reference, &found).is_right;
  };
  EXPECT_TRUE(is_right("f32:ftz", 0, 1e-45f));
  EXPECT_TRUE(is_right("f32:ftz", -1e-40, 0));
  EXPECT_FALSE(is_right("f32:ftz", 0, 1.2e-38f)) << "a normal number";
  EXPECT_FALSE(is_right("f32:ftz", -0.0, 0.0f)) << "the sign of zero";
  EXPECT_FALSE(is_right("f32", 0, 1e-45f));
}

TEST(Judge, OneRoundingIsHalfAnUlp) {
  const double third = 1.0 / 3;
  EXPECT_TRUE(judge_float(Rule::kRounded, third, static_cast<float>(third)).is_right);
  EXPECT_FALSE(judge_float(Rule::kRounded, third, std::nextafter(static_cast<float>(third), 1.0f)).is_right);
  EXPECT_TRUE(
      judge_float(Rule::kRounded, third, std::nextafter(static_cast<float>(third), 1.0f), 2).is_right);
  // A flushed subnormal has its own kind of error.
  EXPECT_EQ(judge_float(Rule::kRounded, 1e-40, 0).check, "subnormal");
  EXPECT_TRUE(judge_float(Rule::kRounded, 1e300, INFINITY).is_right);
  EXPECT_FALSE(judge_float(Rule::kRounded, 1e300, 1).is_right);
}

// The reference of a result of several roundings is off by as much as the result itself.
TEST(Judge, InFloat64TheReferenceIsRoundedToo) {
  const auto is_right = [](double steps) {
    ErrorModel error_model;
    error_model.rule = Rule::kRounded;
    error_model.ulps = 0.5;
    error_model.steps = steps;
    ReferenceTensor reference;
    reference.values = {10};
    reference.magnitude = {1};
    const double found = 10 + 0x1p-49;  // the next number
    return judge(error_model, {}, ETB_DTYPE_FLOAT64, reference, &found).is_right;
  };
  EXPECT_TRUE(is_right(3));
  EXPECT_FALSE(is_right(0));
}

// Halves of 65,520 and more round to infinity; 65,504 is the largest.
TEST(Judge, AResultAboveTheLargestNumberIsInfinity) {
  constexpr uint16_t kLargest = 0x7bff, kInfinity = 0x7c00, kNegative = 0xfc00;
  const auto is_right = [](double expected, uint16_t found, bool is_finite_only = false) {
    ErrorModel error_model;
    error_model.rule = Rule::kRounded;
    error_model.ulps = 1;
    PrecisionContract contract;
    contract.is_finite_only = is_finite_only;
    ReferenceTensor reference;
    reference.values = {expected};
    return judge(error_model, contract, ETB_DTYPE_FLOAT16, reference, &found).is_right;
  };
  EXPECT_TRUE(is_right(90000, kInfinity));
  EXPECT_FALSE(is_right(90000, kLargest));
  EXPECT_FALSE(is_right(90000, kNegative));
  EXPECT_TRUE(is_right(90000, kLargest, true));
  EXPECT_TRUE(is_right(65504, kLargest));
  EXPECT_TRUE(is_right(65519, kInfinity));  // within the bound of the threshold
  EXPECT_FALSE(is_right(60000, kInfinity));
}

TEST(Judge, ErrorsOfOneDirectionAreBias) {
  ErrorModel error_model;
  error_model.rule = Rule::kContraction;
  error_model.length = 512;
  const size_t count = 400;
  ReferenceTensor reference;
  reference.values.assign(count, 100.0);
  reference.magnitude.assign(count, 100.0);
  std::vector<float> found(count, 100.0f);
  EXPECT_TRUE(judge(error_model, {}, ETB_DTYPE_FLOAT32, reference, found.data()).is_right);
  // Each error is well inside the bound of an element. Together they have a bias.
  for (float& value : found) value = static_cast<float>(100.0 + 20 * 0x1p-24 * 100);
  const Comparison comparison = judge(error_model, {}, ETB_DTYPE_FLOAT32, reference, found.data());
  EXPECT_FALSE(comparison.is_right);
  EXPECT_EQ(comparison.check, "bias");
}

// Correct linear layers in float32 that add the bias of a channel last: its last bits round alike in all rows.
TEST(Judge, SharedAddendsRoundInOneDirection) {
  constexpr int kLength = 33, kRows = 300, kChannels = 65, kLayers = 40;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> number(0.5f, 1.0f);
  const auto filled = [&](size_t count) {
    std::vector<float> out(count);
    for (float& value : out) value = number(random);
    return out;
  };
  ErrorModel error_model;
  error_model.rule = Rule::kContraction;
  error_model.length = kLength + 1;
  int wrong_without_addends = 0;
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::vector<float> x = filled(kRows * kLength), w = filled(kChannels * kLength),
                             b = filled(kChannels);
    ReferenceTensor reference;
    std::vector<float> found;
    for (size_t r = 0; r < kRows; ++r)
      for (size_t c = 0; c < kChannels; ++c) {
        float sum = 0;
        double exact = 0;
        for (size_t k = 0; k < kLength; ++k) {
          const float product = x[r * kLength + k] * w[c * kLength + k];
          sum += product;
          exact += static_cast<double>(x[r * kLength + k]) * static_cast<double>(w[c * kLength + k]);
        }
        found.push_back(sum + b[c]);
        reference.values.push_back(exact + static_cast<double>(b[c]));
      }
    reference.magnitude = reference.values;
    error_model.addend_count = 0;
    wrong_without_addends +=
        judge(error_model, {}, ETB_DTYPE_FLOAT32, reference, found.data()).is_right ? 0 : 1;
    error_model.addend_count = kChannels;
    EXPECT_TRUE(judge(error_model, {}, ETB_DTYPE_FLOAT32, reference, found.data()).is_right) << layer;
  }
  EXPECT_GT(wrong_without_addends, 0);
}

// Reals that are codes, two of them beside a tie: one may round the other way, a whole tensor may not.
TEST(Judge, CodesAreOneOffOnlyBesideATieAndSeldom) {
  ErrorModel error_model;
  error_model.rule = Rule::kQuantized;
  PrecisionContract contract;
  const auto verdict = [&](double real, size_t wrong_count) {
    ReferenceTensor reference;
    reference.sizes = {200};
    reference.values.assign(200, real);
    std::vector<int8_t> found(200, static_cast<int8_t>(std::nearbyint(real)));
    for (size_t i = 0; i < wrong_count; ++i) found[i] = static_cast<int8_t>(found[i] + 1);
    return judge(error_model, contract, ETB_DTYPE_INT8, reference, found.data());
  };
  EXPECT_TRUE(verdict(3.4997, 0).is_right);
  EXPECT_TRUE(verdict(3.4997, 2).is_right);
  EXPECT_EQ(verdict(3.4997, 3).check, "codes-near-ties");
  EXPECT_EQ(verdict(3.49, 1).check, "code");
  EXPECT_TRUE(verdict(2.5, 200).is_right);  // only quantize defines how ties round
  contract.codes = 0.25;                    // a plugin with coarse multipliers
  EXPECT_TRUE(verdict(3.3, 200).is_right);
  EXPECT_EQ(verdict(3.2, 1).check, "code");
}

// The limit of a wide code grows with it, and has a constant part.
TEST(Judge, WideCodesMayBeWrongByAPartOfThem) {
  const auto verdict = [](double real, int16_t found, double codes) {
    ErrorModel error_model;
    error_model.rule = Rule::kQuantized;
    error_model.codes = codes;
    error_model.code_steps = 0x1p-15;
    ReferenceTensor reference;
    reference.sizes = {1};
    reference.values = {real};
    return judge(error_model, {}, ETB_DTYPE_INT16, reference, &found).is_right;
  };
  EXPECT_TRUE(verdict(32000.25, 32001, 0));
  EXPECT_FALSE(verdict(32000.25, 32002, 0));
  EXPECT_TRUE(verdict(-32000.25, -31999, 0));
  EXPECT_FALSE(verdict(100.25, 101, 0));
  EXPECT_TRUE(verdict(100.25, 101, 0.5));
  EXPECT_FALSE(verdict(100.25, 102, 0.5));
}

TEST(Judge, AContractOfFloat16AllowsWhatFloat16Loses) {
  ErrorModel error_model;
  error_model.rule = Rule::kContraction;
  error_model.length = 16;
  error_model.is_exact_probe = true;
  ReferenceTensor reference;
  reference.values = {4097};
  reference.magnitude = {4097};
  const float found = 4096;
  EXPECT_FALSE(judge(error_model, {}, ETB_DTYPE_FLOAT32, reference, &found).is_right);
  const auto contract = parse_contract("f16:f32");
  ASSERT_TRUE(contract);
  EXPECT_TRUE(judge(error_model, *contract, ETB_DTYPE_FLOAT32, reference, &found).is_right);
  EXPECT_EQ(to_text(*parse_contract("bf16:f32:ftz")), "bf16:f32:ftz");
  EXPECT_FALSE(parse_contract("f8"));
}

TEST(FloatFormat, RoundsOnceToNearestEven) {
  EXPECT_EQ(float_format(ETB_DTYPE_FLOAT16).round(2049), 2048);
  EXPECT_EQ(float_format(ETB_DTYPE_FLOAT16).round(65520), HUGE_VAL);
  EXPECT_EQ(float_format(ETB_DTYPE_BFLOAT16).round(257), 256);
  uint16_t half = 0;
  store_element(ETB_DTYPE_FLOAT16, &half, 0, 0x1p-24);
  EXPECT_EQ(half, 1);
  EXPECT_EQ(load_element(ETB_DTYPE_FLOAT16, &half, 0), 0x1p-24);
  for (int bits = 0; bits < 65536; ++bits) {
    const auto stored = static_cast<uint16_t>(bits);
    uint16_t back = 0;
    const double value = load_element(ETB_DTYPE_FLOAT16, &stored, 0);
    store_element(ETB_DTYPE_FLOAT16, &back, 0, value);
    if (std::isnan(value)) continue;
    ASSERT_EQ(back, stored);
  }
}

}  // namespace
}  // namespace etb::conformance
