// SPDX-License-Identifier: Apache-2.0
// Tests signals during `etbackend bench`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/testing/program_process.hpp"

namespace etb::tools {
namespace {

using Json = nlohmann::json;

TEST(BenchProcess, PrintsTheSamplesBeforeTheInterrupt) {
  for (const int number : {SIGINT, SIGTERM}) {
    ProgramProcess process({"bench", program_fixture("add.pte"), program_fixture("conv.pte"), "--samples",
                            "1000000", "--repeat", "1000", "--max-time", "0", "--json"});
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    process.send(number);
    const Ended ended = process.wait();
    EXPECT_EQ(ended.exit, 6) << ended.err;
    const Json report = Json::parse(ended.out, nullptr, false);
    ASSERT_TRUE(report.is_object()) << ended.out;
    EXPECT_EQ(report["is_interrupted"], true);
    EXPECT_EQ(report["variants"][0]["status"], "ok");
    EXPECT_GT(report["variants"][0]["runs"], 0);
    EXPECT_LT(report["variants"][0]["samples"], 1000000);
    EXPECT_LT(ended.seconds, 10);
  }
}

TEST(BenchProcess, RemovesItsTemporaryFiles) {
  // A folder of its own: another process may run a benchmark now.
  const host::ScratchDir dir;
  ASSERT_EQ(::setenv("TMPDIR", dir.path("").c_str(), 1), 0);
  const Ended ended =
      run_program({"bench", archive_fixture("activations.pt2"), "--samples", "1", "--repeat", "1"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  ::unsetenv("TMPDIR");
  EXPECT_TRUE(std::filesystem::is_empty(dir.path("")));
}

}  // namespace
}  // namespace etb::tools
