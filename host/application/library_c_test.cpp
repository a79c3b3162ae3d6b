// SPDX-License-Identifier: Apache-2.0
// The functions of the library as a whole (etb/library.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "etb/etbackend.h"

namespace {

using testing::Contains;

TEST(LibraryC, HasVersionsAndTexts) {
  EXPECT_THAT(etb_version(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_EQ(etb_abi_version(), ETB_ABI_VERSION);
  EXPECT_STREQ(etb_status_text(ETB_NOT_FOUND), "not found");
  EXPECT_STREQ(etb_status_text(12345), "unknown status");
}

TEST(LibraryC, NamesItsKernelsInOrderEachOnce) {
  std::vector<std::string> names;
  while (const char* name = etb_kernel_name(static_cast<uint32_t>(names.size()))) names.emplace_back(name);
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_THAT(names, Contains("aten::add.out"));
  EXPECT_THAT(names, Contains("aten::convolution.out"));
  EXPECT_EQ(etb_kernel_name(UINT32_MAX), nullptr);
}

}  // namespace
