// SPDX-License-Identifier: Apache-2.0
#include "api/format/input_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace etb::format {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class InputFileTest : public testing::Test {
 protected:
  InputFileTest() {
    std::string folder = (fs::temp_directory_path() / "etb_input_XXXXXX").string();
    folder_ = ::mkdtemp(folder.data());
  }
  ~InputFileTest() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  std::string folder_;
};

TEST_F(InputFileTest, ReadsWhatIsThere) {
  EXPECT_EQ(read_file_text(write("a", std::string("a\0b", 3)), 3).value(), std::string("a\0b", 3));
  EXPECT_EQ(read_file_text(write("empty", ""), 0).value().size(), 0u);
  fs::create_symlink(path("a"), path("link"));
  EXPECT_EQ(read_file_text(path("link"), 100).value().size(), 3u);
}

TEST_F(InputFileTest, RefusesWhatIsNoPlainFileWithoutWaiting) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_symlink(path("pipe"), path("link"));
  for (const std::string& name : {path("pipe"), path("link"), std::string("/dev/zero"), path(".")}) {
    const auto text = read_file_text(name, 100);
    ASSERT_FALSE(text) << name;
    EXPECT_EQ(text.error().code, Code::ACCESS_FAILED);
    EXPECT_THAT(text.error().message, HasSubstr(name));
    EXPECT_THAT(text.error().message, HasSubstr("expected a plain file"));
  }
}

TEST_F(InputFileTest, RefusesMoreThanTheLimitBeforeTakingMemory) {
  const std::string large = write("large", "x");
  fs::resize_file(large, uint64_t{30} << 30);  // sparse
  const auto text = read_file_text(large, 1 << 20);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, Code::INVALID_DATA);
  EXPECT_THAT(text.error().message, HasSubstr("found 32212254720 bytes, expected at most 1048576"));
}

TEST_F(InputFileTest, SaysWhatIsMissing) {
  EXPECT_EQ(read_file_text(path("none"), 1).error().code, Code::NOT_FOUND);
  EXPECT_EQ(read_file_text(write("a", "x") + "/b", 1).error().code, Code::NOT_FOUND);
  EXPECT_EQ(read_file_text(path("a") + std::string("\0b", 2), 1).error().code, Code::INVALID_ARGUMENT);
}

TEST_F(InputFileTest, AFileThatBecomesShorterIsAnError) {
  const auto file = InputFile::open(write("a", "0123456789"));
  ASSERT_TRUE(file);
  std::byte bytes[10];
  EXPECT_TRUE(file->read(0, bytes));
  EXPECT_FALSE(file->read(1, bytes));
  fs::resize_file(path("a"), 5);
  const Status read = file->read(0, bytes);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("became shorter"));
}

}  // namespace
}  // namespace etb::format
