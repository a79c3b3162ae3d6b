// SPDX-License-Identifier: Apache-2.0
// Tests how the functions of a chain are linked; chains_test.cpp runs the linked code on a device.
#include "plugins/vulkan/linked_code.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "plugins/vulkan/kernel_code.hpp"

namespace etb::vulkan {
namespace {

using testing::HasSubstr;

TEST(LinkedCode, DiffersInTheFunctionsThatStepsCall) {
  gpu::ChainCode silu, absolute;
  silu.steps = {12 | 5 << 8, (gpu::kBinaryCodes + 3) | 5 << 12};
  absolute.steps = {1, gpu::kBinaryCodes + 3};
  for (const uint32_t variant : {0u, 1u, 2u, 3u}) {
    const gpu::Kernel kernel = variant % 2 == 0 ? gpu::Kernel::kChain : gpu::Kernel::kChainBroadcast;
    const std::span<const uint32_t> code = kernel_code(kernel, variant / 2);
    const auto first = link_chain(code, silu), second = link_chain(code, absolute);
    ASSERT_TRUE(first) << first.error().message;
    ASSERT_TRUE(second) << second.error().message;
    ASSERT_EQ(first->size(), code.size());
    size_t linked = 0, different = 0;
    for (size_t i = 0; i < code.size(); ++i) {
      linked += (*first)[i] != code[i] ? 1 : 0;
      different += (*first)[i] != (*second)[i] ? 1 : 0;
    }
    EXPECT_EQ(linked, gpu::kMaxChainSteps);  // a call each
    EXPECT_EQ(different, 1u);                // the first step's
  }
}

// Each step has a call of a function of float32 for each of four elements, and one of float16.
TEST(LinkedCode, HasFunctionsOfFloat16) {
  gpu::ChainCode chain, in_half;
  chain.steps = in_half.steps = {gpu::kBinaryCodes + 3};
  in_half.steps[0] |= gpu::kInHalfStepBit;
  for (const gpu::Kernel kernel : {gpu::Kernel::kChain, gpu::Kernel::kChainBroadcast}) {
    const std::span<const uint32_t> code = kernel_code(kernel, 1 | gpu::kArithmeticBit);
    const auto first = link_chain(code, chain), second = link_chain(code, in_half);
    ASSERT_TRUE(first) << first.error().message;
    ASSERT_TRUE(second) << second.error().message;
    size_t linked = 0, different = 0;
    for (size_t i = 0; i < code.size(); ++i) {
      linked += (*first)[i] != code[i] ? 1 : 0;
      different += (*first)[i] != (*second)[i] ? 1 : 0;
    }
    EXPECT_EQ(linked, 5 * gpu::kMaxChainSteps);
    EXPECT_EQ(different, 1u);
  }
}

// Two instructions: a capability of two words, and the mode of four.
TEST(LinkedCode, LosesTheModeOfSubnormalNumbers) {
  const std::span<const uint32_t> code = kernel_code(gpu::Kernel::kUnaryAbs, 1 | gpu::kArithmeticBit);
  const std::vector<uint32_t> without = without_denorm_preserve(code);
  EXPECT_EQ(without.size(), code.size() - 6);
  const std::span<const uint32_t> storage = kernel_code(gpu::Kernel::kUnaryAbs, 1);
  EXPECT_EQ(without_denorm_preserve(storage), std::vector<uint32_t>(storage.begin(), storage.end()));
}

TEST(LinkedCode, NeedsTheNamesOfFunctions) {
  const std::array<uint32_t, 5> header = {0x07230203, 0x00010300, 0, 1, 0};
  const auto linked = link_chain(header, {});
  ASSERT_FALSE(linked);
  EXPECT_THAT(linked.error().message, HasSubstr("without the function unary_step_1"));
}

}  // namespace
}  // namespace etb::vulkan
