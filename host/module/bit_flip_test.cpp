// SPDX-License-Identifier: Apache-2.0
// Every single-bit flip of small real programs is rejected or runs without a crash, leak or hang (the
// asan preset checks memory).
#include <gtest/gtest.h>

#include <fstream>

#include "host/testing/run_bytes.hpp"

namespace etb::host {
namespace {

class BitFlip : public testing::TestWithParam<const char*> {};

TEST_P(BitFlip, IsRefusedOrRuns) {
  std::ifstream in(std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/" + GetParam(), std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  std::vector<std::byte> file(first, first + text.size());
  ASSERT_TRUE(run_bytes(file).has_run) << "the file itself";
  size_t refused_count = 0;
  size_t ran_count = 0;
  for (size_t byte = 0; byte < file.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      file[byte] ^= std::byte{1} << bit;
      const RunBytesOutcome outcome = run_bytes(file);
      refused_count += outcome.is_accepted ? 0 : 1;
      ran_count += outcome.has_run ? 1 : 0;
      EXPECT_EQ(outcome.refusal.empty(), outcome.is_accepted) << "byte " << byte << ", bit " << bit;
      file[byte] ^= std::byte{1} << bit;
    }
  }
  std::printf("%s: %zu flips, %zu refused by the reader, %zu ran\n", GetParam(), file.size() * 8,
              refused_count, ran_count);
  EXPECT_GT(refused_count, 0U);
  EXPECT_GT(ran_count, 0U);
}

INSTANTIATE_TEST_SUITE_P(Programs, BitFlip,
                         testing::Values("add.pte", "map.pte", "counter.pte", "delegate_inline.pte",
                                         "conv.pte", "cond.pte", "dynamic.pte", "dynamic_view.pte",
                                         "types.pte", "unplanned.pte"),
                         [](const auto& param) {
                           return std::string(param.param).substr(0, std::string(param.param).find('.'));
                         });

}  // namespace
}  // namespace etb::host
