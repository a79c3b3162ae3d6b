// SPDX-License-Identifier: Apache-2.0
// Tests --json of every command: standard output has one JSON document and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using nlohmann::json;
using Args = std::vector<std::string>;

const std::string kFixtures = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/";
const std::string kProgram = kFixtures + "programs/add.pte";
const std::string kArchive = kFixtures + "zoo/activations.pt2";

// Each with the members that a reader relies on.
struct Row {
  Args args;
  Args members;
};

std::vector<Row> rows(const host::ScratchDir& dir) {
  return {
      {{"list"}, {"plugins", "places", "warnings"}},
      {{"list", "--devices"}, {"plugins"}},
      {{"info", kProgram}, {"methods", "weights"}},
      {{"info", kArchive}, {"inputs", "outputs", "operators"}},
      {{"info", "my_npu"}, {"id", "version"}},
      {{"explain", "my_npu"}, {"candidates"}},
      {{"explain", "my_npu", "--load"}, {"candidates", "loads"}},
      {{"compile", kArchive, "-o", dir.path("a.pte")}, {"program", "methods", "delegation"}},
      {{"compile", kArchive, "-o", dir.path("b.pte"), "-b", "my_npu", "--report", "--times", "--dump-after",
        "import"},
       {"program", "delegation", "times_ms"}},
      {{"run", kProgram}, {"outputs", "load_us"}},
      {{"verify", "portable", "--case", "abi.*"}, {"header", "pass", "failures"}},
      {{"verify", "--list", "--case", "abi.*"}, {"items"}},
      {{"new", "abc", "--dir", dir.path("abc")}, {"id", "files"}},
      {{"graph", kArchive}, {"text"}},
      {{"graph", kArchive, "-o", dir.path("a.etg"), "--after", "image"}, {"output", "nbytes"}},
      {{"exit-codes"}, {"exit_codes"}},
      {{"select", kProgram}, {"operators", "dtypes", "others", "delegates"}},
      {{"size", kProgram}, {"parts", "modules", "operators", "tensor_data", "overview"}},
      {{"diff-program", kProgram, kProgram}, {"is_equal"}},
      {{"bench", kProgram, "--list"}, {"variants"}},
      {{"diff", "eager", "portable", "--model", kArchive},
       {"a", "b", "model", "has_divergence", "divergences", "blocks", "notes"}},
      {{"inspect", kFixtures + "etrecord/add.etdp"}, {}},
  };
}

TEST(JsonOutput, OfEveryCommandIsOneDocument) {
  const host::ScratchDir dir;
  for (const Row& row : rows(dir)) {
    Args args = row.args;
    args.insert(args.end(), {"--json", "--plugin-path", ETB_PLUGIN_DIR});
    const CliRun run = cli(args);
    const std::string line = testing::PrintToString(args);
    EXPECT_EQ(run.exit, 0) << line << run.err;
    const json document = json::parse(run.out, nullptr, false);
    ASSERT_TRUE(document.is_object()) << line << run.out.substr(0, 200);
    for (const std::string& member : row.members) EXPECT_TRUE(document.contains(member)) << line << member;
  }
}

TEST(JsonOutput, NoCommandIsMissingAbove) {
  const host::ScratchDir dir;
  std::set<std::string> tested;
  for (const Row& row : rows(dir)) tested.insert(row.args[0]);
  const std::string help = cli({"--help"}).out;
  for (const std::string& name : tested) EXPECT_NE(help.find(name), std::string::npos) << name;
  for (const char* name : {"bench", "compile", "diff", "diff-program", "exit-codes", "explain", "graph",
                           "info", "inspect", "list", "new", "run", "select", "size", "verify"})
    EXPECT_EQ(tested.count(name), 1u) << name;
}

TEST(JsonOutput, ErrorsAreTextOnStandardError) {
  for (const Args& args : {Args{"info", "/nonexistent/m.pte", "--json"},
                           {"run", "/nonexistent/m.pte", "--json"},
                           {"compile", "/nonexistent/m.pt2", "--json"},
                           {"verify", "/nonexistent/p.so", "--json"}}) {
    const CliRun run = cli(args);
    EXPECT_NE(run.exit, 0);
    EXPECT_EQ(run.out, "") << args[0];
    EXPECT_EQ(run.err.rfind("etbackend " + args[0] + ": ", 0), 0u) << run.err;
  }
}

}  // namespace
}  // namespace etb::tools
