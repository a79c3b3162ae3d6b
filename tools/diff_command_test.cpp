// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "host/testing/scratch_dir.hpp"
#include "partitioner_sdk/record/record.hpp"
#include "partitioner_sdk/record/saved_values.hpp"
#include "tools/run/npy.hpp"
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

// PyTorch computed the arrays of the zoo.
TEST(DiffCommand, TakesInputsAndOutputsOfABundledProgram) {
  host::ScratchDir folder;
  const std::string program = folder.path("model.pte"), bundle = folder.path("model.bpte");
  ASSERT_EQ(cli({"compile", zoo("conformer.pt2"), "-o", program}).exit, 0);
  const CliRun made = cli({"bundle", program, "--input", zoo("conformer.in.0.npy"), "--expect",
                           zoo("conformer.out.0.npy"), "-o", bundle});
  ASSERT_EQ(made.exit, 0) << made.err;
  const CliRun run = cli({"diff", bundle, "portable", "--model", zoo("conformer.pt2")});
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("inputs of the file"));
  // Other inputs than those of the outputs.
  EXPECT_EQ(cli({"diff", bundle, "portable", "--model", zoo("conformer.pt2"), "--ones"}).exit, 1);
  const CliRun none = cli({"diff", bundle, "portable", "--model", zoo("conformer.pt2"), "--testset", "5"});
  EXPECT_EQ(none.exit, 3) << none.err;
}

record::SavedValue saved(const std::string& npy) {
  const auto array = read_npy(npy);
  if (!array) ADD_FAILURE() << array.error().message;
  return {record::SavedTensor{static_cast<ir::Dtype>(array->dtype), array->sizes, array->bytes}};
}

TEST(DiffCommand, TakesInputsAndOutputsOfARecord) {
  host::ScratchDir folder;
  const std::string path = folder.path("model.etrecord");
  const std::string model = zoo("conformer.pt2");
  ASSERT_EQ(cli({"compile", model, "-o", folder.path("model.pte"), "--etrecord", path}).exit, 0);
  const CliRun without = cli({"diff", path, "portable", "--model", model});
  EXPECT_EQ(without.exit, 4) << without.err;
  EXPECT_THAT(without.err, HasSubstr("reference outputs"));
  auto record = record::read_record_file(path);
  ASSERT_TRUE(record) << record.error().message;
  using List = record::SavedValue::List;
  const auto inputs = record::write_saved_value({List{saved(zoo("conformer.in.0.npy"))}});
  const record::SavedValue one_case{List{saved(zoo("conformer.out.0.npy"))}};
  const auto outputs = record::write_saved_value({record::SavedValue::Dict{{"forward", {List{one_case}}}}});
  ASSERT_TRUE(inputs && outputs);
  record->representative_inputs = *inputs;
  record->reference_outputs = *outputs;
  ASSERT_TRUE(record::write_record_file(*record, path));
  const CliRun run = cli({"diff", path, "portable", "--model", model});
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
  EXPECT_EQ(cli({"diff", path, "portable", "--model", model, "--ones"}).exit, 1);
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
