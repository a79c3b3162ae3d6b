// SPDX-License-Identifier: Apache-2.0
#include "etb/cpp/bytes.hpp"

#include <gtest/gtest.h>

namespace etb {
namespace {

TEST(Bytes, WhatIsWrittenIsReadBack) {
  const auto bytes = ByteWriter().write(uint32_t{7}).write(-2.5).write(int8_t{-1}).take();
  EXPECT_EQ(bytes.size(), 13u);
  ByteReader reader(bytes);
  EXPECT_EQ(reader.read<uint32_t>(), 7u);
  EXPECT_EQ(reader.read<double>(), -2.5);
  EXPECT_EQ(reader.position(), 12u);
  EXPECT_EQ(reader.read<int8_t>(), -1);
  EXPECT_TRUE(reader.finish());
}

TEST(Bytes, ReadingPastTheEndGivesZerosAndOneErrorWithThePlace) {
  const auto bytes = ByteWriter().write(uint16_t{0xffff}).write(uint8_t{3}).take();
  ByteReader reader(bytes);
  EXPECT_EQ(reader.read<uint16_t>(), 0xffff);
  EXPECT_EQ(reader.read<uint32_t>(), 0u);
  EXPECT_EQ(reader.read<uint8_t>(), 0) << "nothing is given after a failure";
  const Status status = reader.finish();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::INVALID_DATA);
  EXPECT_EQ(status.error().message, "ends at byte 3, expected more after byte 2");
}

TEST(Bytes, LeftOverBytesAreAnError) {
  const auto bytes = ByteWriter().write(uint32_t{1}).write(uint32_t{2}).take();
  ByteReader reader(bytes);
  reader.read<uint32_t>();
  EXPECT_EQ(reader.finish().error().message, "8 bytes, expected the end at byte 4");
}

TEST(Bytes, CountsThatCannotBeThereDoNotFit) {
  const auto bytes = ByteWriter().write(uint64_t{0}).take();
  const ByteReader reader(bytes);
  EXPECT_TRUE(reader.fits(2, 4));
  EXPECT_FALSE(reader.fits(3, 4));
  EXPECT_FALSE(reader.fits(UINT64_MAX, 4));
  EXPECT_FALSE(reader.fits(UINT64_MAX / 2, 8));
}

TEST(Bytes, HugeReadIsRefused) {
  const auto bytes = ByteWriter().write(uint64_t{0}).take();
  ByteReader reader(bytes);
  EXPECT_TRUE(reader.read_bytes(UINT64_MAX).empty());
  EXPECT_FALSE(reader.finish());
}

}  // namespace
}  // namespace etb
