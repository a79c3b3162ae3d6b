// SPDX-License-Identifier: Apache-2.0
#include "host/registry/semantic_version.hpp"

#include <gtest/gtest.h>

namespace etb::host {
namespace {

TEST(SemanticVersion, AcceptsAndRefusesAsTheSpecificationSays) {
  for (const char* good :
       {"0.0.0", "1.2.3", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-0.3.7", "1.0.0+001", "1.0.0-a-b+x.y"})
    EXPECT_TRUE(is_semantic_version(good)) << good;
  for (const char* bad : {"", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3+", "1.2.3-01", "1.2.3-a..b",
                          "1.2.3-a.", "v1.2.3", "1.2.-3", "1.2.3 "})
    EXPECT_FALSE(is_semantic_version(bad)) << bad;
}

TEST(SemanticVersion, OrderIsTheOneOfTheSpecification) {
  const char* ordered[] = {"0.9.9",
                           "1.0.0-1",
                           "1.0.0-alpha",
                           "1.0.0-alpha.1",
                           "1.0.0-alpha.beta",
                           "1.0.0-beta",
                           "1.0.0-beta.2",
                           "1.0.0-beta.11",
                           "1.0.0-rc.1",
                           "1.0.0",
                           "1.2.0",
                           "1.10.0",
                           "99999999999999999999.0.0"};
  for (size_t i = 0; i < std::size(ordered); ++i)
    for (size_t j = 0; j < std::size(ordered); ++j)
      EXPECT_EQ(compare_semantic_versions(ordered[i], ordered[j]), i < j   ? -1
                                                                   : i > j ? 1
                                                                           : 0)
          << ordered[i] << ' ' << ordered[j];
  EXPECT_EQ(compare_semantic_versions("1.0.0+a", "1.0.0+b"), 0);
}

}  // namespace
}  // namespace etb::host
