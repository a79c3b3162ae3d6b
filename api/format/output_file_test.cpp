// SPDX-License-Identifier: Apache-2.0
#include "api/format/output_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "api/format/input_file.hpp"
#include "api/format/unfinished_files.hpp"

namespace etb::format {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    std::string folder = (fs::temp_directory_path() / "etb_output_XXXXXX").string();
    folder_ = ::mkdtemp(folder.data());
  }
  ~OutputFileTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string text_of(const std::string& name) const { return read_file_text(path(name), 1 << 24).value(); }
  mode_t mode_of(const std::string& name) const {
    struct stat info {};
    EXPECT_EQ(::lstat(path(name).c_str(), &info), 0);
    return info.st_mode & 07777;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder_)) out.push_back(entry.path().filename());
    return out;
  }
  void write_old(const std::string& name, const std::string& text, mode_t mode) const {
    std::ofstream(path(name)) << text;
    ASSERT_EQ(::chmod(path(name).c_str(), mode), 0);
  }

  std::string folder_;
};

TEST_F(OutputFileTest, NothingIsSeenBeforeTheCommit) {
  write_old("out", "old", 0644);
  auto file = OutputFile::open(path("out"));
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->append("new and longer"));
  EXPECT_EQ(text_of("out"), "old");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(text_of("out"), "new and longer");
  EXPECT_THAT(names(), ElementsAre("out"));
}

TEST_F(OutputFileTest, NothingIsLeftWithoutACommit) {
  {
    auto file = OutputFile::open(path("out"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->append("half"));
  }
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(OutputFileTest, ANewFileHasTheUmaskAndAnOldOneKeepsItsMode) {
  const mode_t before = ::umask(027);
  ASSERT_TRUE(write_file(path("new"), "x"));
  ::umask(before);
  EXPECT_EQ(mode_of("new"), 0640u);
  write_old("old", "x", 0751);
  ASSERT_TRUE(write_file(path("old"), "y"));
  EXPECT_EQ(mode_of("old"), 0751u);
  OutputOptions script;
  script.mode = 0777;
  ::umask(022);
  ASSERT_TRUE(write_file(path("run.sh"), "x", script));
  ::umask(before);
  EXPECT_EQ(mode_of("run.sh"), 0755u);
}

TEST_F(OutputFileTest, ASymbolicLinkStaysAndTheFileBehindItIsWritten) {
  fs::create_directory(path("deep"));
  write_old("deep/real", "old", 0600);
  fs::create_symlink("deep/real", path("link"));
  ASSERT_TRUE(write_file(path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(text_of("deep/real"), "new");
  EXPECT_EQ(mode_of("deep/real"), 0600u);
  fs::create_symlink(path("nothing"), path("dangling"));
  const Status dangling = write_file(path("dangling"), "new");
  ASSERT_FALSE(dangling);
  EXPECT_EQ(dangling.error().code, Code::ACCESS_FAILED);
  EXPECT_THAT(dangling.error().message, HasSubstr("a symbolic link to a file that does not exist"));
  EXPECT_FALSE(fs::exists(path("nothing")));
}

TEST_F(OutputFileTest, APipeIsWrittenToAndStays) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { std::getline(std::ifstream(path("pipe")), read); });
  EXPECT_TRUE(write_file(path("pipe"), "through"));
  reader.join();
  EXPECT_EQ(read, "through");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

TEST_F(OutputFileTest, AFullDeviceIsAnErrorAndStays) {
  const Status full = write_file("/dev/full", "x");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::OUT_OF_RESOURCES);
  EXPECT_THAT(full.error().message, HasSubstr("'/dev/full': No space left on device"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  // Root could replace the node /dev/full itself. A new node shows that it is not replaced.
  if (::mknod(path("full").c_str(), S_IFCHR | 0666, makedev(1, 7)) != 0) return;
  EXPECT_FALSE(write_file(path("full"), "x"));
  EXPECT_TRUE(fs::is_character_file(path("full")));
  EXPECT_THAT(names(), ElementsAre("full"));
}

TEST_F(OutputFileTest, SaysWhyItCannotWrite) {
  EXPECT_EQ(write_file(path("no/such/folder"), "x").error().code, Code::NOT_FOUND);
  EXPECT_EQ(write_file(folder_, "x").error().code, Code::ACCESS_FAILED);
  EXPECT_EQ(write_file(path("name/"), "x").error().code, Code::ACCESS_FAILED);
  EXPECT_EQ(write_file("", "x").error().code, Code::INVALID_ARGUMENT);
  write_old("file", "x", 0444);
  if (::geteuid() != 0) {
    EXPECT_EQ(write_file(path("file"), "y").error().code, Code::ACCESS_FAILED);
  }
  EXPECT_TRUE(expect_writable(path("file2")));
  EXPECT_TRUE(expect_writable("/dev/full"));
  EXPECT_EQ(expect_writable(path("no/such")).error().code, Code::NOT_FOUND);
  OutputOptions fresh;
  fresh.must_be_new = true;
  EXPECT_EQ(write_file(path("file"), "y", fresh).error().code, Code::ALREADY_EXISTS);
  EXPECT_TRUE(write_file(path("fresh"), "y", fresh));
  EXPECT_EQ(text_of("fresh"), "y");
  EXPECT_THAT(names(), UnorderedElementsAre("file", "fresh"));
}

// Pieces of two writers are never mixed in one file.
TEST_F(OutputFileTest, WritersOfOneNameDoNotMix) {
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([this, t] {
      for (int i = 0; i < 20; ++i) {
        auto file = OutputFile::open(path("out"));
        ASSERT_TRUE(file);
        for (int piece = 0; piece < 50; ++piece)
          ASSERT_TRUE(file->append(std::string(1000, static_cast<char>('a' + t))));
        ASSERT_TRUE(file->commit());
        const std::string text = text_of("out");
        EXPECT_EQ(text, std::string(50000, text[0]));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_THAT(names(), ElementsAre("out"));
}

TEST_F(OutputFileTest, ALogIsSeenWhileItGrowsAndHasOneWriter) {
  OutputOptions log;
  log.visibility = Visibility::kAtOnce;
  write_old("log", "old", 0644);
  {
    auto file = OutputFile::open(path("log"), log);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->append("one\n"));
    EXPECT_EQ(text_of("log"), "one\n");
    const pid_t child = ::fork();
    if (child == 0) {
      const auto second = OutputFile::open(path("log"), log);
      ::_exit(second ? 0 : static_cast<int>(second.error().code) & 0x7f);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(Code::BUSY) & 0x7f);
  }
  log.keeps_content = true;
  ASSERT_TRUE(write_file(path("log"), "two\n", log));
  EXPECT_EQ(text_of("log"), "one\ntwo\n");
}

TEST_F(OutputFileTest, AnUnnamedFileIsInNoFolder) {
  auto file = OutputFile::open_unnamed(folder_);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->append("hidden"));
  EXPECT_THAT(names(), IsEmpty());
  char bytes[6];
  EXPECT_EQ(::pread(file->descriptor(), bytes, 6, 0), 6);
  EXPECT_EQ(OutputFile::open_unnamed(path("none")).error().code, Code::NOT_FOUND);
}

// Without /proc a file without a name cannot be given one, as on a file system without such files.
// Only root may hide /proc.
TEST_F(OutputFileTest, WithoutFilesThatHaveNoNameAnUnpredictableOneIsUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs chroot";
  const auto count_temporary = [] {
    return std::count_if(fs::directory_iterator("/"), fs::directory_iterator(), [](const auto& entry) {
      return entry.path().filename().string().starts_with(".etbackend-");
    });
  };
  const pid_t child = ::fork();
  if (child == 0) {
    if (::chroot(folder_.c_str()) != 0 || ::chdir("/") != 0) ::_exit(1);
    auto file = OutputFile::open("/out");
    if (!file || !file->append("whole") || count_temporary() != 1) ::_exit(2);
    if (!file->commit() || count_temporary() != 0) ::_exit(3);
    { const auto given_up = OutputFile::open("/out"); }
    if (count_temporary() != 0) ::_exit(4);
    const auto interrupted = OutputFile::open("/out");
    if (count_temporary() != 1) ::_exit(5);
    remove_unfinished_files();
    ::_exit(count_temporary() == 0 ? 0 : 6);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(text_of("out"), "whole");
  EXPECT_THAT(names(), ElementsAre("out"));
}

TEST_F(OutputFileTest, ASignalHandlerFindsTheTemporaryNamesThatAreThere) {
  const int folder = ::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  write_old("noted", "x", 0600);
  write_old("finished", "x", 0600);
  { const UnfinishedFile finished(folder, "finished"); }
  const UnfinishedFile noted(folder, "noted");
  remove_unfinished_files();
  EXPECT_THAT(names(), ElementsAre("finished"));
  ::close(folder);
}

}  // namespace
}  // namespace etb::format
