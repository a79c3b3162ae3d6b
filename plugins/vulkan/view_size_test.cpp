// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "plugins/vulkan/device.hpp"

namespace etb::vulkan {
namespace {

bool has_only_zeros(uint64_t nbytes) { return (nbytes >> 8 & 255) == 0; }

// Lavapipe would compile a kernel once for the views of some values, and once for those of others.
TEST(ViewSizes, NoneHasOnlyZerosInBits8To15) {
  for (uint64_t nbytes = 16; nbytes < 1 << 18; nbytes += 16) {
    const uint64_t found = view_nbytes(nbytes, kViewRoom);
    ASSERT_FALSE(has_only_zeros(found)) << nbytes;
    ASSERT_GE(found, nbytes);
    ASSERT_LE(found, nbytes + kViewRoom);
    ASSERT_TRUE(found == nbytes || has_only_zeros(nbytes)) << nbytes;
  }
}

TEST(ViewSizes, ViewsStayWithinTheirBufferAndTheLimitOfDevices) {
  EXPECT_EQ(view_nbytes(64, 0), 64u);
  EXPECT_EQ(view_nbytes(64, kViewRoom), 320u);
  EXPECT_EQ(view_nbytes(gpu::kLeastRangeBytes, kViewRoom), gpu::kLeastRangeBytes);
}

}  // namespace
}  // namespace etb::vulkan
