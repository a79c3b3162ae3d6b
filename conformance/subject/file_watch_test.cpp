// SPDX-License-Identifier: Apache-2.0
// Tests which calls count as changes of files.
#include "conformance/subject/file_watch.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace etb::conformance {
namespace {

TEST(FileWatch, ReportsFoldersThatAreMadeAndNotThoseThatExist) {
  const std::string folder =
      std::filesystem::temp_directory_path() / ("etb_watch_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string made = folder + "/new";
  const auto seen = watch_files(
      [&] {
        (void)::mkdir(folder.c_str(), 0700);
        (void)::mkdir(made.c_str(), 0700);
      },
      20000);
  std::filesystem::remove_all(folder);
  if (!seen) GTEST_SKIP() << "the kernel cannot report calls";
  EXPECT_EQ(*seen, std::set<std::string>{made});
}

}  // namespace
}  // namespace etb::conformance
