// SPDX-License-Identifier: Apache-2.0
// Tests `etbackend compile` with plugins that partition or compile badly: it names the plugin and continues
// without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "etb/plugin.h"
#include "tools/compile/plugin_progress.hpp"
#include "tools/testing/cli_run.hpp"
#include "tools/testing/program_process.hpp"

namespace etb::tools {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

struct Row {
  const char* way;
  const char* text;          // expected in the message about the plugin
  bool needs_child = false;  // the defect would end this process
};

// A sanitizer handles the signal: it reports the place and ends the process itself.
constexpr const char* kCrash =
    ETB_SANITIZERS_BUILT != 0 ? "in partition: exited with code " : "in partition: killed by signal 11";

constexpr Row kRows[] = {
    {"unknown_node", ", the graph has nodes 0 to "},
    {"overlap", "claims node 0, which it claims already"},
    {"unanswered", "neither claims nor rejects node "},
    {"no_reason", "without a reason"},
    {"cyclic_region", "as one region, which would have to run before itself: "},
    {"fail_in_partition", "no idea"},
    {"refuse_in_compile", "changed its mind"},
    {"throw_in_compile", "unknown type"},
    {"other_bytes_of_a_key", "different bytes (ABI-AOT-04)"},
    {"unknown_constant", "unknown constant 'nobody's'"},
    {"odd_alignment", "alignment 3"},
    {"wrong_payload", "rejects its own payload of region 0: not of this plugin"},
    {"crash_in_partition", kCrash, true},
    {"exit_in_partition", "in partition: the process ended without an answer", true},
    {"hang_in_partition", "in partition: no answer within 300 ms", true},
    {"crash_in_compile", "in compile: killed by signal 6", true},
    {"exit_in_compile", "in compile: the process ended without an answer", true},
    {"hang_in_compile", "in compile: no answer within 300 ms", true},
};

std::string archive(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/archives/" + name;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class BrokenAot : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override { fs::create_directories(dir_); }
  void TearDown() override {
    fs::remove_all(dir_);
    ::unsetenv("ETB_BROKEN_AOT");
  }

  CliRun compile(const std::string& way, const fs::path& output, std::vector<std::string> more) {
    ::setenv("ETB_BROKEN_AOT", way.c_str(), 1);
    std::vector<std::string> args = {
        "--plugin-path", ETB_BROKEN_AOT_DIR, "compile", archive("mlp.pt2"), "-b", "broken_aot", "-o",
        output.string()};
    args.insert(args.end(), more.begin(), more.end());
    return cli(args);
  }
  void expect_named_and_left_out(const Row& row, const std::vector<std::string>& more) {
    const fs::path with = dir_ / "with.pte", without = dir_ / "without.pte";
    const CliRun run = compile(row.way, with, more);
    EXPECT_EQ(run.exit, static_cast<int>(ExitCode::NEGATIVE)) << run.err;
    EXPECT_THAT(run.err, HasSubstr("skipped plugin 'broken_aot': "));
    EXPECT_THAT(run.err, HasSubstr(row.text));
    ASSERT_EQ(cli({"compile", archive("mlp.pt2"), "-o", without.string()}).exit, 0);
    EXPECT_EQ(read_file(with), read_file(without));
  }

  fs::path dir_ = fs::temp_directory_path() / ("etb_broken_aot_" + std::to_string(::getpid()));
};

class BrokenAotInProcess : public BrokenAot {};

TEST_P(BrokenAotInProcess, IsNamedAndLeftOut) { expect_named_and_left_out(GetParam(), {}); }

TEST_P(BrokenAot, IsNamedAndLeftOutWhenIsolated) {
  // With --isolate, each partition call runs in a new process, where call counts start at 0.
  const bool is_hang = std::string_view(GetParam().way).rfind("hang", 0) == 0;
  expect_named_and_left_out(GetParam(), {"--isolate", "--plugin-timeout-ms", is_hang ? "300" : "60000"});
}

constexpr auto kWay = [](const auto& each) { return std::string(each.param.way); };
std::vector<Row> rows_of_this_process() {
  std::vector<Row> rows;
  std::copy_if(std::begin(kRows), std::end(kRows), std::back_inserter(rows),
               [](const Row& row) { return !row.needs_child; });
  return rows;
}
INSTANTIATE_TEST_SUITE_P(Ways, BrokenAot, testing::ValuesIn(kRows), kWay);
INSTANTIATE_TEST_SUITE_P(Ways, BrokenAotInProcess, testing::ValuesIn(rows_of_this_process()), kWay);

// The rows are valid only if the same plugin is accepted without a defect.
TEST_F(BrokenAot, WithoutAFaultItTakesPart) {
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--isolate"}}) {
    const CliRun run = compile("", dir_ / "good.pte", more);
    EXPECT_EQ(run.exit, 0) << run.err;
    EXPECT_EQ(run.err, "");
    EXPECT_THAT(run.out, HasSubstr("1 instruction with 1 delegate call"));
  }
}

TEST_F(BrokenAot, AnotherPluginGetsWhatABrokenOneWouldHaveTaken) {
  ::setenv("ETB_BROKEN_AOT", "crash_in_compile", 1);
  const CliRun run = cli({"--plugin-path", ETB_BROKEN_AOT_DIR, "--plugin-path", ETB_PLUGIN_DIR, "compile",
                          archive("add.pt2"), "-b", "broken_aot", "-b", "my_npu", "--isolate", "-o",
                          (dir_ / "add.pte").string()});
  EXPECT_EQ(run.exit, static_cast<int>(ExitCode::NEGATIVE)) << run.err;
  EXPECT_THAT(run.out, HasSubstr("1 instruction with 1 delegate call"));
  const CliRun ran = cli({"--plugin-path", ETB_PLUGIN_DIR, "run", (dir_ / "add.pte").string(), "--ones"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
}

class Interrupted : public BrokenAot {
 protected:
  // Starts the program with a plugin that compiles in this way, and sends a signal when it does.
  Ended interrupt(const std::string& way, int count) {
    const fs::path ready = dir_ / "ready";
    ::setenv("ETB_BROKEN_AOT", way.c_str(), 1);
    ::setenv("ETB_BROKEN_AOT_READY", ready.c_str(), 1);
    ProgramProcess process({"--plugin-path", ETB_BROKEN_AOT_DIR, "compile", archive("mlp.pt2"), "-b", "broken_aot",
                            "-o", (dir_ / "out.pte").string()});
    for (int i = 0; i < 3000 && !fs::exists(ready); ++i) ::usleep(10000);
    for (int i = 0; i < count; ++i) {
      process.send(SIGINT);
      ::usleep(100000);
    }
    Ended ended = process.wait();
    ::unsetenv("ETB_BROKEN_AOT_READY");
    return ended;
  }
};

TEST_F(Interrupted, APluginThatAsksStopsAndNoProgramIsWritten) {
  const Ended ended = interrupt("wait_in_compile", 1);
  EXPECT_EQ(ended.exit, static_cast<int>(ExitCode::UNAVAILABLE)) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("interrupted while broken_aot compiled; no program was written"));
  EXPECT_FALSE(fs::exists(dir_ / "out.pte"));
}

TEST_F(Interrupted, ASecondSignalEndsTheProgramWithAPluginThatDoesNotAsk) {
  const Ended ended = interrupt("hang_in_compile", 2);
  EXPECT_EQ(ended.signal, SIGINT) << ended.err;
  EXPECT_FALSE(fs::exists(dir_ / "out.pte"));
}

TEST(ProgressText, HasTheShareTheStepAndTheTimeLeft) {
  EXPECT_EQ(progress_text(0.25, "tile 3", 1), "25 %: tile 3");
  EXPECT_EQ(progress_text(0.25, "", 10), "25 %, about 30 s left");
}

}  // namespace
}  // namespace etb::tools
