// SPDX-License-Identifier: Apache-2.0
// `etbackend bundle`, and `etbackend run` with bundled programs.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "api/format/etdump.hpp"
#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

const std::string kFixtures = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/";

std::string program(const std::string& name) { return kFixtures + "programs/" + name; }
std::string official(const std::string& name) { return kFixtures + "bundles/" + name + ".bpte"; }

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {(std::istreambuf_iterator<char>(in)), {}};
}

class BundleCommand : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return dir_.path(name); }
  // Bundles add.pte with two recorded calls.
  CliRun bundle_add(const std::string& out) const {
    return cli({"bundle", program("add.pte"), "--input", program("add.forward.0.in.0.npy"), "--input",
                program("add.forward.0.in.1.npy"), "--expect", program("add.forward.0.out.0.npy"), "--case",
                "--input", program("add.forward.1.in.0.npy"), "--input", program("add.forward.1.in.1.npy"),
                "--expect", program("add.forward.1.out.0.npy"), "-o", out});
  }

  host::ScratchDir dir_;
};

nlohmann::json json_of(const CliRun& run) { return nlohmann::json::parse(run.out); }

TEST_F(BundleCommand, FilesBecomeTestCasesThatPass) {
  const CliRun made = bundle_add(path("add.bpte"));
  ASSERT_EQ(made.exit, 0) << made.err;
  EXPECT_NE(made.out.find("2 test cases"), std::string::npos) << made.out;
  const CliRun list = cli({"bundle", path("add.bpte"), "--list"});
  ASSERT_EQ(list.exit, 0) << list.err;
  EXPECT_NE(list.out.find("forward: 2 test cases\n"), std::string::npos) << list.out;
  EXPECT_NE(list.out.find("2 inputs (float32 ["), std::string::npos) << list.out;
  EXPECT_NE(list.out.find("1 expected output (float32 ["), std::string::npos) << list.out;
  const CliRun run = cli({"run", path("add.bpte"), "--rtol", "0", "--atol", "0"});
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
  EXPECT_NE(run.out.find("2 test cases: 2 passed, 0 failed"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("the error model needs --model"), std::string::npos) << run.out;
}

TEST_F(BundleCommand, TheProgramComesOutAsItWentIn) {
  ASSERT_EQ(bundle_add(path("add.bpte")).exit, 0);
  const CliRun extracted = cli({"bundle", path("add.bpte"), "--extract", path("add.pte")});
  ASSERT_EQ(extracted.exit, 0) << extracted.err;
  EXPECT_EQ(read_file(path("add.pte")), read_file(program("add.pte")));
}

TEST_F(BundleCommand, AWrongExpectationFailsWithExitCodeOneAndStatistics) {
  const CliRun run = cli({"run", official("wrong"), "--rtol", "0.001", "--atol", "0.25"});
  EXPECT_EQ(run.exit, 1) << run.out << run.err;
  EXPECT_NE(run.out.find("forward 0: pass"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("forward 1: FAIL; error: mean 0.167, max 0.5"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("1 of 3 elements: element 1 is "), std::string::npos) << run.out;
  EXPECT_EQ(cli({"run", official("wrong"), "--bundleio_rtol", "0", "--bundleio_atol", "0.6"}).exit, 0);
  EXPECT_EQ(cli({"run", official("wrong"), "--testset_idx", "0"}).exit, 0);
}

TEST_F(BundleCommand, JsonHasTheStatisticsOfEachOutput) {
  const CliRun run = cli({"run", "--bundled_program_path", official("wrong"), "--rtol", "0.001", "--atol",
                          "0.25", "--output_verification", "--json"});
  EXPECT_EQ(run.exit, 1) << run.err;
  const nlohmann::json report = json_of(run);
  EXPECT_EQ(report["atol"], 0.25);
  EXPECT_EQ(report["passed"], 1);
  EXPECT_EQ(report["failed"], 1);
  const nlohmann::json& wrong = report["cases"].at(1);
  EXPECT_EQ(wrong["verdict"], "fail");
  EXPECT_EQ(wrong["error_model"], "not checked");
  const nlohmann::json& output = wrong["outputs"].at(0);
  EXPECT_FALSE(output["is_close"]);
  EXPECT_EQ(output["different_count"], 1);
  EXPECT_NEAR(output["error"]["max_abs"].get<double>(), 0.5, 1e-6);
  EXPECT_EQ(output["error"]["count"], 3);
  EXPECT_EQ(wrong["error"], output["error"]);
}

TEST_F(BundleCommand, OfficialBundlesPass) {
  for (const char* name : {"add", "bfloat16", "float16", "float64", "int32", "bool", "image", "empty",
                           "scalar", "methods", "numbers", "counter"}) {
    const CliRun run = cli({"run", official(name), "--rtol", "1e-5", "--atol", "1e-8"});
    EXPECT_EQ(run.exit, 0) << name << ": " << run.out << run.err;
  }
}

TEST_F(BundleCommand, OneMethodOrOneCaseRuns) {
  EXPECT_EQ(json_of(cli({"run", official("methods"), "--json"}))["cases"].size(), 4u);
  EXPECT_EQ(json_of(cli({"run", official("methods"), "--method", "encode", "--json"}))["cases"].size(), 3u);
  const nlohmann::json one = json_of(cli({"run", official("methods"), "--testset", "2", "--json"}));
  ASSERT_EQ(one["cases"].size(), 1u);  // decode has no such case
  EXPECT_EQ(one["cases"][0]["method"], "encode");
  EXPECT_EQ(cli({"run", official("methods"), "--testset", "3"}).exit, 3);
  EXPECT_EQ(cli({"run", official("methods"), "--method", "forward"}).exit, 3);
}

TEST_F(BundleCommand, ACaseWithoutExpectedOutputsIsNotVerified) {
  const CliRun run = cli({"run", official("unexpected")});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_NE(run.out.find("forward 0: not verified, the bundle expects no outputs"), std::string::npos)
      << run.out;
  EXPECT_NE(run.out.find("0 passed, 0 failed, 1 not verified"), std::string::npos) << run.out;
}

TEST_F(BundleCommand, ATolerantComparisonOfSmallNumbersIsNoted) {
  const CliRun run = cli({"run", official("add"), "--atol", "100"});
  EXPECT_NE(run.out.find("note: forward 0: output 0: atol 100 is above the largest expected element"),
            std::string::npos)
      << run.out;
}

TEST_F(BundleCommand, ExpectedOutputsComeFromReferenceRuns) {
  const std::string archive = kFixtures + "archives/mlp.pt2";
  ASSERT_EQ(cli({"compile", archive, "-o", path("mlp.pte")}).exit, 0);
  for (const char* source : {"program", "portable", "eager"}) {
    const CliRun made = cli({"bundle", path("mlp.pte"), "--random", "1", "--case", "--random", "2", "--case",
                             "--ones", "--expect-from", source, "--model", archive, "-o", path("mlp.bpte")});
    ASSERT_EQ(made.exit, 0) << source << ": " << made.err;
    const CliRun run = cli({"run", path("mlp.bpte"), "--rtol", "1e-4", "--atol", "1e-6", "--model", archive});
    EXPECT_EQ(run.exit, 0) << source << ": " << run.out << run.err;
    EXPECT_NE(run.out.find("within the error model"), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("3 test cases: 3 passed"), std::string::npos) << run.out;
  }
}

TEST_F(BundleCommand, TheErrorModelFailsWhatLooseTolerancesPass) {
  const std::string archive = kFixtures + "archives/mlp.pt2";
  ASSERT_EQ(cli({"compile", archive, "-o", path("mlp.pte")}).exit, 0);
  // The program of another model: its outputs have the same type, and the numbers are others.
  ASSERT_EQ(
      cli({"bundle", path("mlp.pte"), "--random", "1", "--expect-from", "portable", "-o", path("mlp.bpte")})
          .exit,
      0);
  const nlohmann::json good = json_of(cli({"run", path("mlp.bpte"), "--model", archive, "--json"}));
  EXPECT_EQ(good["cases"][0]["error_model"], "checked");
  EXPECT_TRUE(good["cases"][0]["outputs"][0]["is_within_error_model"]);
  // A weight is changed in the program: its sign bit is flipped where the archive has the same float.
  std::string bytes = read_file(path("mlp.bpte"));
  const std::string weights = read_file(archive);
  size_t changed = 0;
  for (size_t at = 0; at + 64 <= bytes.size() && changed == 0; at += 4)
    if (const std::string part = bytes.substr(at, 64);
        weights.find(part) != std::string::npos && part.find('\0') == std::string::npos) {
      bytes[at + 3] = static_cast<char>(bytes[at + 3] ^ 0x80);
      ++changed;
    }
  ASSERT_EQ(changed, 1u);
  std::ofstream(path("bad.bpte"), std::ios::binary) << bytes;
  const CliRun loose = cli({"run", path("bad.bpte"), "--rtol", "10", "--atol", "10"});
  EXPECT_EQ(loose.exit, 0) << loose.out;
  const CliRun model = cli({"run", path("bad.bpte"), "--rtol", "10", "--atol", "10", "--model", archive});
  EXPECT_EQ(model.exit, 1) << model.out << model.err;
  EXPECT_NE(model.out.find("outside of the error model: element "), std::string::npos) << model.out;
}

TEST_F(BundleCommand, AnErrorModelThatCannotRunIsAReasonNotAVerdict) {
  const std::string archive = kFixtures + "archives/counter.pt2";
  ASSERT_EQ(cli({"compile", archive, "-o", path("m.pte")}).exit, 0);
  ASSERT_EQ(cli({"bundle", path("m.pte"), "--ones", "--expect-from", "portable", "-o", path("m.bpte")}).exit, 0);
  const CliRun run = cli({"run", path("m.bpte"), "--model", archive});
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
  EXPECT_NE(run.out.find("the error model was not checked: "), std::string::npos) << run.out;
}

TEST_F(BundleCommand, TheArchiveOfAnotherModelIsAnError) {
  const CliRun run = cli({"run", official("add"), "--model", kFixtures + "archives/mlp.pt2"});
  EXPECT_EQ(run.exit, 4) << run.out << run.err;
  EXPECT_NE(run.err.find("--model: 2 inputs, the graph has 1"), std::string::npos) << run.err;
}

TEST_F(BundleCommand, TheErrorModelKnowsDimOrdersDynamicSizesAndNumbers) {
  for (const std::string name : {"channels_last", "dynamic", "derived", "autocast", "tied", "rotary"}) {
    const std::string archive = kFixtures + "archives/" + name + ".pt2";
    ASSERT_EQ(cli({"compile", archive, "-o", path("m.pte")}).exit, 0) << name;
    const CliRun made = cli({"bundle", path("m.pte"), "--random", "3", "--expect-from", "eager", "--model",
                             archive, "-o", path("m.bpte")});
    ASSERT_EQ(made.exit, 0) << name << made.err;
    const nlohmann::json report = json_of(cli({"run", path("m.bpte"), "--model", archive, "--json"}));
    EXPECT_EQ(report["cases"][0]["verdict"], "pass") << name << report.dump(1);
    EXPECT_EQ(report["cases"][0]["error_model"], "checked") << name << report.dump(1);
    EXPECT_FALSE(report["cases"][0].contains("expected_outputs_difference")) << name << report.dump(1);
  }
}

TEST_F(BundleCommand, CasesAreAddedToABundle) {
  ASSERT_EQ(bundle_add(path("add.bpte")).exit, 0);
  const CliRun more =
      cli({"bundle", path("add.bpte"), "--ones", "--expect-from", "portable", "-o", path("add.bpte")});
  ASSERT_EQ(more.exit, 0) << more.err;
  const CliRun run = cli({"run", path("add.bpte")});
  EXPECT_NE(run.out.find("3 test cases: 3 passed, 0 failed"), std::string::npos) << run.out;
}

TEST_F(BundleCommand, EachMethodHasItsCases) {
  const CliRun made = cli({"bundle", program("methods.pte"), "--method", "encode", "--random", "1", "--case",
                           "--random", "2", "--case", "--method", "decode", "--random", "3", "--expect-from",
                           "portable", "-o", path("methods.bpte")});
  ASSERT_EQ(made.exit, 0) << made.err;
  const nlohmann::json list = json_of(cli({"bundle", path("methods.bpte"), "--list", "--json"}));
  ASSERT_EQ(list["methods"].size(), 2u);
  EXPECT_EQ(list["methods"][0]["method"], "decode");
  EXPECT_EQ(list["methods"][0]["cases"].size(), 1u);
  EXPECT_EQ(list["methods"][1]["method"], "encode");
  EXPECT_EQ(list["methods"][1]["cases"].size(), 2u);
  EXPECT_EQ(cli({"run", path("methods.bpte")}).exit, 0);
}

TEST_F(BundleCommand, ProfilesNameTheCaseOfEachRun) {
  const CliRun run = cli({"run", official("add"), "--profile", path("run.etdp")});
  ASSERT_EQ(run.exit, 0) << run.err;
  const std::string bytes = read_file(path("run.etdp"));
  const auto blocks = format::read_etdump(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(blocks) << blocks.error().message;
  std::vector<int32_t> cases;
  for (const format::EtdumpBlock& block : *blocks)
    if (block.name == "Execute") cases.push_back(block.bundled_input_index);
  EXPECT_EQ(cases, (std::vector<int32_t>{0, 1}));
}

TEST_F(BundleCommand, OutputsOfEachCaseAreWritten) {
  ASSERT_EQ(cli({"run", official("methods"), "--output-dir", path("out"), "--output-file", path("raw")}).exit,
            0);
  EXPECT_TRUE(std::filesystem::exists(path("out/encode.2/1.npy")));
  EXPECT_TRUE(std::filesystem::exists(path("out/decode.0/0.npy")));
  EXPECT_TRUE(std::filesystem::exists(path("raw-decode.0-0.bin")));
}

TEST_F(BundleCommand, InfoNamesABundleAndShowsItsProgram) {
  const CliRun info = cli({"info", official("add")});
  ASSERT_EQ(info.exit, 0) << info.err;
  EXPECT_NE(info.out.find("bundled program (.bpte), version 2"), std::string::npos) << info.out;
  EXPECT_NE(info.out.find("aten::add"), std::string::npos) << info.out;
  EXPECT_EQ(json_of(cli({"info", official("add"), "--json"}))["bundle"]["methods"][0]["cases"].size(), 2u);
}

// ---- Refusals.

struct Refusal {
  std::vector<std::string> args;
  int exit;
  const char* text;
};

TEST_F(BundleCommand, WrongRequestsAreRefusedWithAReason) {
  const std::string out = path("x.bpte"), in = program("add.forward.0.in.0.npy");
  const std::string add = program("add.pte");
  const std::vector<Refusal> refusals = {
      {{"bundle", add, "-o", out}, 2, "no inputs for method 'forward', expected 2"},
      {{"bundle", add, "--ones"}, 2, "no file to write"},
      {{"bundle", add, "--ones", "--input", in, "-o", out},
       2,
       "--input, --random and --ones exclude each other"},
      {{"bundle", add, "--input", in, "-o", out}, 2, "1 --input given, method 'forward' expects 2"},
      {{"bundle", add, "--ones", "--expect", in, "--expect", in, "-o", out},
       2,
       "2 --expect given, method 'forward' has 1 outputs"},
      {{"bundle", add, "--ones", "--method", "none", "-o", out}, 3, "none"},
      {{"bundle", add, "--ones", "--expect", program("conv.forward.0.in.0.npy"), "-o", out},
       4,
       "output 0: found float32 ["},
      {{"bundle", add, "--ones", "--expect-from", "eager", "-o", out}, 2, "without the exported graph"},
      {{"bundle", program("xnnpack.pte"), "--ones", "--expect-from", "portable", "-o", out},
       3,
       "--expect-from program runs delegates"},
      {{"bundle", add, "--list"}, 4, "found a program (.pte), expected a bundled program (.bpte)"},
      {{"bundle", official("add"), "--list", "-o", out}, 2, "--output with --list"},
      {{"run", official("add"), "--ones"}, 2, "options of inputs for a bundled program"},
      {{"run", official("add"), "--serve"}, 2, "--serve runs programs (.pte)"},
      {{"run", add, "--bundle"}, 4, "found a program (.pte), expected a bundled program (.bpte)"},
      {{"run", add, "--testset", "1"}, 4, "expected a bundled program (.bpte)"},
      {{"run", official("add"), "--atol", "-1"}, 2, "expected a finite number of at least 0"},
      {{"run", official("add"), "--rtol", "nan"}, 2, "expected a finite number of at least 0"},
      {{"run", official("add"), "--model", add}, 4, "expected an archive (.pt2)"},
      {{"inspect", official("add")}, 4, "found a bundled program (.bpte)"},
  };
  for (const Refusal& refusal : refusals) {
    const CliRun run = cli(refusal.args);
    std::string line;
    for (const std::string& arg : refusal.args) line += arg + ' ';
    EXPECT_EQ(run.exit, refusal.exit) << line << run.err;
    EXPECT_NE(run.err.find(refusal.text), std::string::npos) << line << run.err;
    EXPECT_FALSE(std::filesystem::exists(out)) << line;
  }
}

TEST_F(BundleCommand, CutBundlesAreRefusedByEveryCommand) {
  const std::string whole = read_file(official("add"));
  std::ofstream(path("cut.bpte"), std::ios::binary) << whole.substr(0, whole.size() / 2);
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"run", path("cut.bpte")}, {"info", path("cut.bpte")}, {"bundle", path("cut.bpte"), "--list"}}) {
    const CliRun run = cli(args);
    EXPECT_EQ(run.exit, 4) << args[0] << run.err;
    EXPECT_NE(run.err.find("bundled program: "), std::string::npos) << run.err;
  }
}

}  // namespace
}  // namespace etb::tools
