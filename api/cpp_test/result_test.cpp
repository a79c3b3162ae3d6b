// SPDX-License-Identifier: Apache-2.0
#include "etb/cpp/result.hpp"

#include <gtest/gtest.h>

namespace {

TEST(Result, ValueOfAnErrorSaysTheError) {
  const etb::Result<int> failed = etb::make_error(etb::Code::NOT_FOUND, "no file 'x'");
  try {
    static_cast<void>(failed.value());
    FAIL() << "value() returned";
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "no file 'x'");
  }
  try {
    static_cast<void>(failed.value());
  } catch (const tl::bad_expected_access<etb::Error>& error) {
    EXPECT_EQ(error.error().code, etb::Code::NOT_FOUND);
  }
}

}  // namespace
