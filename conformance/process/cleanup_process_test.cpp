// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/cleanup_process.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "host/testing/scratch_dir.hpp"

namespace etb::conformance {
namespace {

// Starts runs one after the other. Each needs a folder of its own. Returns the number of runs that got none.
int start_runs(int count) {
  int failed = 0;
  for (int i = 0; i < count; ++i) {
    const auto cleanup = CleanupProcess::start();
    if (!cleanup || !(*cleanup)->make_folder()) ++failed;
  }
  return failed;
}

// Each start looks for folders that dead runs left, and must not take that of a run that begins at the same time.
TEST(CleanupProcess, RunsThatStartTogetherKeepTheirFolders) {
  const host::ScratchDir dir;
  ASSERT_EQ(::setenv("TMPDIR", dir.path().c_str(), 1), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(start_runs(100));
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << "runs without a folder";
  }
  ::unsetenv("TMPDIR");
  EXPECT_TRUE(std::filesystem::is_empty(dir.path())) << "runs left folders";
}

}  // namespace
}  // namespace etb::conformance
