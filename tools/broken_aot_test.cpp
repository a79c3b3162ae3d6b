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

TEST_F(BrokenAot, TargetAndOptionsReachThePlugin) {
  const fs::path target = dir_ / "target.json", report = dir_ / "report.json";
  const auto compile_for = [&](const std::string& text, std::vector<std::string> more) {
    std::ofstream(target) << text;
    more.insert(more.end(), {"--target", target.string(), "--report", "--report-json", report.string()});
    return compile("", dir_ / "program.pte", more);
  };
  const std::string fits = R"({"target_version": 1, "attributes": {"region_nodes": 3, "node_ns": 700}})";
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--isolate"}}) {
    const CliRun good = compile_for(fits, more);
    EXPECT_EQ(good.exit, 0) << good.err;
    EXPECT_THAT(good.out, HasSubstr(", estimated 2.1 us, 2 KiB moved"));
    EXPECT_THAT(read_file(report), HasSubstr("\"latency_ns\": 2100.0"));

    const CliRun absent = compile_for(R"({"target_version": 1, "name": "absent"})", more);
    EXPECT_EQ(absent.exit, 0) << absent.err;
    EXPECT_THAT(absent.out, HasSubstr("com.example.target: no device of this name"));

    const CliRun small = compile_for(R"({"target_version": 1, "attributes": {"region_nodes": 2}})", more);
    EXPECT_THAT(small.err + small.out, HasSubstr("3 nodes, the target takes 2"));

    std::vector<std::string> with_option = more;
    with_option.insert(with_option.end(), {"--backend-option", "broken_aot:most_nodes=2"});
    EXPECT_THAT(compile_for(fits, with_option).out, HasSubstr("more nodes than the option allows"));

    std::vector<std::string> with_wrong = more;
    with_wrong.insert(with_wrong.end(), {"--backend-option", "broken_aot:most_nodes=many"});
    const CliRun wrong = compile_for(fits, with_wrong);
    EXPECT_EQ(wrong.exit, static_cast<int>(ExitCode::USAGE)) << wrong.err;
    EXPECT_THAT(wrong.err, HasSubstr("option 'most_nodes': found 'many', expected a value of type i64"));
  }
}

TEST_F(BrokenAot, ErrorsOfTargetsAndOptionsNameThem) {
  const fs::path target = dir_ / "target.json";
  std::ofstream(target) << R"({"target_version": 1, "kind": 3})";
  const CliRun damaged = compile("", dir_ / "program.pte", {"--target", target.string()});
  EXPECT_EQ(damaged.exit, static_cast<int>(ExitCode::INVALID_INPUT)) << damaged.err;
  EXPECT_THAT(damaged.err, HasSubstr("target.json': target file: kind: found 3, expected a text"));
  const CliRun missing = compile("", dir_ / "program.pte", {"--target", (dir_ / "none.json").string()});
  EXPECT_THAT(missing.err, HasSubstr("none.json"));
  for (const char* const option : {"broken_aot", "broken_aot:x", ":x=1", "broken_aot:=1"})
    EXPECT_EQ(compile("", dir_ / "program.pte", {"--backend-option", option}).exit,
              static_cast<int>(ExitCode::USAGE))
        << option;
  const CliRun other = compile("", dir_ / "program.pte", {"--backend-option", "other:x=1"});
  EXPECT_EQ(other.exit, static_cast<int>(ExitCode::USAGE)) << other.err;
  EXPECT_THAT(other.err, HasSubstr("-b names no plugin 'other'"));
}

class Interrupted : public BrokenAot {
 protected:
  // Starts the program with a plugin that compiles in this way, and sends a signal when it does.
  Ended interrupt(const std::string& way, int count) {
    const fs::path ready = dir_ / "ready";
    ::setenv("ETB_BROKEN_AOT", way.c_str(), 1);
    ::setenv("ETB_BROKEN_AOT_READY", ready.c_str(), 1);
    ProgramProcess process({"--plugin-path", ETB_BROKEN_AOT_DIR, "compile", archive("mlp.pt2"), "-b",
                            "broken_aot", "-o", (dir_ / "out.pte").string()});
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
