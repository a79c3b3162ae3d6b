// SPDX-License-Identifier: Apache-2.0
// Tests `etbackend compile` on example archives: results, reports, options, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "partitioner_sdk/import/import.hpp"
#include "partitioner_sdk/record/record.hpp"
#include "partitioner_sdk/record/saved_values.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

std::string archive(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/archives/" + name;
}

// Reads header and elements of a .npy file of float32.
std::pair<std::string, std::vector<float>> read_floats(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (all.size() < 10) return {};
  const size_t header = 10 + (static_cast<unsigned char>(all[8]) | static_cast<unsigned char>(all[9]) << 8);
  std::vector<float> values((all.size() - header) / sizeof(float));
  std::memcpy(values.data(), all.data() + header, values.size() * sizeof(float));
  std::string text = all.substr(10, header - 10);
  text.erase(text.find_last_not_of(" \n") + 1);
  return {text, values};
}

class CompileCommand : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(dir_); }
  void TearDown() override { fs::remove_all(dir_); }
  fs::path dir_ = fs::temp_directory_path() / ("etb_compile_" + std::to_string(::getpid()));
};

// Archive, inputs, outputs.
struct Example {
  const char* name;
  int input_count, output_count;
};
// Compiles an archive with `more` arguments and runs it on its example.
void expect_pytorchs_numbers(const Example& example, const std::vector<std::string>& more,
                             const fs::path& dir, std::string* out_text = nullptr);

class CompiledExample : public CompileCommand, public testing::WithParamInterface<Example> {};

void expect_pytorchs_numbers(const Example& example, const std::vector<std::string>& more,
                             const fs::path& dir, std::string* out_text) {
  const auto [name, input_count, output_count] = example;
  const std::string program = dir / "model.pte";
  std::vector<std::string> compile = {"compile", archive(std::string(name) + ".pt2"), "-o", program};
  compile.insert(compile.end(), more.begin(), more.end());
  const CliRun compiled = cli(compile);
  ASSERT_EQ(compiled.exit, 0) << compiled.err;
  EXPECT_THAT(compiled.out, HasSubstr("forward: "));
  if (out_text != nullptr) *out_text = compiled.out;
  std::vector<std::string> args = {"--plugin-path", ETB_PLUGIN_DIR, "run",
                                   program,         "--output-dir", dir / "out"};
  for (int i = 0; i < input_count; ++i) {
    args.insert(args.end(), {"--input", archive(std::string(name) + ".in." + std::to_string(i) + ".npy")});
  }
  const CliRun ran = cli(args);
  ASSERT_EQ(ran.exit, 0) << ran.err;
  for (int i = 0; i < output_count; ++i) {
    const auto [got_header, got] = read_floats(dir / "out" / (std::to_string(i) + ".npy"));
    const auto [header, wanted] =
        read_floats(archive(std::string(name) + ".out." + std::to_string(i) + ".npy"));
    EXPECT_EQ(got_header, header);
    ASSERT_EQ(got.size(), wanted.size());
    ASSERT_FALSE(wanted.empty());
    for (size_t k = 0; k < got.size(); ++k)
      EXPECT_NEAR(got[k], wanted[k], 1e-5f * std::max(1.0f, std::abs(wanted[k])));
  }
}

TEST_P(CompiledExample, GivesPyTorchsNumbers) { expect_pytorchs_numbers(GetParam(), {}, dir_); }

// The first memories are too small for all tensors.
TEST_P(CompiledExample, GivesPyTorchsNumbersInSeveralMemories) {
  std::string text;
  expect_pytorchs_numbers(GetParam(), {"--memory", "sram=64,sdram=4K:64", "--memory", "dram=:16:7"}, dir_,
                          &text);
  EXPECT_THAT(text, HasSubstr("  memory 3, dram: "));
}

// The template plugin claims sums; the program calls it by its name.
TEST_P(CompiledExample, GivesPyTorchsNumbersWithAPlugin) {
  std::string text;
  expect_pytorchs_numbers(GetParam(), {"--plugin-path", ETB_PLUGIN_DIR, "-b", "my_npu"}, dir_, &text);
  const std::string_view name = GetParam().name;
  if (name == "add" || name == "counter") {
    EXPECT_THAT(text, HasSubstr(" with 1 delegate call,"));
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, CompiledExample,
                         testing::Values(Example{"add", 2, 1}, Example{"mlp", 1, 1}, Example{"lenet", 1, 1},
                                         Example{"counter", 1, 3}, Example{"dynamic", 1, 2},
                                         Example{"channels_last", 1, 1}, Example{"branch", 1, 1},
                                         Example{"no_grad", 1, 1}, Example{"items", 1, 1},
                                         Example{"autocast", 1, 2}, Example{"derived", 1, 1}),
                         [](const auto& each) { return each.param.name; });

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool has_xnnpack() { return fs::exists(fs::path(ETB_PLUGIN_DIR) / "xnnpack.so"); }

TEST_P(CompiledExample, GivesPyTorchsNumbersWithXnnpack) {
  if (!has_xnnpack()) GTEST_SKIP() << "built without the xnnpack plugin";
  std::string text;
  expect_pytorchs_numbers(GetParam(), {"--plugin-path", ETB_PLUGIN_DIR, "-b", "xnnpack", "--isolate"}, dir_,
                          &text);
  EXPECT_THAT(text, testing::Not(HasSubstr(" 0 of them delegate calls")));
}

// Compiles once in this process and once in children: the bytes must be equal, twice.
TEST_P(CompiledExample, CompilesToTheSameBytes) {
  std::vector<std::string> files;
  for (const bool isolate : {false, true, false}) {
    const fs::path program = dir_ / ("m" + std::to_string(files.size()) + ".pte");
    std::vector<std::string> args = {
        "--plugin-path", ETB_PLUGIN_DIR, "compile", archive(std::string(GetParam().name) + ".pt2"), "-b",
        "my_npu",        "-o",           program};
    if (has_xnnpack()) args.insert(args.end(), {"-b", "xnnpack"});
    if (isolate) args.push_back("--isolate");
    const CliRun run = cli(args);
    ASSERT_EQ(run.exit, 0) << run.err;
    files.push_back(read_file(program));
  }
  EXPECT_EQ(files[0], files[1]);
  EXPECT_EQ(files[0], files[2]);
}

TEST_F(CompileCommand, ReportsAndFilters) {
  const std::vector<std::string> base = {
      "--plugin-path", ETB_PLUGIN_DIR, "compile",      archive("add.pt2"), "-b",
      "my_npu",        "-o",           dir_ / "m.pte", "--report"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> args = base;
    args.insert(args.end(), more.begin(), more.end());
    return cli(args);
  };
  const CliRun run = with({"--report-json", dir_ / "r.json", "--report-html", dir_ / "r.html"});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("Total delegated subgraphs: 1\nNumber of delegated nodes: 1\n"));
  const auto json = nlohmann::json::parse(read_file(dir_ / "r.json"));
  EXPECT_EQ(json["delegated_nodes"], 1);
  EXPECT_EQ(json["regions"][0]["backend_id"], "MyNpuBackend");
  EXPECT_THAT(read_file(dir_ / "r.html"), HasSubstr("</html>"));
  EXPECT_THAT(with({"--skip-op", "aten.add*"}).out, HasSubstr("my_npu: host.filter: --skip-op 'aten.add*'"));
  EXPECT_THAT(with({"--min-region", "2"}).out, HasSubstr("host.small"));
}

TEST_F(CompileCommand, AReportNeedsAPlugin) {
  for (const char* option : {"--report-json", "--report-html"}) {
    const CliRun run = cli({"compile", archive("add.pt2"), "-o", dir_ / "m.pte", option, dir_ / "report"});
    EXPECT_EQ(run.exit, static_cast<int>(ExitCode::USAGE)) << option;
    EXPECT_THAT(run.err, HasSubstr(std::string(option) + " requires --backend"));
    EXPECT_FALSE(fs::exists(dir_ / "m.pte"));
  }
}

TEST_F(CompileCommand, UnknownPluginsAreAnErrorAndLeaveNoFile) {
  const CliRun run = cli({"compile", archive("add.pt2"), "-b", "nobody", "-o", dir_ / "m.pte"});
  EXPECT_EQ(run.exit, static_cast<int>(ExitCode::NOT_FOUND));
  EXPECT_THAT(run.err, HasSubstr("nobody"));
  EXPECT_FALSE(fs::exists(dir_ / "m.pte"));
}

TEST_F(CompileCommand, SeveralMethodsShareAFile) {
  const std::string program = dir_ / "two.pte";
  const CliRun compiled = cli({"compile", "--method", "sum=" + archive("add.pt2"), "--method",
                               "net=" + archive("mlp.pt2"), "-o", program});
  ASSERT_EQ(compiled.exit, 0) << compiled.err;
  EXPECT_EQ(cli({"run", program, "--method", "sum", "--ones"}).exit, 0);
  EXPECT_EQ(cli({"run", program, "--method", "net", "--ones"}).exit, 0);
}

TEST_F(CompileCommand, ConstantMethodsGiveTheirValues) {
  const std::string program = dir_ / "m.pte";
  const CliRun compiled = cli({"compile", archive("add.pt2"), "--constant", "get_vocab_size=50257",
                               "--constant", "all=[1,0.5,true,text]", "-o", program});
  ASSERT_EQ(compiled.exit, 0) << compiled.err;
  EXPECT_THAT(cli({"run", program, "--method", "get_vocab_size"}).out, HasSubstr("output 0: 50257\n"));
  EXPECT_THAT(cli({"run", program, "--method", "all"}).out,
              HasSubstr("output 0: 1\noutput 1: 0.5\noutput 2: true\noutput 3: 'text'\n"));
  EXPECT_EQ(cli({"run", program, "--ones"}).exit, 0);
  EXPECT_THAT(cli({"compile", archive("add.pt2"), "--constant", "nothing"}).err,
              HasSubstr("expected NAME=VALUE"));
}

TEST_F(CompileCommand, TheModelMayFollowAnyOption) {
  const std::string program = dir_ / "m.pte";
  for (const auto& [option, value] : {std::pair{"--constant", "a=1"}, {"--dump-after", "import"}}) {
    const CliRun compiled = cli({"compile", "-o", program, option, value, archive("add.pt2")});
    EXPECT_EQ(compiled.exit, 0) << option << ": " << compiled.err;
  }
}

TEST_F(CompileCommand, WeightsMayLieOutside) {
  const std::string program = dir_ / "m.pte", data = dir_ / "m.ptd";
  for (const bool is_delegated : {false, true}) {
    if (is_delegated && !has_xnnpack()) continue;
    std::vector<std::string> args = {
        "--plugin-path", ETB_PLUGIN_DIR,    "compile", archive("lenet.pt2"), "-o",
        program,         "--external-data", data};
    if (is_delegated) args.insert(args.end(), {"-b", "xnnpack"});
    const CliRun compiled = cli(args);
    ASSERT_EQ(compiled.exit, 0) << compiled.err;
    EXPECT_GT(fs::file_size(data), fs::file_size(program));
    const CliRun ran = cli({"--plugin-path", ETB_PLUGIN_DIR, "run", program, "--data", data, "--input",
                            archive("lenet.in.0.npy"), "--output-dir", dir_ / "out"});
    ASSERT_EQ(ran.exit, 0) << ran.err;
    const auto [header, got] = read_floats(dir_ / "out" / "0.npy");
    const auto [wanted_header, wanted] = read_floats(archive("lenet.out.0.npy"));
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5);
    EXPECT_NE(cli({"--plugin-path", ETB_PLUGIN_DIR, "run", program, "--ones"}).exit, 0)
        << "runs without its weights";
  }
}

TEST_F(CompileCommand, TheApplicationMayBringInputsAndOutputs) {
  const std::string program = dir_ / "m.pte";
  for (const bool is_planned : {true, false}) {
    std::vector<std::string> args = {"compile", archive("lenet.pt2"), "-o", program};
    if (!is_planned) args.insert(args.end(), {"--unplanned-inputs", "--unplanned-outputs"});
    const CliRun compiled = cli(args);
    ASSERT_EQ(compiled.exit, 0) << compiled.err;
    const CliRun ran =
        cli({"run", program, "--input", archive("lenet.in.0.npy"), "--output-dir", dir_ / "out"});
    ASSERT_EQ(ran.exit, 0) << ran.err;
    const std::vector<float> got = read_floats(dir_ / "out" / "0.npy").second,
                             wanted = read_floats(archive("lenet.out.0.npy")).second;
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5);
    const CliRun described = cli({"info", program, "--json"});
    ASSERT_EQ(described.exit, 0) << described.err;
    const std::string storage = is_planned ? "planned" : "caller";
    const nlohmann::json method = nlohmann::json::parse(described.out)["methods"][0];
    EXPECT_EQ(method["inputs"][0]["storage"], storage);
    EXPECT_EQ(method["outputs"][0]["storage"], storage);
  }
}

// Kernels run one after another, so without delegates the plan stays that of the least memory.
TEST_F(CompileCommand, ConcurrentBranchesCostMemoryOnlyBesideDelegates) {
  const CliRun run =
      cli({"compile", archive("lenet.pt2"), "-o", dir_ / "m.pte", "--concurrent-branches", "--json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const nlohmann::json method = nlohmann::json::parse(run.out)["methods"][0];
  EXPECT_GT(method["arena_nbytes"], 0);
  EXPECT_EQ(method["arena_nbytes"], method["least_arena_nbytes"]);
}

TEST_F(CompileCommand, TheUserSaysHowAnOpIsTakenApart) {
  const CliRun run = cli({"compile", archive("mlp.pt2"), "-o", dir_ / "m.pte", "--decompose",
                          "aten.relu.default=clamp.default(self, 0)", "--dump-after", "decompose"});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("aten.clamp.default("));
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr("aten.relu.default(")));
  const CliRun wrong = cli({"compile", archive("mlp.pt2"), "-o", dir_ / "n.pte", "--decompose",
                            "aten.relu.default=clamp.default(nobody, 0)"});
  EXPECT_NE(wrong.exit, 0);
  EXPECT_THAT(wrong.err, HasSubstr("nobody"));
  EXPECT_FALSE(fs::exists(dir_ / "n.pte"));
}

TEST_F(CompileCommand, ARecordIsWritten) {
  const CliRun run =
      cli({"compile", archive("mlp.pt2"), "-o", dir_ / "m.pte", "--etrecord", dir_ / "m.etrecord"});
  ASSERT_EQ(run.exit, 0) << run.err;
  std::ifstream in(dir_ / "m.etrecord", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_THAT(bytes, HasSubstr("ETRECORD_V0"));
  EXPECT_THAT(bytes, HasSubstr("edge_dialect_exported_program/forward"));
}

TEST_F(CompileCommand, ARecordHasTheValuesWeightsAndModulesOfItsOptions) {
  const std::string path = dir_ / "m.etrecord";
  const CliRun run =
      cli({"compile", archive("lenet.pt2"), "-o", dir_ / "m.pte", "--etrecord", path, "--etrecord-input",
           archive("lenet.in.0.npy"), "--etrecord-output", archive("lenet.out.0.npy"), "--etrecord-module",
           "first=" + archive("mlp.pt2"), "--etrecord-weights"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const auto record = record::read_record_file(path);
  ASSERT_TRUE(record) << record.error().message;
  ASSERT_EQ(record->extra_programs.size(), 1u);
  EXPECT_EQ(record->extra_programs[0].name, "first/forward");
  const auto inputs = record::read_saved_value(std::as_bytes(std::span(record->representative_inputs)));
  const auto outputs = record::read_saved_value(std::as_bytes(std::span(record->reference_outputs)));
  ASSERT_TRUE(inputs && outputs);
  using record::SavedValue;
  const auto* const image = inputs->get_if<SavedValue::List>()->at(0).get_if<record::SavedTensor>();
  ASSERT_NE(image, nullptr);
  EXPECT_EQ(image->sizes, (std::vector<int64_t>{1, 1, 14, 14}));
  const auto* const cases = outputs->get_if<SavedValue::Dict>()->at("forward").get_if<SavedValue::List>();
  ASSERT_NE(cases, nullptr);
  EXPECT_EQ(cases->at(0).get_if<SavedValue::List>()->size(), 1u);
  // The weights are those of the archive, and the record is a model like the archive.
  const auto from_record = pt2::import_archive(path),
             from_archive = pt2::import_archive(archive("lenet.pt2"));
  ASSERT_TRUE(from_record) << from_record.error().message;
  ASSERT_TRUE(from_archive);
  ASSERT_EQ(from_record->constants.size(), from_archive->constants.size());
  for (size_t i = 0; i < from_record->constants.size(); ++i)
    EXPECT_EQ(from_record->constants[i].dense_bytes(), from_archive->constants[i].dense_bytes());
  EXPECT_EQ(from_record->main().nodes.size(), from_archive->main().nodes.size());
}

TEST_F(CompileCommand, OptionsOfARecordThatDoNotFitAreExplained) {
  const auto rejected = [&](std::vector<std::string> words, const std::string& why) {
    words.insert(words.begin(), {"compile", archive("lenet.pt2"), "-o", dir_ / "r.pte"});
    const CliRun run = cli(words);
    EXPECT_NE(run.exit, 0) << why;
    EXPECT_THAT(run.err, HasSubstr(why));
    EXPECT_FALSE(fs::exists(dir_ / "r.pte")) << why;
  };
  const std::string in = archive("lenet.in.0.npy"), out = archive("lenet.out.0.npy");
  const std::string record = dir_ / "r.etrecord";
  rejected({"--etrecord-weights"}, "--etrecord-weights needs --etrecord FILE");
  rejected({"--etrecord", record, "--etrecord-output", out, "--etrecord-output", out},
           "--etrecord-output: 2 values, method 'forward' has 1 outputs");
  rejected({"--etrecord", record, "--etrecord-output", in},
           "output 0: found float32 [1, 1, 14, 14], expected");
  rejected({"--etrecord", record, "--etrecord-output", "other=" + out}, "other=");
  rejected({"--etrecord", record, "--etrecord-input", out},
           "--etrecord-input: input 0: found float32 [1, 10], expected float32 [1, 1, 14, 14]");
  rejected({"--etrecord", record, "--etrecord-input", "3"}, "input 0: found int, expected float32");
  rejected({"--etrecord", record, "--etrecord-module", "mlp.pt2"}, "expected NAME=FILE.pt2");
  rejected({"--etrecord", record, "--etrecord-module", "delegate_map=" + archive("mlp.pt2")},
           "the name contains the reserved name 'delegate_map'");
  EXPECT_FALSE(fs::exists(record));
}

TEST_F(CompileCommand, ReferenceOutputsBelongToTheMethodThatIsNamed) {
  const std::string path = dir_ / "m.etrecord";
  const CliRun run =
      cli({"compile", "--method", "first=" + archive("mlp.pt2"), "--method", "second=" + archive("lenet.pt2"),
           "-o", dir_ / "m.pte", "--etrecord", path, "--etrecord-output",
           "second=" + archive("lenet.out.0.npy"), "--etrecord-output", "first=" + archive("mlp.out.0.npy")});
  ASSERT_EQ(run.exit, 0) << run.err;
  const auto record = record::read_record_file(path);
  ASSERT_TRUE(record) << record.error().message;
  const auto outputs = record::read_saved_value(std::as_bytes(std::span(record->reference_outputs)));
  ASSERT_TRUE(outputs) << outputs.error().message;
  const auto* const by_method = outputs->get_if<record::SavedValue::Dict>();
  ASSERT_NE(by_method, nullptr);
  EXPECT_EQ(by_method->size(), 2u);
  EXPECT_EQ(by_method->count("first"), 1u);
}

TEST_F(CompileCommand, ShowsTheGraphAfterAPass) {
  const CliRun run = cli({"compile", archive("mlp.pt2"), "-o", dir_ / "m.pte", "--dump-after", "decompose"});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("# after decompose\netg 1\nmodule \"forward\""));
  EXPECT_THAT(run.out, HasSubstr("aten.addmm.default("));
}

TEST_F(CompileCommand, SaysWhatIsWrong) {
  const CliRun missing = cli({"compile", dir_ / "none.pt2", "-o", dir_ / "m.pte"});
  EXPECT_EQ(missing.exit, static_cast<int>(ExitCode::NOT_FOUND));
  std::ofstream(dir_ / "bad.pt2") << "no archive";
  const CliRun bad = cli({"compile", dir_ / "bad.pt2", "-o", dir_ / "m.pte"});
  EXPECT_EQ(bad.exit, static_cast<int>(ExitCode::INVALID_INPUT));
  EXPECT_THAT(bad.err, HasSubstr("bad.pt2': found a text file, expected an archive"));
  EXPECT_FALSE(fs::exists(dir_ / "m.pte"));
  EXPECT_THAT(cli({"compile"}).err, HasSubstr("no model"));
  EXPECT_THAT(cli({"compile", archive("decompositions.pt2")}).err, HasSubstr("several models"));
}

}  // namespace
}  // namespace etb::tools
