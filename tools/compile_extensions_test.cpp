// SPDX-License-Identifier: Apache-2.0
// Tests custom ops and rewrite rules of users and plugins: from an archive that PyTorch wrote to PyTorch's
// results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

constexpr const char* kScale = "my::scale(Tensor x, float factor=2.0) -> Tensor";

std::string fixture(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/custom_op/" + name;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<float> read_floats(const fs::path& path) {
  const std::string all = read_file(path);
  if (all.size() < 10) return {};
  const size_t header = 10 + (static_cast<unsigned char>(all[8]) | static_cast<unsigned char>(all[9]) << 8);
  std::vector<float> values((all.size() - header) / sizeof(float));
  std::memcpy(values.data(), all.data() + header, values.size() * sizeof(float));
  return values;
}

class CompileExtensions : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(dir_); }
  void TearDown() override { fs::remove_all(dir_); }

  CliRun compile(std::vector<std::string> more) {
    std::vector<std::string> args = {"compile", fixture("custom_op.pt2"), "-o", dir_ / "m.pte"};
    args.insert(args.begin(), more.begin(), std::find(more.begin(), more.end(), "--"));
    args.insert(args.end(), std::min(std::find(more.begin(), more.end(), "--") + 1, more.end()), more.end());
    return cli(args);
  }
  void expect_pytorchs_numbers(const std::vector<std::string>& more) {
    std::vector<std::string> args = {"run",          dir_ / "m.pte", "--input", fixture("custom_op.in.0.npy"),
                                     "--output-dir", dir_ / "out"};
    args.insert(args.begin(), {"--plugin-path", (dir_ / "plugins").string()});
    fs::create_directories(dir_ / "plugins");
    args.insert(args.end(), more.begin(), more.end());
    const CliRun ran = cli(args);
    ASSERT_EQ(ran.exit, 0) << ran.err;
    const std::vector<float> got = read_floats(dir_ / "out/0.npy");
    const std::vector<float> wanted = read_floats(fixture("custom_op.out.0.npy"));
    ASSERT_FALSE(wanted.empty());
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-6);
  }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name, std::ios::binary) << text;
    return dir_ / name;
  }
  // Installs the template plugin, which claims sums, with additions to its manifest.
  std::string plugin_with(const nlohmann::json& more) {
    const fs::path folder = dir_ / "plugins";
    fs::create_directories(folder);
    fs::copy_file(fs::path(ETB_PLUGIN_DIR) / "my_npu.so", folder / "my_npu.so",
                  fs::copy_options::overwrite_existing);
    auto manifest = nlohmann::json::parse(read_file(fs::path(ETB_PLUGIN_DIR) / "my_npu.json"));
    manifest.update(more);
    std::ofstream(folder / "my_npu.json") << manifest.dump();
    return folder;
  }

  fs::path dir_ = fs::temp_directory_path() / ("etb_extensions_" + std::to_string(::getpid()));
};

TEST_F(CompileExtensions, AnOpThatNobodyDeclaredIsNamedWithItsLine) {
  const CliRun run = compile({});
  EXPECT_NE(run.exit, 0);
  EXPECT_THAT(
      run.err,
      HasSubstr("torch.ops.my.scale.default (make_custom_op.py:35 in forward): unknown op; declare it "
                "if it is a custom op"));
  EXPECT_THAT(run.err, HasSubstr("make_custom_op.py:36 in forward"));
}

TEST_F(CompileExtensions, ADeclaredOpRunsWithTheApplicationsKernel) {
  const CliRun run = compile({"--", "--custom-op", kScale, "--etrecord", (dir_ / "m.etrecord").string()});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(
      run.out,
      HasSubstr("forward: calls the custom kernel my::scale.out, which the application must register\n"));
  expect_pytorchs_numbers({"--kernels", ETB_TEST_KERNEL_LIBRARY});
  EXPECT_THAT(cli({"run", dir_ / "m.pte", "--ones"}).err, HasSubstr("my::scale.out"));
  EXPECT_THAT(read_file(dir_ / "m.etrecord"), HasSubstr("my.scale.default"));
}

TEST_F(CompileExtensions, ADecompositionOfItRunsAnywhere) {
  const CliRun run =
      compile({"--", "--custom-op", kScale, "--decompose", "my.scale.default=mul.Scalar(x, factor)"});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, Not(HasSubstr("must register")));
  expect_pytorchs_numbers({});
}

TEST_F(CompileExtensions, ARuleFileDeclaresAndTakesApart) {
  const std::string rules = write("scale.rules", std::string("op ") + kScale + R"(
rule scale_apart aten {
  %y = my.scale.default(%x, $factor)
} to {
  %y = aten.mul.Scalar(%x, $factor)
}
)");
  const CliRun run = compile({"--", "--rules", rules, "--dump-after", "rules_aten"});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("# after rules_aten\netg 1\nmodule"));
  EXPECT_THAT(run.out, HasSubstr("= aten.mul.Scalar(%add, 0.5)"));
  expect_pytorchs_numbers({});
}

TEST_F(CompileExtensions, FaultyRulesOfTheUserAreErrorsWithTheirPlace) {
  const CliRun unreadable =
      compile({"--", "--rules", write("bad.rules", "rule r edge {\n %y = aten.nope(%x) }")});
  EXPECT_EQ(unreadable.exit, static_cast<int>(ExitCode::INVALID_INPUT));
  EXPECT_THAT(unreadable.err, HasSubstr("bad.rules: line 2 column 7: unknown op 'aten.nope'"));
  const CliRun wrong = compile(
      {"--", "--custom-op", kScale, "--rules",
       write("wrong.rules",
             "\nrule r aten { %y = aten.relu.default(%x) } to { %y = aten.sum.dim_IntList(%x, [0]) }")});
  EXPECT_NE(wrong.exit, 0);
  EXPECT_THAT(wrong.err,
              HasSubstr("wrong.rules:2: rule 'r' at 'aten.relu.default' (make_custom_op.py:35 in forward"));
  EXPECT_FALSE(fs::exists(dir_ / "m.pte"));
  EXPECT_THAT(compile({"--", "--custom-op", "scale"}).err, HasSubstr("expected '::'"));
}

TEST_F(CompileExtensions, APluginsManifestDeclaresOpsAndNamesRules) {
  const std::string folder = plugin_with({{"custom_ops", {kScale}}, {"rules", {{"path", "npu.rules"}}}});
  // A doubled tensor becomes a sum, which the plugin claims. The remaining op is decomposed.
  write("plugins/npu.rules", R"(
rule doubled edge { %y = my.scale.default(%x) } to { %y = aten.add.Tensor(%x, %x) }
rule apart rest { %y = my.scale.default(%x, $f) } to { %y = aten.mul.Scalar(%x, $f) }
)");
  for (const bool is_isolated : {false, true}) {
    std::vector<std::string> args = {"--plugin-path", folder, "--", "-b", "my_npu", "--report"};
    if (is_isolated) args.push_back("--isolate");
    const CliRun run = compile(args);
    ASSERT_EQ(run.exit, 0) << run.err;
    EXPECT_THAT(run.out, Not(HasSubstr("must register")));
    EXPECT_THAT(run.out, Not(HasSubstr(" 0 of them delegate calls")));
    expect_pytorchs_numbers({});
  }
}

TEST_F(CompileExtensions, FaultyRulesOfAPluginAreNamedAndLeftOut) {
  const std::string folder = plugin_with({{"custom_ops", {kScale}}, {"rules", {{"path", "npu.rules"}}}});
  write("plugins/npu.rules",
        "rule r edge { %y = my.scale.default(%x) } to { %y = aten.sum.dim_IntList(%x, [0]) }\n"
        "rule apart rest { %y = my.scale.default(%x, $f) } to { %y = aten.mul.Scalar(%x, $f) }");
  const CliRun wrong = compile({"--plugin-path", folder, "--", "-b", "my_npu"});
  EXPECT_EQ(wrong.exit, static_cast<int>(ExitCode::NEGATIVE));
  EXPECT_THAT(wrong.err, HasSubstr("skipped a rule of plugin 'my_npu': npu.rules:1: rule 'r'"));
  expect_pytorchs_numbers({});
  write("plugins/npu.rules", "nonsense");
  const CliRun unreadable = compile({"--plugin-path", folder, "--", "-b", "my_npu", "--decompose",
                                     "my.scale.default=mul.Scalar(x, factor)"});
  EXPECT_EQ(unreadable.exit, static_cast<int>(ExitCode::NEGATIVE)) << unreadable.err;
  EXPECT_THAT(unreadable.err,
              HasSubstr("skipped plugin 'my_npu': npu.rules: line 1 column 1: expected op or rule"));
  expect_pytorchs_numbers({});
}

}  // namespace
}  // namespace etb::tools
