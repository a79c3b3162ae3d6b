// SPDX-License-Identifier: Apache-2.0
// Tests the folder of packed weights: killed writers, live writers, foreign files.
#include "plugins/xnnpack/packed_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

namespace etb::xnnpack {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kMuch = uint64_t{1} << 40;

class XnnpackPackedFolder : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("etb_packed_folder_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path path(const std::string& name) const { return folder_ / name; }
  static std::string weights(const std::string& name) { return name + kWeightsSuffix; }
  // `age` is in hours.
  void put(const std::string& name, size_t nbytes, int age = 0) const {
    std::ofstream(path(name)) << std::string(nbytes, 'x');
    fs::permissions(path(name), fs::perms::owner_read | fs::perms::owner_write);
    fs::last_write_time(path(name), fs::file_time_type::clock::now() - std::chrono::hours(age));
  }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& item : fs::directory_iterator(folder_)) found.insert(item.path().filename().string());
    return found;
  }
  void trim(uint64_t max_nbytes) const { trim_folder(folder_.string(), max_nbytes); }

  fs::path folder_;
};

TEST_F(XnnpackPackedFolder, WhatAKilledWriterLeavesIsRemoved) {
  for (const fs::path& killed_in : {path(weights("a")), note_path(path(weights("a")))}) {
    const pid_t writer = fork();
    if (writer == 0) {
      PartialFile file(killed_in);
      if (file.write("half of it", 10)) raise(SIGKILL);
      _exit(1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(writer, &status, 0), writer);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    ASSERT_EQ(names().size(), 1u) << "the writer left nothing";
    trim(kMuch);
    EXPECT_THAT(names(), IsEmpty());
  }
}

TEST_F(XnnpackPackedFolder, WhatSomebodyWritesStaysAndCounts) {
  put(weights("old"), 1000, 2);
  put(weights("new"), 1000, 1);
  {
    PartialFile file(path(weights("next")));
    ASSERT_TRUE(file.write(std::string(3000, 'y').data(), 3000));
    trim(4500);
    EXPECT_EQ(names().size(), 2u);
    EXPECT_EQ(names().count(weights("new")), 1u);
    EXPECT_TRUE(file.finish());
  }
  EXPECT_THAT(names(), ElementsAre(weights("new"), weights("next")));
  EXPECT_EQ(fs::file_size(path(weights("next"))), 3000u);
  EXPECT_EQ(fs::status(path(weights("next"))).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(XnnpackPackedFolder, AnUnfinishedFileGoesWithItsWriter) {
  { PartialFile file(path(weights("a"))); }
  EXPECT_THAT(names(), IsEmpty());
  PartialFile nowhere(path("missing") / weights("a"));
  EXPECT_FALSE(nowhere.is_open());
  EXPECT_FALSE(nowhere.write("x", 1));
  EXPECT_FALSE(nowhere.finish());
}

TEST_F(XnnpackPackedFolder, NotesGoWithTheirFileAndCount) {
  put(weights("a") + ".verified", 100);
  put(weights("old"), 1000, 2);
  put(weights("old") + ".verified", 100, 2);
  put(weights("new"), 1000, 1);
  put(weights("new") + ".verified", 100, 1);
  trim(2200);
  EXPECT_THAT(names(), ElementsAre(weights("new"), weights("new") + ".verified", weights("old"),
                                   weights("old") + ".verified"))
      << "the note without a file alone";
  trim(2199);
  EXPECT_THAT(names(), ElementsAre(weights("new"), weights("new") + ".verified"));
  trim(1099);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(XnnpackPackedFolder, FilesOfOthersStay) {
  const std::set<std::string> others = {"readme", weights("a") + ".saved_copy",
                                        weights("a") + ".saved_copy.Ab12Cd", weights("a") + ".Ab12C",
                                        weights("a") + ".Ab12C-"};
  for (const std::string& name : others) put(name, 5000);
  fs::create_directory(path(weights("folder")));
  ASSERT_EQ(mkfifo(path(weights("pipe") + ".Ab12Cd").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/null", path(weights("link")).c_str()), 0);
  put(weights("b") + ".Ab12Cd", 10);
  fs::permissions(path(weights("b") + ".Ab12Cd"), fs::perms::others_write, fs::perm_options::add);
  const auto before = names();
  trim(0);
  EXPECT_EQ(names(), before);
  trim_folder((folder_ / "missing").string(), 0);
  trim_folder(path("readme").string(), 0);
}

TEST_F(XnnpackPackedFolder, ManyWriteWhileOthersTrim) {
  constexpr int kWriters = 4, kRounds = 100;
  std::atomic<int> failures{0};
  std::atomic<bool> is_over{false};
  std::vector<std::thread> writers, trimmers;
  for (int t = 0; t < 2; ++t)
    trimmers.emplace_back([&] {
      while (!is_over) trim(kMuch);
    });
  for (int t = 0; t < kWriters; ++t)
    writers.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        PartialFile file(path(weights(std::to_string(t) + "_" + std::to_string(i))));
        if (!file.write("all of it", 9) || !file.finish()) ++failures;
      }
    });
  for (std::thread& thread : writers) thread.join();
  is_over = true;
  for (std::thread& thread : trimmers) thread.join();
  EXPECT_EQ(failures, 0);
  trim(kMuch);
  EXPECT_EQ(names().size(), size_t{kWriters * kRounds});
}

}  // namespace
}  // namespace etb::xnnpack
