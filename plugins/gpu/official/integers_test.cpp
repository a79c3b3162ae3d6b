// SPDX-License-Identifier: Apache-2.0
// Integers of official payloads, which are floats on the device: the largest magnitude of each value has to be known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/gpu/testing/official_file.hpp"

namespace etb::gpu {
namespace {

using testing::HasSubstr;

// Integers that are only passed on keep all of their bits.
TEST(OfficialPayload, IntegersThatArePassedOnAreNoFloats) {
  const auto host_of_input = [](int8_t result_type) {
    OfficialFile bytes;
    const int32_t x = bytes.tensor({4}, kInt32), y = bytes.tensor({4}, result_type), null = bytes.nothing();
    bytes.inputs = {static_cast<uint32_t>(x)};
    bytes.outputs = {static_cast<uint32_t>(y)};
    bytes.call("aten._to_copy.default", {x, null, null, null, null, null, null, y});
    const auto graph = read(bytes.finish());
    EXPECT_TRUE(graph);
    return graph->value(graph->inputs[0]).host;
  };
  EXPECT_EQ(host_of_input(kInt32), HostNumbers::kInt32Bits);
  EXPECT_EQ(host_of_input(kFloat32), HostNumbers::kIntegers);
}

// Products of integers may exceed what floats represent; a smaller limit for the inputs is tried first.
TEST(OfficialPayload, IntegersStayExact) {
  const auto squares = [](int times) {
    OfficialFile bytes;
    int32_t value = bytes.tensor({4}, kInt32);
    bytes.inputs = {0};
    for (int i = 0; i < times; ++i) {
      const int32_t next = bytes.tensor({4}, kInt32);
      bytes.call("aten.mul.Tensor", {value, value, next});
      value = next;
    }
    bytes.outputs = {static_cast<uint32_t>(value)};
    return bytes.finish();
  };
  const auto once = read(squares(1));
  ASSERT_TRUE(once) << once.error().message;
  EXPECT_EQ(once->integer_limit, 4096);
  EXPECT_THAT(reason_of(squares(2)), HasSubstr("int32 results that may exceed 16777216"));
}

// Positions of pixels: floats become integers, and 1 is added. The largest of the floats has to be known.
TEST(OfficialPayload, FloatsThatBecomeIntegersHaveABound) {
  enum class Source { kInput, kClampedInput, kClampedBelow, kPositions };
  const auto next_pixel = [](Source source, float factor) {
    OfficialFile bytes;
    const int32_t null = bytes.nothing(), one = bytes.integer(1), zero = bytes.integer(0);
    const auto call = [&](const char* op, std::vector<int32_t> arguments, int8_t type) {
      arguments.push_back(bytes.tensor({4}, type));
      bytes.call(op, arguments);
      return arguments.back();
    };
    const auto to_type = [&](int32_t x, int8_t type) {
      return call("aten._to_copy.default", {x, null, null, null, null, null, null}, type);
    };
    const int32_t input = bytes.tensor({4});
    bytes.inputs = {static_cast<uint32_t>(input)};
    int32_t x = input;
    if (source == Source::kClampedInput)
      x = call("aten.clamp.default", {x, zero, bytes.integer(1000)}, kFloat32);
    if (source == Source::kClampedBelow) x = call("aten.clamp.default", {x, zero, null}, kFloat32);
    if (source == Source::kPositions)
      x = to_type(
          call("aten.arange.start_step", {zero, bytes.integer(4), one, null, null, null, null}, kInt32),
          kFloat32);
    const int32_t scale =
        call("aten.full_like.default", {input, bytes.number(factor), null, null, null, null, null}, kFloat32);
    const int32_t position =
        call("aten.floor.default", {call("aten.mul.Tensor", {x, scale}, kFloat32)}, kFloat32);
    const int32_t pixel = to_type(position, kInt32);
    bytes.outputs = {static_cast<uint32_t>(call("aten.add.Tensor", {pixel, pixel, one}, kInt32))};
    return reason_of(bytes.finish());
  };
  EXPECT_EQ(next_pixel(Source::kPositions, 0.75f), "");
  EXPECT_EQ(next_pixel(Source::kClampedInput, 0.75f), "");
  const auto is_rejected = HasSubstr("int32 results that may exceed 16777216");
  EXPECT_THAT(next_pixel(Source::kInput, 0.75f), is_rejected);
  EXPECT_THAT(next_pixel(Source::kInput, 0), is_rejected);
  EXPECT_THAT(next_pixel(Source::kClampedBelow, 0.75f), is_rejected);
  // 1000 * 2^13, twice, is less than 2^24, but not 1000 * 2^14.
  EXPECT_EQ(next_pixel(Source::kClampedInput, 0x1p13f), "");
  EXPECT_THAT(next_pixel(Source::kClampedInput, 0x1p14f), is_rejected);
}

}  // namespace
}  // namespace etb::gpu
