// SPDX-License-Identifier: Apache-2.0
// Tensor, EValue, dtypes, 16-bit floats, kernel context and registry.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "host/runtime/float16.hpp"
#include "host/runtime/float8.hpp"
#include "host/runtime/kernel_registry.hpp"

namespace etb::host {
namespace {

TEST(Dtype, PromotesAsPyTorch) {
  EXPECT_EQ(promote_any(Dtype::UINT8, Dtype::INT8), Dtype::INT16);
  EXPECT_EQ(promote_any(Dtype::BOOL, Dtype::UINT8), Dtype::UINT8);
  EXPECT_EQ(promote_any(Dtype::INT64, Dtype::FLOAT16), Dtype::FLOAT16);
  EXPECT_EQ(promote_any(Dtype::FLOAT16, Dtype::BFLOAT16), Dtype::FLOAT32);
  EXPECT_EQ(promote_any(Dtype::FLOAT32, Dtype::FLOAT64), Dtype::FLOAT64);
  EXPECT_EQ(promote_any(Dtype::INT32, Dtype::INT8), Dtype::INT32);
}

TEST(Tensor, StridesFollowDimOrder) {
  TensorStorage storage;
  const std::array<int64_t, 4> sizes{2, 3, 4, 5};
  const std::array<uint8_t, 4> order{0, 2, 3, 1};
  const Tensor tensor = storage.make(Dtype::FLOAT32, sizes, nullptr, 480, order);
  EXPECT_EQ(std::vector<int64_t>(tensor.strides().begin(), tensor.strides().end()),
            (std::vector<int64_t>{60, 1, 15, 3}));
  EXPECT_FALSE(tensor.is_contiguous());
  EXPECT_EQ(tensor.numel(), 120);
}

TEST(Tensor, ResizesWithinItsCapacityOnly) {
  TensorStorage storage;
  Tensor tensor =
      storage.make(Dtype::FLOAT32, std::array<int64_t, 2>{4, 4}, nullptr, 64, {}, Dynamism::kBounded);
  EXPECT_EQ(tensor.resize(std::array<int64_t, 2>{2, 8}), ETB_OK);
  EXPECT_EQ(tensor.stride(0), 8);
  EXPECT_EQ(tensor.resize(std::array<int64_t, 2>{3, 8}), ETB_NOT_SUPPORTED);
  EXPECT_EQ(tensor.resize(std::array<int64_t, 1>{8}), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(tensor.resize(std::array<int64_t, 2>{int64_t{1} << 62, 8}), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(tensor.resize(std::array<int64_t, 2>{-1, 8}), ETB_INVALID_ARGUMENT);
  Tensor fixed = storage.make(Dtype::FLOAT32, std::array<int64_t, 1>{4}, nullptr, 64);
  EXPECT_EQ(fixed.resize(std::array<int64_t, 1>{3}), ETB_NOT_SUPPORTED);
  EXPECT_EQ(fixed.resize(std::array<int64_t, 1>{4}), ETB_OK);
}

TEST(Half, ConvertsEveryValueThereAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<uint16_t>(bits)};
    const float value = to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(to_float(to_half(value))));
    } else {
      EXPECT_EQ(to_half(value).bits, half.bits) << bits;
    }
    const BFloat16 brain{static_cast<uint16_t>(bits)};
    if (!std::isnan(to_float(brain))) {
      EXPECT_EQ(to_bfloat16(to_float(brain)).bits, brain.bits);
    }
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(to_half(1.0f + 0x1.0p-11f).bits, 0x3C00);  // tie, down to even
  EXPECT_EQ(to_half(1.0f + 0x1.8p-10f).bits, 0x3C02);  // tie, up to even
  EXPECT_EQ(to_half(65519.0f).bits, 0x7BFF);           // largest that stays finite
  EXPECT_EQ(to_half(65520.0f).bits, 0x7C00);           // overflow
  EXPECT_EQ(to_half(0x1.0p-25f).bits, 0x0000);         // half of the smallest subnormal: tie to zero
  EXPECT_EQ(to_half(-0x1.8p-25f).bits, 0x8001);
  EXPECT_EQ(to_bfloat16(1.0f + 0x1.0p-8f).bits, 0x3F80);
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7F80);
}

template <class Float>
void expect_codes_survive(float largest) {
  float most = 0;
  for (uint32_t bits = 0; bits < 256; ++bits) {
    const auto code = static_cast<uint8_t>(bits);
    const float value = Float::decode(code);
    if (std::isnan(value)) continue;
    EXPECT_EQ(Float::encode(value), code);
    if (std::isfinite(value)) most = std::max(most, value);
    // Between two codes the nearer one is right, and of equally near ones the even one.
    const float next = Float::decode(static_cast<uint8_t>(bits + 1));
    if ((bits & 0x7F) == 0x7F || !std::isfinite(next) || !std::isfinite(value)) continue;
    const float middle = (value + next) / 2;
    EXPECT_EQ(Float::encode(middle) & 0x7F, (bits & 1) == 0 ? bits & 0x7F : (bits & 0x7F) + 1);
    EXPECT_EQ(Float::encode(std::nextafter(middle, value)), code);
  }
  EXPECT_EQ(most, largest);
  EXPECT_TRUE(std::isnan(Float::decode(Float::encode(NAN))));
}

TEST(Float8, ConvertsEveryCodeThereAndBackAndRoundsToNearestEven) {
  expect_codes_survive<Float8E5M2>(57344);
  expect_codes_survive<Float8E4M3Fn>(448);
  expect_codes_survive<Float8E5M2Fnuz>(57344);
  expect_codes_survive<Float8E4M3Fnuz>(240);
}

// Codes that torch 2.13 gives.
TEST(Float8, OverflowsAndSignsAsPyTorch) {
  EXPECT_EQ(Float8E5M2::encode(61440.0f), 0x7C);  // tie between the largest and infinity
  EXPECT_EQ(Float8E5M2::encode(-INFINITY), 0xFC);
  EXPECT_EQ(Float8E4M3Fn::encode(464.0f), 0x7E);  // tie, down to even
  EXPECT_EQ(Float8E4M3Fn::encode(480.0f), 0x7E);  // no infinity: the largest
  EXPECT_EQ(Float8E4M3Fn::encode(-INFINITY), 0xFE);
  EXPECT_EQ(Float8E4M3Fn::encode(-0.0f), 0x80);
  EXPECT_EQ(Float8E4M3Fnuz::encode(248.0f), 0x80);
  EXPECT_EQ(Float8E4M3Fnuz::encode(-0.0f), 0x00);
  EXPECT_EQ(Float8E5M2Fnuz::encode(-0x1.0p-20f), 0x00);
}

etb_status store_one(KernelContext&, EValue** args) {
  *args[1]->tensor().data_as<float>() = 1.0f;
  return ETB_OK;
}
etb_status store_two(KernelContext&, EValue** args) {
  *args[1]->tensor().data_as<float>() = 2.0f;
  return ETB_OK;
}

struct Call {
  float input = 0.0f, output = 0.0f;
  TensorStorage storages[2];
  Tensor tensors[2] = {storages[0].make(Dtype::FLOAT32, std::array<int64_t, 1>{1}, &input, 4),
                       storages[1].make(Dtype::FLOAT32, std::array<int64_t, 1>{1}, &output, 4)};
  EValue values[2] = {EValue(&tensors[0]), EValue(&tensors[1])};
  EValue* args[2] = {&values[0], &values[1]};
};

TEST(KernelRegistry, PrefersTheRowWhoseKeyMatches) {
  static const Kernel kRows[] = {{"test::op.out", "TT", store_one},
                                 {"test::op.out", "TT", store_two, "6;0|6;0"}};
  const KernelRows rows(kRows);
  KernelRegistry registry;
  ASSERT_EQ(registry.add(rows), ETB_OK);
  Call call;
  EXPECT_EQ(registry.find("test::op", "out", call.args, 2), &kRows[1]);
  EXPECT_EQ(registry.find("test::op", "out"), &kRows[0]);
  EXPECT_EQ(registry.find("test::op", ""), nullptr);
  EXPECT_EQ(registry.find("test::op", "Tensor"), nullptr);
  EXPECT_TRUE(registry.has_op("test::op", "out"));
}

TEST(KernelRegistry, RefusesDuplicates) {
  static const Kernel kFirst[] = {{"test::op.out", "TT", store_one}};
  static const Kernel kSecond[] = {{"test::other.out", "TT", store_one}, {"test::op.out", "TT", store_two}};
  const KernelRows first(kFirst), second(kSecond);
  KernelRegistry registry;
  ASSERT_EQ(registry.add(first), ETB_OK);
  const Kernel* duplicate = nullptr;
  EXPECT_EQ(registry.add(second, &duplicate), ETB_ALREADY_EXISTS);
  EXPECT_EQ(duplicate, &kSecond[1]);
  EXPECT_FALSE(registry.has_op("test::other", "out"));
}

TEST(CheckArguments, NamesArgumentFoundAndExpected) {
  const Kernel kernel{"test::op.out", "TIT", store_one};
  etb_error error = ETB_ERROR_INIT;
  KernelContext context({}, nullptr, &error);
  Call call;
  EValue seven(int64_t{7});
  EValue* args[] = {&call.values[0], &seven, &call.values[1]};
  EXPECT_EQ(call_kernel(context, kernel, args, 3), ETB_INVALID_TYPE);
  EXPECT_STREQ(error.text, "test::op.out: argument 1 is int, expected int list");
}

TEST(CheckArguments, RefusesTooFewAndTensorsWithoutMemory) {
  const Kernel kernel{"test::op.out", "TT", store_one};
  etb_error error = ETB_ERROR_INIT;
  KernelContext context({}, nullptr, &error);
  Call call;
  EXPECT_EQ(call_kernel(context, kernel, call.args, 1), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error.text, "test::op.out: 1 arguments, expected 2");
  call.tensors[0].set_data(nullptr, 0);
  EXPECT_EQ(call_kernel(context, kernel, call.args, 2), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error.text, "test::op.out: argument 0: the tensor has no memory");
}

TEST(KernelContext, ScratchIsAlignedAndBounded) {
  alignas(64) std::byte memory[256];
  KernelContext context(memory);
  context.begin_kernel("test");
  void* first = context.allocate(1);
  void* second = context.allocate(64);
  EXPECT_EQ(first, memory);
  EXPECT_EQ(second, memory + 64);
  EXPECT_EQ(context.allocate(256), nullptr);
  EXPECT_EQ(context.scratch_peak_bytes(), 384u);
  context.begin_kernel("test");
  EXPECT_EQ(context.allocate(256), memory);
}

TEST(RandomNumbers, HaveTheMomentsOfTheirDistribution) {
  RandomNumbers random(42);
  double sum = 0, square_sum = 0, uniform_sum = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double x = random.next_gaussian();
    sum += x;
    square_sum += x * x;
    uniform_sum += random.next_uniform();
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.02);  // six standard errors
  EXPECT_NEAR(square_sum / kCount, 1.0, 0.03);
  EXPECT_NEAR(uniform_sum / kCount, 0.5, 0.006);
}

}  // namespace
}  // namespace etb::host
