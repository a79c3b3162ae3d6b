// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kRoot = ETB_SOURCE_DIR;
const std::string kDigits = kRoot + "/docs/examples/digits/digits.pt2";

std::string zoo(const std::string& name) { return kRoot + "/tests/fixtures/zoo/" + name; }

TEST(DiffCommand, FindsNoDivergenceBetweenTwoRightSides) {
  const CliRun run = cli({"diff", "eager", "portable", "--model", kDigits, "--random", "7"});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("no divergence"));
  EXPECT_THAT(run.out, HasSubstr("random inputs of seed 7"));
}

TEST(DiffCommand, NamesOperatorAndLineOfEachNode) {
  const CliRun run = cli({"diff", "eager", "portable", "--model", kDigits, "--each-node", "--json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const json report = json::parse(run.out);
  EXPECT_FALSE(report["has_divergence"]);
  ASSERT_EQ(report["blocks"].size(), report["nodes"].get<size_t>() + 1);
  const json& result = report["blocks"][0]["results"][0];
  EXPECT_THAT(result["node"]["op"].get<std::string>(), HasSubstr("aten."));
  EXPECT_GT(result["node"]["source"]["line"], 0);
  EXPECT_EQ(result["b"]["verdict"], "right");
}

// PyTorch computed these arrays.
TEST(DiffCommand, ComparesWithOutputsOfPyTorch) {
  for (const std::string model : {"resnet18", "mobilenet_v2_q8", "conformer"}) {
    const CliRun run = cli({"diff", zoo(model + ".out.0.npy"), "portable", "--model", zoo(model + ".pt2"),
                            "--input", zoo(model + ".in.0.npy")});
    EXPECT_EQ(run.exit, 0) << model << run.out << run.err;
  }
}

TEST(DiffCommand, ReportsWrongOutputsWithoutBlamingANode) {
  host::ScratchDir folder;
  ASSERT_EQ(cli({"run", kDigits, "--random", "8", "--output-dir", folder.path()}).exit, 0);
  const std::string outputs = folder.path("0.npy");
  const CliRun run = cli({"diff", outputs, "portable", "--model", kDigits, "--random", "7"});
  EXPECT_EQ(run.exit, 1) << run.err;
  EXPECT_THAT(run.out, HasSubstr("only their values are known"));
  EXPECT_THAT(run.out, HasSubstr("1 outside"));
}

TEST(DiffCommand, RunsAProgramFile) {
  host::ScratchDir folder;
  ASSERT_EQ(cli({"compile", kDigits, "-o", folder.path("digits.pte")}).exit, 0);
  const CliRun run = cli({"diff", "eager", folder.path("digits.pte"), "--model", kDigits, "--random", "7"});
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
}

TEST(DiffCommand, ExplainsTheLossOfQuantisationByTheScales) {
  for (const std::string model : {"mlp_q8_per_tensor", "mlp_q8_dynamic"}) {
    const CliRun run =
        cli({"diff", "real", "portable", "--model", zoo(model + ".pt2"), "--random", "7", "--json"});
    ASSERT_EQ(run.exit, 0) << run.out.substr(0, 2000) << run.err;
    const json report = json::parse(run.out);
    EXPECT_GT(report["blocks"][0]["results"][0]["metrics"]["max_abs"], 1e-4);  // the two sides do differ
  }
}

// The calibration saw numbers of a normal distribution: those of --random exceed the range of an activation.
TEST(DiffCommand, FindsACodeWhoseRangeIsTooSmall) {
  const std::string model = zoo("mobilenet_v2_q8.pt2");
  const CliRun run = cli({"diff", "real", "portable", "--model", model, "--random", "7", "--json"});
  ASSERT_EQ(run.exit, 1) << run.err;
  const json found = json::parse(run.out)["divergences"][0];
  ASSERT_EQ(found["nodes"].size(), 2u);
  EXPECT_THAT(found["nodes"][0]["op"].get<std::string>(), HasSubstr("quantize_per_tensor"));
  EXPECT_EQ(found["result"]["a"]["verdict"], "right");
  EXPECT_EQ(found["result"]["b"]["verdict"], "wrong");
}

TEST(DiffCommand, WritesTheTableOfTheNumericGap) {
  const CliRun run =
      cli({"diff", "eager", "portable", "--model", kDigits, "--each-node", "--tsv", "-", "--gap", "l1"});
  ASSERT_EQ(run.exit, 0) << run.err;
  std::istringstream lines(run.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line,
            "aot_debug_handle\taot_ops\taot_intermediate_output\truntime_ops\truntime_debug_handle\t"
            "runtime_intermediate_output\tgap\tstacktraces");
  size_t rows = 0;
  for (; std::getline(lines, line); ++rows) EXPECT_EQ(std::count(line.begin(), line.end(), '\t'), 7) << line;
  EXPECT_GT(rows, 3u);
}

TEST(DiffCommand, AsksTheUsersComparator) {
  const CliRun run = cli({"diff", "eager", "portable", "--model", kDigits, "--json", "--metric",
                          "differs=sh -c 'cmp -s \"$0\" \"$1\"; echo $?'"});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_TRUE(json::parse(run.out)["blocks"][0]["results"][0]["metrics"].contains("differs"));
  const CliRun bad =
      cli({"diff", "eager", "portable", "--model", kDigits, "--metric", "bad=echo no number #"});
  EXPECT_EQ(bad.exit, 2);
  EXPECT_THAT(bad.err, HasSubstr("found 'no number', expected a number"));
}

TEST(DiffCommand, RejectsWhatItCannotCompare) {
  const CliRun unknown = cli({"diff", "eager", "no_such_plugin", "--model", kDigits});
  EXPECT_EQ(unknown.exit, 3) << unknown.err;
  EXPECT_THAT(unknown.err, HasSubstr("no_such_plugin"));
  EXPECT_EQ(cli({"diff", "eager", "./no_such.json", "--model", kDigits}).exit, 3);
  EXPECT_EQ(cli({"diff", "eager", "portable", "--model", kRoot + "/README.md"}).exit, 4);
  EXPECT_EQ(cli({"diff", "eager", "portable"}).exit, 2);
  const CliRun count = cli({"diff", "eager", zoo("bert.out.0.npy"), "--model", zoo("bert.pt2")});
  EXPECT_EQ(count.exit, 4) << count.err;
  EXPECT_THAT(count.err, HasSubstr("found 1, expected 2"));
}

}  // namespace
}  // namespace etb::tools
