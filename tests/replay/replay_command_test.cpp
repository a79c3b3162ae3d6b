// SPDX-License-Identifier: Apache-2.0
// `etbackend replay` and `--layer compare` find a planted change in a later version of a plugin, without the model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

std::string version(const std::string& name) {
  return std::string(ETB_VERSIONS_DIR) + "/" + name + "/my_npu_" + name + ".json";
}

// The recordings of a compilation and of a run of x + y on version 0.1.0.
class ReplayCommand : public testing::Test {
 protected:
  void SetUp() override {
    const std::string archives = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/archives/";
    const CliRun compiled =
        cli({"--plugin-path", ETB_PLUGIN_DIR, "compile", archives + "add.pt2", "-b", "my_npu", "-o",
             dir_.path("add.pte"), "--layer", "trace=" + dir_.path("compile.etbt")});
    ASSERT_EQ(compiled.exit, 0) << compiled.err;
    const CliRun ran = run({"--layer", "trace=" + dir_.path("run.etbt")});
    ASSERT_EQ(ran.exit, 0) << ran.err;
  }

  CliRun run(std::vector<std::string> more) {
    std::vector<std::string> args = {"--plugin-path",      ETB_PLUGIN_DIR, "run",
                                     dir_.path("add.pte"), "--random",     "7"};
    args.insert(args.end(), more.begin(), more.end());
    return cli(args);
  }
  CliRun replay(std::vector<std::string> more) {
    std::vector<std::string> args = {"--plugin-path", ETB_PLUGIN_DIR, "replay", dir_.path("compile.etbt"),
                                     dir_.path("run.etbt")};
    args.insert(args.end(), more.begin(), more.end());
    return cli(args);
  }
  Json replay_json(std::vector<std::string> more, int expected_exit) {
    more.emplace_back("--json");
    const CliRun found = replay(std::move(more));
    EXPECT_EQ(found.exit, expected_exit) << found.err << found.out;
    return Json::parse(found.out, nullptr, false);
  }

  host::ScratchDir dir_;
};

std::vector<std::string> kinds_of(const Json& report) {
  std::vector<std::string> kinds;
  for (const Json& difference : report["differences"]) kinds.push_back(difference["kind"]);
  return kinds;
}

TEST_F(ReplayCommand, FindsNoDifferenceInTheSameVersion) {
  const CliRun found = replay({});
  EXPECT_EQ(found.exit, 0) << found.err << found.out;
  EXPECT_THAT(found.out, HasSubstr("com.example.my-npu 0.1.0 on com.example.my-npu 0.1.0\n"));
  EXPECT_THAT(found.out, HasSubstr("1 output compared, 1 equal bit for bit\n"));
  EXPECT_THAT(found.out, HasSubstr("no difference\n"));
  EXPECT_EQ(replay({"--in-process"}).exit, 0);
  EXPECT_EQ(replay({"--recompile"}).exit, 0);
  EXPECT_EQ(replay({"--layer", "validate:strict"}).exit, 0);
}

TEST_F(ReplayCommand, FindsNoDifferenceInALaterVersion) {
  const Json report = replay_json({"--plugin", version("same")}, 0);
  EXPECT_EQ(report["found"]["version"], "0.2.0");
  EXPECT_EQ(report["replayed"], report["calls"]);
  EXPECT_EQ(report["equal_outputs"], 1);
}

TEST_F(ReplayCommand, FindsAWrongOperator) {
  const CliRun found = replay({"--plugin", version("wrong_op")});
  EXPECT_EQ(found.exit, 1);
  EXPECT_THAT(found.out, HasSubstr("delegate.execute(context 1): output 0: "));
  EXPECT_THAT(found.out, HasSubstr("1 difference\n"));
  EXPECT_EQ(replay({"--plugin", version("wrong_op"), "--tolerance", "model"}).exit, 1)
      << "beyond the error model";
  EXPECT_EQ(replay({"--plugin", version("wrong_op"), "--ignore", "output"}).exit, 0);
}

TEST_F(ReplayCommand, AcceptsRoundingOnlyByTolerance) {
  const std::vector<std::string> plugin = {"--plugin", version("rounded")};
  EXPECT_EQ(replay(plugin).exit, 1);
  EXPECT_EQ(replay({plugin[0], plugin[1], "--tolerance", "1e-3,1e-5"}).exit, 0);
  const Json report = replay_json({plugin[0], plugin[1], "--tolerance", "0,1e-5"}, 0);
  ASSERT_EQ(report["output_distances"].size(), 1u);
  EXPECT_EQ(report["output_distances"][0]["accepted"], true);
}

TEST_F(ReplayCommand, FindsOtherClaimsPayloadsAndRefusals) {
  EXPECT_THAT(kinds_of(replay_json({"--plugin", version("claims_less")}, 1)), testing::Contains("claim"));
  const Json other = replay_json({"--plugin", version("other_payload")}, 1);
  EXPECT_THAT(kinds_of(other), testing::Each("payload"));
  EXPECT_THAT(other["differences"][0]["text"].get<std::string>(), HasSubstr("first difference at byte 12"));
  EXPECT_THAT(kinds_of(replay_json({"--plugin", version("refuses")}, 1)), testing::ElementsAre("status"));
}

TEST_F(ReplayCommand, NamesTheCallOfACrash) {
  const CliRun found = replay({"--plugin", version("crashes")});
  EXPECT_EQ(found.exit, 1);
  EXPECT_THAT(found.out, HasSubstr("the plugin ended the process in call "));
  EXPECT_THAT(found.out, HasSubstr(", delegate.execute: killed by signal "));
  EXPECT_TRUE(replay_json({"--plugin", version("crashes")}, 1).contains("death"));
}

// Another plugin altogether: it runs what it compiles from the recorded graph.
TEST_F(ReplayCommand, RunsThePortableKernels) {
  const CliRun found = replay({"--plugin", "portable", "--recompile", "--ignore", "claim", "--ignore",
                               "payload", "--ignore", "ops", "--ignore", "option", "--ignore", "verdict"});
  EXPECT_EQ(found.exit, 0) << found.out << found.err;
  EXPECT_THAT(found.out, HasSubstr("1 output compared, 1 equal bit for bit"));
}

TEST_F(ReplayCommand, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(replay({"--ignore", "colour"}).exit, 2);
  EXPECT_EQ(replay({"--tolerance", "loose"}).exit, 2);
  EXPECT_EQ(replay({"--from", "com.example.other"}).exit, 3);
  EXPECT_EQ(replay({"--plugin", "no_such_plugin"}).exit, 3);
  const CliRun program = cli({"replay", dir_.path("add.pte")});
  EXPECT_EQ(program.exit, 4);
  EXPECT_THAT(program.err, HasSubstr("found a program (.pte), expected a call trace (.etbt)"));
  std::ofstream(dir_.path("cut.etbt"), std::ios::binary) << "ETBCALLS";
  EXPECT_EQ(cli({"replay", dir_.path("cut.etbt")}).exit, 4);
  // A recording of a big-endian machine, and one of a later version of the format.
  for (const auto& [version, expected] :
       {std::pair(std::string("\0\0\0\1\0\0\0\0", 8), "the other byte order"),
        std::pair(std::string("\2\0\0\0\0\0\0\0", 8), "call trace of version 2")}) {
    std::ofstream(dir_.path("other.etbt"), std::ios::binary) << "ETBCALLS" << version;
    const CliRun other = cli({"replay", dir_.path("other.etbt")});
    EXPECT_EQ(other.exit, 5);
    EXPECT_THAT(other.err, HasSubstr(expected));
  }
}

TEST_F(ReplayCommand, ListsCalls) {
  const CliRun list = replay({"--list"});
  EXPECT_EQ(list.exit, 0);
  EXPECT_THAT(list.out, HasSubstr("plugin.init() = plugin 1, "));
  EXPECT_THAT(list.out, HasSubstr("delegate.execute(context 1) = ok, "));
  EXPECT_THAT(list.out, HasSubstr(" run " + dir_.path("add.pte")));
}

// ---- the compare layer

TEST_F(ReplayCommand, CompareFindsTheWrongOperatorAndItsNode) {
  EXPECT_EQ(run({"--layer", "compare=" + version("same")}).exit, 0);
  const CliRun found =
      run({"--layer", "compare=" + version("wrong_op") + ",graphs=" + dir_.path("compile.etbt") +
                          ",json=" + dir_.path("compare.json")});
  EXPECT_EQ(found.exit, 1);
  EXPECT_THAT(found.err,
              HasSubstr("compare: delegate 1 (forward), output 0 'add' of aten.add.Tensor, debug handle "));
  EXPECT_THAT(found.err, HasSubstr("1 of 1 run differs, at most "));
  std::ifstream in(dir_.path("compare.json"));
  const Json report = Json::parse(in, nullptr, false);
  EXPECT_EQ(report["differs"], true);
  EXPECT_EQ(report["outputs"][0]["op"], "aten.add.Tensor");
  EXPECT_NE(report["outputs"][0]["debug_handle"], 0);
  EXPECT_EQ(run({"--layer", "compare=" + version("rounded") + ",atol=1e-5"}).exit, 0);
  EXPECT_EQ(run({"--layer", "compare=" + version("rounded")}).exit, 1);
}

// Each delegate's output has the debug handle that its node has in the report of the compilation.
TEST_F(ReplayCommand, CompareReportsEachDelegateByItsDebugHandle) {
  const std::string archive = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/zoo/mobilenet_v2.pt2";
  const CliRun compiled =
      cli({"--plugin-path", ETB_PLUGIN_DIR, "compile", archive, "-b", "my_npu", "-o", dir_.path("m.pte"),
           "--layer", "trace=" + dir_.path("m.etbt"), "--report-json", dir_.path("report.json")});
  ASSERT_EQ(compiled.exit, 0) << compiled.err;
  const CliRun found = cli(
      {"--plugin-path", ETB_PLUGIN_DIR, "run", dir_.path("m.pte"), "--random", "3", "--layer",
       "compare=" + version("wrong_op") + ",graphs=" + dir_.path("m.etbt") + ",json=" + dir_.path("m.json")});
  EXPECT_EQ(found.exit, 1) << found.err;
  std::ifstream in(dir_.path("m.json"));
  const Json report = Json::parse(in, nullptr, false);
  std::set<int> handles;
  int before = 0;  // the delegates run in the order of the graph
  for (const Json& output : report["outputs"]) {
    EXPECT_EQ(output["op"], "aten.add.Tensor");
    EXPECT_EQ(output["differing_runs"], 1);
    EXPECT_THAT(output["source"].get<std::string>(), HasSubstr("zoo_models.py:"));
    EXPECT_GT(output["debug_handle"], before) << output["delegate"];
    before = output["debug_handle"];
    handles.insert(before);
  }
  std::set<int> expected;
  std::ifstream report_in(dir_.path("report.json"));
  const Json compilation = Json::parse(report_in);
  for (const Json& graph : compilation["graphs"])
    for (const Json& node : graph["nodes"])
      if (!node["region"].is_null()) expected.insert(node["debug_handle"].get<int>());
  EXPECT_EQ(handles.size(), 3u);
  EXPECT_EQ(handles, expected);
}

TEST_F(ReplayCommand, ComparesWithThePortableKernels) {
  const std::string graphs = ",graphs=" + dir_.path("compile.etbt");
  const CliRun equal = run({"--layer", "compare=portable" + graphs});
  EXPECT_EQ(equal.exit, 0) << equal.err;
  EXPECT_THAT(equal.err, HasSubstr(": equal in 1 run\n"));
  const CliRun planted = run({"--layer", "compare=portable" + graphs, "--layer", "fault=flip-output+seed=5"});
  EXPECT_EQ(planted.exit, 1) << "the fault is between the comparison and the plugin";
}

TEST_F(ReplayCommand, AnAlternativeThatRefusesIsNoDifference) {
  const CliRun found = run({"--layer", "compare=" + version("refuses")});
  EXPECT_EQ(found.exit, 0);
  EXPECT_THAT(found.err, HasSubstr("delegate 1 is not compared: "));
}

// ---- the fault layer

TEST_F(ReplayCommand, FaultsEndTheCommandCleanly) {
  for (const char* rules :
       {"out-of-memory,at=plugin.init", "out-of-memory", "device-lost", "cut-payload,bytes=3",
        "flip-payload,bits=9+seed=1", "status,status=internal,at=delegate.query"}) {
    const CliRun failed = run({"--layer", std::string("fault=") + rules});
    EXPECT_NE(failed.exit, 0) << rules;
    EXPECT_THAT(failed.err, HasSubstr("fault: ")) << rules;
    EXPECT_THAT(failed.err, HasSubstr("etbackend run: ")) << rules;
  }
  EXPECT_EQ(run({"--layer", "fault"}).exit, 0) << "without rules";
}

TEST_F(ReplayCommand, RecordedFaultsAreReplayed) {
  ASSERT_NE(
      run({"--layer", "trace=" + dir_.path("run.etbt"), "--layer", "fault=out-of-memory,at=delegate.execute"})
          .exit,
      0);
  const Json report = replay_json({}, 1);
  EXPECT_EQ(report["differences"][0]["text"],
            "recorded out of memory: no memory (a fault of the fault layer); found ok");
}

}  // namespace
}  // namespace etb::tools
