// SPDX-License-Identifier: Apache-2.0
#include "api/format/target_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace etb::format {
namespace {

using testing::HasSubstr;

Result<TargetRecord> read(const std::string& text) {
  return read_target_record(std::as_bytes(std::span(text)));
}

TargetRecord record() {
  TargetRecord made{"npu", "Left core", {}};
  for (size_t i = 0; i < made.fingerprint.size(); ++i) made.fingerprint[i] = static_cast<uint8_t>(250 + i);
  return made;
}

TEST(TargetRecord, ReadsWhatItWrites) {
  for (const TargetRecord& each : {record(), TargetRecord{}, TargetRecord{"", std::string(1024, 'x'), {}}}) {
    const auto found = read(write_target_record(each));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(*found, each);
  }
  EXPECT_EQ(read(write_target_record({"gpu", std::string(2000, 'x'), {}}))->name.size(), 1024u);
}

TEST(TargetRecord, RejectsEveryShorterOrLongerText) {
  const std::string text = write_target_record(record());
  for (size_t nbytes = 0; nbytes < text.size(); ++nbytes) {
    const auto found = read(text.substr(0, nbytes));
    ASSERT_FALSE(found) << nbytes;
    EXPECT_EQ(found.error().code, Code::INVALID_DATA);
  }
  EXPECT_THAT(read(text + "x").error().message, HasSubstr("1 bytes after its end"));
}

TEST(TargetRecord, RejectsOtherFormats) {
  std::string text = write_target_record(record());
  text[4] = 2;
  EXPECT_EQ(read(text).error().message, "target record: version 2, expected 1");
  text[0] = 'x';
  EXPECT_THAT(read(text).error().message, HasSubstr("magic"));
  text = write_target_record(record());
  text[43] = '\x7f';  // the largest byte of the kind's size
  EXPECT_THAT(read(text).error().message, HasSubstr("does not end within it"));
}

}  // namespace
}  // namespace etb::format
