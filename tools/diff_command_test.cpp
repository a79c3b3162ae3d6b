// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
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

TEST(DiffCommand, ARecordWithWeightsNeedsNoArchive) {
  host::ScratchDir folder;
  const std::string record = folder.path("m.etrecord"), program = folder.path("m.pte");
  const std::string profile = folder.path("run.etdp"), buffer = folder.path("run.bin");
  // A mask with infinities, and lists of results.
  ASSERT_EQ(cli({"compile", zoo("gpt2.pt2"), "-o", program, "--etrecord", record, "--etrecord-weights",
                 "--etrecord-output", zoo("gpt2.out.0.npy")})
                .exit,
            0);
  ASSERT_EQ(cli({"run", program, "--random", "7", "--profile", profile, "--debug-buffer", buffer}).exit, 0);
  const auto report = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"diff", "eager", profile, "--debug-buffer", buffer, "--etrecord", record,
                                 "--random", "7", "--json"});
    const CliRun run = cli(words);
    EXPECT_EQ(run.exit, 0) << run.err;
    return json::parse(run.out)["blocks"];
  };
  EXPECT_EQ(report({}), report({"--model", zoo("gpt2.pt2")}));
  EXPECT_EQ(cli({"diff", record, "portable"}).exit, 0);
  ASSERT_EQ(cli({"compile", zoo("gpt2.pt2"), "-o", program, "--etrecord", record}).exit, 0);
  const CliRun without = cli({"diff", "eager", profile, "--debug-buffer", buffer, "--etrecord", record});
  EXPECT_NE(without.exit, 0);
  EXPECT_THAT(without.err, HasSubstr("the record has no weights"));
  EXPECT_THAT(without.err, HasSubstr("--etrecord-weights"));
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

std::string read_text(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

std::string pair_of(const std::string& name) {
  return kRoot + "/tests/fixtures/quantised_pairs/" + name + ".pt2";
}

// The network is normalised; PT2E merges that into the weights.
TEST(DiffCommand, ExplainsWhatQuantisationOfAFloatNetworkLoses) {
  const CliRun run = cli({"diff", pair_of("net"), pair_of("net_q8"), "--random", "7", "--json"});
  ASSERT_EQ(run.exit, 0) << run.out.substr(0, 2000) << run.err;
  const json report = json::parse(run.out);
  EXPECT_EQ(report["model"], pair_of("net_q8"));
  size_t judged = 0;
  double largest = 0;
  for (const json& block : report["blocks"])
    for (const json& result : block["results"]) {
      judged += result["a"]["verdict"] == "right" && result["b"]["verdict"] == "right" ? 1 : 0;
      largest = std::max(largest, result["metrics"]["max_abs"].get<double>());
    }
  EXPECT_GE(judged, 15u);    // each node, each quantisation, and the whole network
  EXPECT_GT(largest, 1e-3);  // the two sides do differ
  // The order of the sides does not matter.
  EXPECT_EQ(cli({"diff", pair_of("net_q8"), pair_of("net"), "--random", "7"}).exit, 0);
}

TEST(DiffCommand, FindsTheQuantisationWhoseCalibrationSawSmallerInputs) {
  host::ScratchDir folder;
  const CliRun run = cli(
      {"diff", pair_of("net"), pair_of("net_q8_range"), "--random", "7", "--json", "--save", folder.path()});
  ASSERT_EQ(run.exit, 1) << run.err;
  const json found = json::parse(run.out)["divergences"][0];
  ASSERT_EQ(found["nodes"].size(), 2u) << found;
  EXPECT_THAT(found["nodes"][0]["op"].get<std::string>(), HasSubstr("quantize_per_tensor"));
  EXPECT_EQ(found["nodes"][0]["name"], "quantize_per_tensor");  // of the input
  EXPECT_EQ(found["result"]["node"]["source"]["file"], "make_quantised_pairs.py");
  EXPECT_EQ(found["result"]["a"]["verdict"], "right");
  EXPECT_EQ(found["result"]["b"]["verdict"], "wrong");
  EXPECT_THAT(found["repro"].get<std::string>(), HasSubstr(folder.path()));
}

TEST(DiffCommand, FindsTheNodeWhoseWeightIsNotThatOfTheFloatNetwork) {
  const CliRun run =
      cli({"diff", pair_of("net"), pair_of("net_q8_weight"), "--random", "7", "--json", "--all"});
  ASSERT_EQ(run.exit, 1) << run.err;
  const json report = json::parse(run.out);
  ASSERT_EQ(report["divergences"].size(), 1u) << report["divergences"];
  const json& found = report["divergences"][0]["result"];
  EXPECT_EQ(found["node"]["name"], "conv2d_2");
  EXPECT_EQ(found["node"]["source"]["module"], "third");
  EXPECT_EQ(found["a"]["verdict"], "wrong");
  const CliRun text = cli({"diff", pair_of("net"), pair_of("net_q8_weight"), "--random", "7"});
  EXPECT_THAT(text.out, HasSubstr("other numbers than quantisation explains"));
}

TEST(DiffCommand, ArchivesOfDifferentNetworksAreRejected) {
  const CliRun inputs = cli({"diff", pair_of("net"), zoo("bert.pt2")});
  EXPECT_EQ(inputs.exit, 4) << inputs.out << inputs.err;
  EXPECT_THAT(inputs.err, HasSubstr("inputs"));
  const CliRun one = cli({"diff", pair_of("net"), "portable"});
  EXPECT_EQ(one.exit, 2) << one.err;
  EXPECT_THAT(one.err, HasSubstr("--model"));
}

// int64 masks make float32 overflow in the middle of the network, and float64 does not.
TEST(DiffCommand, DoesNotJudgeWhatFollowsAnOverflow) {
  const CliRun run =
      cli({"diff", "eager", "portable", "--model", zoo("bert.pt2"), "--random", "7", "--json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const json report = json::parse(run.out);
  const json& whole = report["blocks"].back();
  EXPECT_THAT(whole["obstacle"].get<std::string>(), HasSubstr("leave the range"));
  EXPECT_EQ(whole["results"][0]["a"]["verdict"], "unjudged");
}

// XNNPACK turns NaN into numbers, and rounds near ties of codes otherwise.
TEST(DiffCommand, HasNoFalseAlarmOfXnnpackForOverflowsAndCodes) {
  if (!std::filesystem::exists(std::string(ETB_PLUGIN_DIR) + "/xnnpack.json"))
    GTEST_SKIP() << "no XNNPACK plugin in this build";
  struct Network {
    std::string name;
    size_t right;            // results of XNNPACK's side at least
    size_t right_delegated;  // of those, results of its regions: none of bert's can be judged
  };
  for (const Network& network : {Network{"bert", 4, 0}, {"mlp_8da4w", 1, 1}, {"mlp_q8_dynamic", 1, 1}})
    for (const std::string seed : {"7", "8"}) {
      SCOPED_TRACE(network.name + ", seed " + seed);
      const CliRun run = cli({"--plugin-path", ETB_PLUGIN_DIR, "diff", "eager", "xnnpack", "--model",
                              zoo(network.name + ".pt2"), "--random", seed, "--json"});
      ASSERT_EQ(run.exit, 0) << run.out.substr(0, 3000) << run.err;
      const json report = json::parse(run.out);
      size_t delegated = 0, right = 0, right_delegated = 0;
      for (const json& block : report["blocks"])
        for (const json& result : block["results"]) {
          const bool is_right = result["b"]["verdict"] == "right", is_delegated = block["delegated_nodes_b"] > 0;
          delegated += is_delegated ? 1 : 0;
          right += is_right ? 1 : 0;
          right_delegated += is_right && is_delegated ? 1 : 0;
        }
      EXPECT_GE(delegated, 1u);
      EXPECT_GE(right, network.right);
      EXPECT_GE(right_delegated, network.right_delegated);
    }
}

TEST(DiffCommand, JudgesBlockWiseQuantisation) {
  const CliRun run = cli({"diff", "eager", "portable", "--model", zoo("mlp_8da4w.pt2"), "--random", "7",
                          "--each-node", "--json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const json report = json::parse(run.out);
  size_t judged = 0;
  for (const json& block : report["blocks"])
    for (const json& result : block["results"]) {
      EXPECT_EQ(result["a"]["verdict"], "right") << block;
      EXPECT_EQ(result["b"]["verdict"], "right") << block;
      ++judged;
    }
  EXPECT_EQ(judged, 16u);
}

// The program cuts its inputs to a smaller range.
TEST(DiffCommand, NamesNodeAndInstructionOfAProgramWithoutARecord) {
  host::ScratchDir folder;
  const std::string program = folder.path("net.pte");
  ASSERT_EQ(cli({"compile", pair_of("net_q8_range"), "-o", program}).exit, 0);
  // A plugin computes in a process of its own, from the program's tensors, too.
  for (const std::string other : {"eager", "portable", "org.etbackend.portable"}) {
    SCOPED_TRACE(other);
    const CliRun run = cli({"--plugin-path", ETB_PORTABLE_PLUGIN_DIR, "diff", other, program, "--model",
                            pair_of("net"), "--random", "7", "--json", "--tsv", folder.path("gap.tsv")});
    ASSERT_EQ(run.exit, 1) << run.err;
    const json report = json::parse(run.out);
    ASSERT_FALSE(report["divergences"].empty()) << report["notes"];
    const json& found = report["divergences"][0];
    EXPECT_EQ(found["nodes"][0]["name"], "conv2d") << found;
    EXPECT_EQ(found["result"]["b"]["verdict"], "wrong");
    EXPECT_THAT(found["instruction"].get<std::string>(),
                testing::MatchesRegex("instruction [0-9]+, native_call_convolution.out"));
    EXPECT_EQ(found["result"]["event"], "native_call_convolution.out");
    const std::string table = read_text(folder.path("gap.tsv"));
    for (const char* const event : {"native_call_convolution.out", "native_call_relu.out"})
      EXPECT_THAT(table, HasSubstr("['" + std::string(event) + "']"));
    size_t right = 0;
    for (const json& block : report["blocks"])
      for (const json& result : block["results"]) {
        EXPECT_EQ(result["a"]["verdict"], "right") << result;
        right += result["event"] != "" ? 1 : 0;
      }
    EXPECT_GE(right, 7u);
    EXPECT_THAT(report["notes"].dump(), HasSubstr("is the result of instruction"));
  }
}

TEST(DiffCommand, SavesTheTensorsOfBothSides) {
  host::ScratchDir folder;
  const CliRun run = cli({"diff", "eager", "portable", "--model", kDigits, "--random", "7", "--json",
                          "--save-values", folder.path("values")});
  ASSERT_EQ(run.exit, 0) << run.err;
  const auto a = read_npy(folder.path("values/0.a.npy")), b = read_npy(folder.path("values/0.b.npy"));
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->sizes, b->sizes);
  EXPECT_FALSE(a->bytes.empty());
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

TEST(DiffCommand, RejectsOtherInputsBesideThoseOfTheRecord) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--random", "7"}, {"--ones"}, {"--input", zoo("bert.out.0.npy")}}) {
    std::vector<std::string> words{"diff",  "eager",       "portable", "--model",
                                   kDigits, "--etrecord", "m.etrecord", "--representative-inputs"};
    words.insert(words.end(), more.begin(), more.end());
    const CliRun run = cli(words);
    EXPECT_EQ(run.exit, 2) << run.err;
    EXPECT_THAT(run.err, HasSubstr("--representative-inputs uses the inputs of the record"));
  }
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
