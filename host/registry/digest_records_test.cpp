// SPDX-License-Identifier: Apache-2.0
// A record replaces the digest of a file only while nothing shows a change. To see that a record was read, the tests put a
// digest into it that the file does not have.
#include "host/registry/digest_records.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <functional>
#include <map>

#include "api/format/digest.hpp"
#include "api/format/hex.hpp"
#include "host/testing/scratch_dir.hpp"

namespace etb::host {
namespace {

namespace fs = std::filesystem;

constexpr Sha256 kForged{1, 2, 3};

Sha256 digest_of_text(const std::string& text) {
  return format::sha256({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

class DigestRecordsTest : public testing::Test {
 protected:
  void SetUp() override {
    library_ = dir_.write("library.so", "the code");
    (void)digest();
    if (record().empty()) GTEST_SKIP() << "no records on the file system of " << dir_.path();
  }

  Sha256 digest(int64_t min_age_ns = 0, const TrustPolicy& trust = {}) const {
    const FileDescriptor file(::open(library_.c_str(), O_RDONLY | O_CLOEXEC));
    return *DigestRecords(folder_, trust, min_age_ns).digest_of({file.get(), fs::file_size(library_)});
  }

  // Path of the only record, "" when there is none.
  std::string record() const {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(folder_, failed)) return entry.path();
    return {};
  }

  // Changes the text of the record with the mode that it had.
  void edit_record(const std::function<void(std::string&)>& edit) const {
    std::ifstream in(record());
    std::string text{std::istreambuf_iterator<char>(in), {}};
    edit(text);
    std::ofstream(record(), std::ios::trunc) << text;
  }
  void forge_digest() const {
    edit_record([](std::string& text) { text.replace(text.size() - 65, 64, format::to_hex(kForged)); });
  }

  ScratchDir dir_;
  std::string library_, folder_ = dir_.path("cache/etbackend/digests");
};

TEST_F(DigestRecordsTest, UnchangedFileIsNotReadAgain) {
  forge_digest();
  EXPECT_EQ(digest(), kForged);
}

TEST_F(DigestRecordsTest, FolderAndRecordAreTheUsersAlone) {
  struct stat status {};
  ASSERT_EQ(::stat(folder_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
  ASSERT_EQ(::stat(record().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_F(DigestRecordsTest, ChangedFileIsHashedThoughItsSizeAndModificationTimeAreTheSame) {
  forge_digest();
  struct stat before {};
  ASSERT_EQ(::stat(library_.c_str(), &before), 0);
  std::ofstream(library_, std::ios::in) << "the evil";
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, library_.c_str(), times, 0), 0);
  EXPECT_EQ(digest(), digest_of_text("the evil"));
}

TEST_F(DigestRecordsTest, FileChangedThroughAMappingIsHashed) {
  forge_digest();
  const FileDescriptor file(::open(library_.c_str(), O_RDWR | O_CLOEXEC));
  void* const bytes = ::mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  ASSERT_NE(bytes, MAP_FAILED);
  std::memcpy(bytes, "the evil", 8);
  EXPECT_EQ(digest(), digest_of_text("the evil"));
  ::munmap(bytes, 8);
}

TEST_F(DigestRecordsTest, ReplacedFileIsHashed) {
  forge_digest();
  fs::rename(dir_.write("other.so", "the evil"), library_);
  EXPECT_EQ(digest(), digest_of_text("the evil"));
}

TEST_F(DigestRecordsTest, RecordOfAnotherBootIsIgnored) {
  forge_digest();
  edit_record([](std::string& text) {
    char& digit = text[text.find("boot ") + 5];
    digit = digit == '0' ? '1' : '0';
  });
  EXPECT_EQ(digest(), digest_of_text("the code"));
}

TEST_F(DigestRecordsTest, RecordThatOthersMayWriteIsIgnored) {
  forge_digest();
  const std::string path = record();
  ::chmod(path.c_str(), 0620);
  EXPECT_EQ(digest(), digest_of_text("the code"));
}

TEST_F(DigestRecordsTest, FolderThatOthersMayWriteIsIgnored) {
  forge_digest();
  ::chmod(folder_.c_str(), 0770);
  EXPECT_EQ(digest(), digest_of_text("the code"));
}

TEST_F(DigestRecordsTest, RecordOfAnotherUserIsIgnored) {
  forge_digest();
  TrustPolicy trust;
  trust.user = ::geteuid() + 1;
  trust.root = ::geteuid() + 2;
  EXPECT_EQ(digest(0, trust), digest_of_text("the code"));
}

TEST_F(DigestRecordsTest, DamagedRecordIsIgnoredAndReplaced) {
  const std::map<std::string, std::function<void(std::string&)>> damages = {
      {"empty", [](std::string& text) { text.clear(); }},
      {"cut", [](std::string& text) { text.resize(text.size() - 30); }},
      {"longer", [](std::string& text) { text.insert(text.size() - 1, "00"); }},
      {"no hexadecimal", [](std::string& text) { text[text.size() - 2] = 'x'; }},
      {"huge", [](std::string& text) { text.append(1 << 20, 'x'); }}};
  for (const auto& [name, damage] : damages) {
    SCOPED_TRACE(name);
    edit_record(damage);
    EXPECT_EQ(digest(), digest_of_text("the code"));
    forge_digest();  // fits only into a whole record
    EXPECT_EQ(digest(), kForged);
    fs::remove(record());
    (void)digest();
  }
}

TEST_F(DigestRecordsTest, LinkInPlaceOfTheRecordIsNotFollowed) {
  forge_digest();
  const std::string path = record(), elsewhere = dir_.path("elsewhere");
  fs::rename(path, elsewhere);
  fs::create_symlink(elsewhere, path);
  EXPECT_EQ(digest(), digest_of_text("the code"));
}

TEST_F(DigestRecordsTest, YoungFileGetsNoRecord) {
  fs::remove(record());
  EXPECT_EQ(digest(DigestRecords::kMinAgeNs), digest_of_text("the code"));
  EXPECT_EQ(record(), "");
}

TEST_F(DigestRecordsTest, OldRecordsAreRemovedWhenThereAreMany) {
  for (int i = 0; i < 300; ++i)
    dir_.write("cache/etbackend/digests/1-" + std::to_string(i) + ".sha256", "old");
  ::chmod(folder_.c_str(), 0700);
  dir_.write("library.so", "new code");
  EXPECT_EQ(digest(), digest_of_text("new code"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST(DigestRecordFolder, IsBeneathTheCacheFolderOfTheUser) {
  std::map<std::string, std::string> variables;
  const auto folder = [&] {
    return digest_record_folder([&](const char* name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  };
  EXPECT_EQ(folder(), "");
  variables["HOME"] = "/home/u";
  EXPECT_EQ(folder(), "/home/u/.cache/etbackend/digests");
  variables["XDG_CACHE_HOME"] = "relative";
  EXPECT_EQ(folder(), "/home/u/.cache/etbackend/digests");
  variables["XDG_CACHE_HOME"] = "/var/cache/u";
  EXPECT_EQ(folder(), "/var/cache/u/etbackend/digests");
  EXPECT_EQ(digest_record_folder({}), "");
}

}  // namespace
}  // namespace etb::host
