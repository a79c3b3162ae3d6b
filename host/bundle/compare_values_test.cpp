// SPDX-License-Identifier: Apache-2.0
#include "host/bundle/compare_values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "api/format/bundled_program_writer.hpp"
#include "host/module/owned_tensor.hpp"
#include "host/runtime/float16.hpp"

namespace etb::host {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                 kInfinity = std::numeric_limits<double>::infinity();

// A file in memory with one expected value.
class Expected {
 public:
  explicit Expected(const format::BundledValue& value) {
    const std::vector<format::BundledSuite> suites = {{"forward", {{{}, {value}}}}};
    const std::vector<std::byte> program(16);
    const Status written =
        format::write_bundled_program(program, suites, [&](std::span<const std::byte> bytes) {
          blocks_.resize(bytes.size() / sizeof(Block) + 1);
          std::memcpy(blocks_.data(), bytes.data(), bytes.size());
          etb_error error = ETB_ERROR_INIT;
          EXPECT_EQ(format::read_bundled_program(std::as_bytes(std::span(blocks_)).first(bytes.size()),
                                                 &view_, &error),
                    ETB_OK)
              << error.text;
          return Status();
        });
    EXPECT_TRUE(written) << written.error().message;
  }
  ValueComparison compare(const EValue& found, const Tolerances& tolerances = {}) const {
    return compare_values(view_.suite(0).test_case(0).expected(0), found, tolerances);
  }

 private:
  struct alignas(32) Block {
    std::byte bytes[32];
  };
  std::vector<Block> blocks_;
  format::BundledProgramView view_;
};

format::BundledTensorData data_of(OwnedTensor& tensor) {
  const auto sizes = tensor.tensor().sizes();
  const auto order = tensor.tensor().dim_order();
  return {static_cast<uint8_t>(tensor.tensor().dtype()),
          {sizes.begin(), sizes.end()},
          {order.begin(), order.end()},
          {tensor.bytes().begin(), tensor.bytes().end()}};
}

// Tensors of rank 1 with these elements, in one of the 16-bit floats.
template <class T, class Round>
OwnedTensor narrow(Dtype dtype, const std::vector<double>& elements, Round round) {
  const int64_t sizes[] = {static_cast<int64_t>(elements.size())};
  OwnedTensor made(dtype, sizes);
  for (size_t i = 0; i < elements.size(); ++i) {
    const T value = round(static_cast<float>(elements[i]));
    std::memcpy(made.bytes().data() + i * sizeof(T), &value, sizeof(T));
  }
  return made;
}

OwnedTensor make(Dtype dtype, const std::vector<double>& elements) {
  if (dtype == Dtype::BFLOAT16)
    return narrow<BFloat16>(dtype, elements, [](float value) { return to_bfloat16(value); });
  if (dtype == Dtype::FLOAT16)
    return narrow<Half>(dtype, elements, [](float value) { return to_half(value); });
  const int64_t sizes[] = {static_cast<int64_t>(elements.size())};
  if (dtype == Dtype::FLOAT64) return OwnedTensor::make<double>(sizes, elements);
  return OwnedTensor::make<float>(sizes, std::vector<float>(elements.begin(), elements.end()));
}

bool is_close(Dtype dtype, const std::vector<double>& expected, const std::vector<double>& found,
              const Tolerances& tolerances) {
  OwnedTensor a = make(dtype, expected), b = make(dtype, found);
  return Expected(data_of(a)).compare(b.value(), tolerances).is_close;
}

constexpr Dtype kFloats[] = {Dtype::FLOAT16, Dtype::BFLOAT16, Dtype::FLOAT32, Dtype::FLOAT64};

TEST(CompareValues, FloatsAreNumbersWithinTolerances) {
  for (const Dtype dtype : kFloats) {
    EXPECT_TRUE(is_close(dtype, {1, 2, -4}, {1, 2, -4}, {0, 0})) << to_text(dtype);
    EXPECT_TRUE(is_close(dtype, {1}, {1.25}, {0, 0.25})) << to_text(dtype);
    EXPECT_FALSE(is_close(dtype, {1}, {1.25}, {0, 0.24})) << to_text(dtype);
    // Relative to the number found: 0.25 <= 0.2 * 1.25, not 0.2 * 1.
    EXPECT_TRUE(is_close(dtype, {1}, {1.25}, {0.2, 0})) << to_text(dtype);
    EXPECT_FALSE(is_close(dtype, {1.25}, {1}, {0.2, 0})) << to_text(dtype);
    EXPECT_TRUE(is_close(dtype, {0.0}, {-0.0}, {0, 0})) << to_text(dtype);
  }
}

TEST(CompareValues, NanAndInfinitiesAreCloseToThemselvesOnly) {
  const std::vector<double> special = {kNan, kInfinity, -kInfinity, 1};
  for (const Dtype dtype : kFloats)
    for (const double expected : special)
      for (const double found : special) {
        const bool is_same = (std::isnan(expected) && std::isnan(found)) || expected == found;
        EXPECT_EQ(is_close(dtype, {expected}, {found}, {1, 1}), is_same)
            << to_text(dtype) << ' ' << expected << ' ' << found;
      }
}

TEST(CompareValues, NanOfOtherBitsIsTheSameNan) {
  const int64_t sizes[] = {1};
  OwnedTensor a(Dtype::FLOAT32, sizes), b(Dtype::FLOAT32, sizes);
  const uint32_t quiet = 0x7FC00000, other = 0xFFC00001;
  std::memcpy(a.bytes().data(), &quiet, 4);
  std::memcpy(b.bytes().data(), &other, 4);
  EXPECT_TRUE(Expected(data_of(a)).compare(b.value()).is_close);
}

TEST(CompareValues, IntegersMustBeEqual) {
  auto a = OwnedTensor::make<int64_t>({2}, {INT64_MAX, 5});
  auto b = OwnedTensor::make<int64_t>({2}, {INT64_MAX - 1, 5});
  const Expected expected(data_of(a));
  EXPECT_TRUE(expected.compare(a.value(), {1, 1}).is_close);
  const ValueComparison different = expected.compare(b.value(), {1, 1});
  EXPECT_FALSE(different.is_close);
  EXPECT_EQ(different.different_count, 1u);
  EXPECT_EQ(different.stats.max_abs, 1);
}

TEST(CompareValues, ElementsAreComparedInAnyDimOrder) {
  const int64_t sizes[] = {2, 3};
  const uint8_t columns[] = {1, 0};
  const auto rows =
      OwnedTensor::make<float>(sizes, std::span<const float>(std::vector<float>{1, 2, 3, 4, 5, 6}));
  OwnedTensor turned(Dtype::FLOAT32, sizes, columns);
  const float elements[] = {1, 4, 2, 5, 3, 6};
  std::memcpy(turned.bytes().data(), elements, sizeof(elements));
  OwnedTensor copy = OwnedTensor::make<float>(sizes, std::span(rows.tensor().data_as<const float>(), 6));
  EXPECT_TRUE(Expected(data_of(turned)).compare(copy.value(), {0, 0}).is_close);
  EXPECT_TRUE(Expected(data_of(copy)).compare(turned.value(), {0, 0}).is_close);
  copy.tensor().data_as<float>()[3] = 40;  // row 1, column 0
  EXPECT_EQ(Expected(data_of(turned)).compare(copy.value(), {0, 0}).difference,
            "element 3 is 40, expected 4");
}

TEST(CompareValues, OtherTypesAndSizesDiffer) {
  auto a = OwnedTensor::make<float>({2, 1}, {1, 2});
  auto b = OwnedTensor::make<double>({2, 1}, {1, 2});
  auto c = OwnedTensor::make<float>({1, 2}, {1, 2});
  const Expected expected(data_of(a));
  EXPECT_EQ(expected.compare(b.value()).difference, "float64 [2, 1], expected float32 [2, 1]");
  EXPECT_EQ(expected.compare(c.value()).difference, "float32 [1, 2], expected float32 [2, 1]");
  EXPECT_EQ(expected.compare(EValue(int64_t{1})).difference, "a int, expected float32 [2, 1]");
  EXPECT_EQ(expected.compare(c.value()).stats.count, 0u);
}

TEST(CompareValues, NumbersAreCompared) {
  EXPECT_TRUE(Expected(int64_t{7}).compare(EValue(int64_t{7})).is_close);
  EXPECT_FALSE(Expected(int64_t{7}).compare(EValue(int64_t{8}), {1, 1}).is_close);
  EXPECT_TRUE(Expected(2.0).compare(EValue(2.1), {0, 0.2}).is_close);
  EXPECT_FALSE(Expected(2.0).compare(EValue(2.3), {0, 0.2}).is_close);
  EXPECT_TRUE(Expected(kNan).compare(EValue(kNan)).is_close);
  EXPECT_FALSE(Expected(true).compare(EValue(false), {1, 1}).is_close);
  EXPECT_EQ(Expected(true).compare(EValue(int64_t{1})).difference, "a int, expected a bool");
}

TEST(CompareValues, StatisticsLeaveOutWhatIsNotFinite) {
  OwnedTensor a = make(Dtype::FLOAT32, {1, kNan, kInfinity, 4, 8}),
              b = make(Dtype::FLOAT32, {1.5, kNan, 2, 4, 7});
  const ValueComparison found = Expected(data_of(a)).compare(b.value(), {0, 0.6});
  EXPECT_FALSE(found.is_close);
  EXPECT_EQ(found.different_count, 2u);
  EXPECT_EQ(found.difference, "element 2 is 2, expected inf");
  EXPECT_EQ(found.stats.count, 5u);
  EXPECT_EQ(found.stats.special_count, 1u);
  EXPECT_DOUBLE_EQ(found.stats.max_abs, 1);
  EXPECT_DOUBLE_EQ(found.stats.mean_abs, 1.5 / 4);
  EXPECT_DOUBLE_EQ(found.stats.max_rel, 0.5 / 1.5);
  EXPECT_EQ(found.largest_expected, 8);
  ErrorStats sum = found.stats;
  sum.add({.mean_abs = 3, .max_abs = 4, .mean_rel = 0, .max_rel = 0, .count = 2, .special_count = 0});
  EXPECT_DOUBLE_EQ(sum.mean_abs, (1.5 + 6) / 6);
  EXPECT_EQ(sum.max_abs, 4);
  EXPECT_EQ(sum.count, 7u);
}

TEST(CompareValues, EmptyTensorsAreClose) {
  const int64_t sizes[] = {0, 3};
  OwnedTensor a(Dtype::FLOAT32, sizes);
  const ValueComparison found = Expected(data_of(a)).compare(a.value(), {0, 0});
  EXPECT_TRUE(found.is_close);
  EXPECT_EQ(found.stats.mean_abs, 0);
}

}  // namespace
}  // namespace etb::host
