// SPDX-License-Identifier: Apache-2.0
// Tests the zip reader on valid and damaged files.
#include "partitioner_sdk/import/zip_archive.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "partitioner_sdk/testing/golden.hpp"
#include "partitioner_sdk/testing/zip_writer.hpp"

namespace etb::pt2 {
namespace {

using ::testing::HasSubstr;

Result<ZipArchive> open(const std::string& bytes) {
  return ZipArchive::open(std::as_bytes(std::span(bytes)));
}

std::string text_of(const ZipArchive& zip, std::string_view name) {
  const auto found = zip.find(name);
  return found ? std::string(reinterpret_cast<const char*>(found->data()), found->size()) : "(none)";
}

const std::vector<ZipRecord> kTwo = {{"a/one", "11111"}, {"a/two", "22"}};

TEST(ZipArchive, FindsStoredRecords) {
  const std::string bytes = write_zip(kTwo);
  const auto zip = open(bytes);
  ASSERT_TRUE(zip) << zip.error().message;
  EXPECT_EQ(text_of(*zip, "a/one"), "11111");
  EXPECT_EQ(text_of(*zip, "a/two"), "22");
  EXPECT_EQ(text_of(*zip, "a/three"), "(none)");
  EXPECT_EQ(zip->first_name(), "a/one");
}

TEST(ZipArchive, ReadsWhatTorchWrites) {
  const std::string bytes = testing::read_text_file(testing::archive_path("add"));
  const auto zip = open(bytes);
  ASSERT_TRUE(zip) << zip.error().message;
  EXPECT_EQ(text_of(*zip, "add/archive_format"), "pt2");
}

TEST(ZipArchive, RefusesWhatIsNotStored) {
  const std::pair<const char*, BendEntry> cases[] = {
      {"compressed", [](size_t, ZipEntryFields& e) { e.method = 8; }},
      {"encrypted", [](size_t, ZipEntryFields& e) { e.flags = 1; }},
      {"two sizes", [](size_t, ZipEntryFields& e) { e.nbytes += 1; }},
      {"reaches outside", [](size_t, ZipEntryFields& e) { e.nbytes = e.stored_nbytes = 100000; }},
      {"no local header",
       [](size_t i, ZipEntryFields& e) { e.header_offset = i == 0 ? 7 : e.header_offset; }},
      {"another name", [](size_t, ZipEntryFields& e) { e.local_name[0] = 'b'; }},
      {"unsafe", [](size_t, ZipEntryFields& e) { e.central_name = "a/../b"; }},
      {"unsafe", [](size_t, ZipEntryFields& e) { e.central_name = "/etc/passwd"; }},
      {"two records", [](size_t, ZipEntryFields& e) { e.central_name = e.local_name = "same"; }},
      {"overlap", [](size_t i, ZipEntryFields& e) { e.nbytes = e.stored_nbytes += i == 0 ? 1 : 0; }},
      {"reaches outside", [](size_t, ZipEntryFields& e) { e.extra = std::string("\x01\x00\xff\x00", 4); }},
      {"too short",
       [](size_t, ZipEntryFields& e) {
         e.nbytes = 0xFFFFFFFF;
         e.extra = std::string("\x01\x00\x04\x00zzzz", 8);
       }},
  };
  for (const auto& [message, bend] : cases) {
    const std::string bytes = write_zip(kTwo, bend);
    const auto zip = open(bytes);
    ASSERT_FALSE(zip) << message;
    EXPECT_THAT(zip.error().message, HasSubstr(message));
  }
}

TEST(ZipArchive, Zip64FieldsThatAgreeAreRead) {
  const std::string bytes = write_zip(kTwo, [](size_t i, ZipEntryFields& e) {
    if (i != 0) return;
    e.nbytes = e.stored_nbytes = 0xFFFFFFFF;
    put<uint16_t>(e.extra, 1);
    put<uint16_t>(e.extra, 16);
    put<uint64_t>(e.extra, 5);
    put<uint64_t>(e.extra, 5);
  });
  const auto zip = open(bytes);
  ASSERT_TRUE(zip) << zip.error().message;
  EXPECT_EQ(text_of(*zip, "a/one"), "11111");
}

TEST(ZipArchive, Zip64EndMustAgreeWithTheEnd) {
  std::string bytes = testing::read_text_file(testing::archive_path("add"));
  const size_t wide_end = bytes.rfind("PK\x06\x06");
  ASSERT_NE(wide_end, std::string::npos);
  bytes[wide_end + 32] = static_cast<char>(bytes[wide_end + 32] + 1);
  const auto zip = open(bytes);
  ASSERT_FALSE(zip);
  EXPECT_THAT(zip.error().message, HasSubstr("disagrees"));
}

TEST(ZipArchive, EveryTruncationIsRefused) {
  const std::string bytes = write_zip(kTwo);
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(open(bytes.substr(0, length))) << length;
}

TEST(ZipArchive, AnEndInsideTheCommentIsNoEnd) {
  std::string bytes = write_zip(kTwo);
  std::string inner = write_zip({{"evil", "x"}});
  bytes[bytes.size() - 2] = static_cast<char>(inner.size() & 0xFF);
  bytes[bytes.size() - 1] = static_cast<char>(inner.size() >> 8);
  // Two readers could see two archives here. This one accepts an end whose comment reaches the file's end,
  // and the inner one's offsets do not fit.
  const auto zip = open(bytes + inner);
  if (zip) {
    EXPECT_EQ(text_of(*zip, "evil"), "(none)");
  }
}

}  // namespace
}  // namespace etb::pt2
