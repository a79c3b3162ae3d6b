// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/mutation/limited_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>

#include "host/testing/scratch_dir.hpp"

namespace etb::mutation {
namespace {

RunResult shell(const std::string& command, const RunLimits& limits) {
  return run_limited({"/bin/sh", "-c", command}, limits);
}

TEST(LimitedRun, ReturnsExitCodeAndOutput) {
  const host::ScratchDir dir;
  const RunResult run = shell("echo one; echo two >&2; exit 3", {.folder = dir.path()});
  EXPECT_EQ(run.exit, 3);
  EXPECT_EQ(run.output, "one\ntwo\n");
}

TEST(LimitedRun, ACrashHasItsSignal) { EXPECT_EQ(shell("kill -SEGV $$", {}).signal, SIGSEGV); }

TEST(LimitedRun, AHangRunsOutOfTime) {
  const auto begin = std::chrono::steady_clock::now();
  const RunResult run = shell("sleep 100", {.seconds = 1});
  EXPECT_TRUE(run.timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(LimitedRun, NoProcessRemainsEvenOfAnotherSession) {
  const host::ScratchDir dir;
  const std::string file = dir.path("pid");
  const RunResult run =
      shell("setsid sh -c 'echo $$ > " + file + "; exec sleep 1000' & sleep 1", {.folder = dir.path()});
  EXPECT_EQ(run.exit, 0);
  std::ifstream in(file);
  pid_t pid = 0;
  ASSERT_TRUE(in >> pid);
  EXPECT_NE(::kill(pid, 0), 0) << "the process of another session still runs";
}

TEST(LimitedRun, MemoryAndFilesAreLimited) {
  const host::ScratchDir dir;
  EXPECT_NE(shell("dd if=/dev/zero of=/dev/null bs=200M count=1", {.memory_bytes = uint64_t{100} << 20}).exit,
            0);
  EXPECT_NE(shell("dd if=/dev/zero bs=1M count=1 seek=1100 of=" + dir.path("large"), {}).exit, 0);
}

}  // namespace
}  // namespace etb::mutation
