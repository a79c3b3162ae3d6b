// SPDX-License-Identifier: Apache-2.0
#include "host/services/diag_collector.hpp"

#include <gtest/gtest.h>

namespace etb::host {
namespace {

TEST(DiagCollector, HandsOverWhatWasReportedSince) {
  DiagCollector diag;
  etb_option field{};
  field.struct_size = sizeof(field);
  field.key = "node";
  field.type = ETB_OPTION_I64;
  field.i64 = 12;
  diag.service()->report(diag.service()->ctx, "compile.refused", &field, 1);
  std::thread([&] { diag.service()->report(diag.service()->ctx, "other", nullptr, 0); }).join();
  const std::vector<DiagRecord> records = diag.take();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].topic, "compile.refused");
  EXPECT_EQ(records[0].fields, (std::vector<Field>{{"node", "12"}}));
  EXPECT_EQ(records[0].thread, std::this_thread::get_id());
  EXPECT_NE(records[1].thread, std::this_thread::get_id());
  EXPECT_TRUE(diag.take().empty());
}

TEST(DiagCollector, CountsWhatItDrops) {
  DiagCollector diag(2);
  for (int i = 0; i < 5; ++i) diag.service()->report(diag.service()->ctx, nullptr, nullptr, 0);
  const std::vector<DiagRecord> records = diag.take();
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[2].topic, "diag.dropped");
  EXPECT_EQ(records[2].fields, (std::vector<Field>{{"count", "3"}}));
  EXPECT_TRUE(diag.take().empty());
}

}  // namespace
}  // namespace etb::host
