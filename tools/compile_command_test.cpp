#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tools/cli_run.hpp"

namespace etb::tools {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

std::string archive(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/archives/" + name;
}

// Header and elements of a .npy file of float32.
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
class CompiledExample : public CompileCommand, public testing::WithParamInterface<Example> {};

TEST_P(CompiledExample, GivesPyTorchsNumbers) {
  const auto [name, input_count, output_count] = GetParam();
  const std::string program = dir_ / "model.pte";
  const CliRun compiled = cli({"compile", archive(std::string(name) + ".pt2"), "-o", program});
  ASSERT_EQ(compiled.exit, 0) << compiled.err;
  EXPECT_THAT(compiled.out, HasSubstr("forward: "));
  std::vector<std::string> args = {"run", program, "--output-dir", dir_ / "out"};
  for (int i = 0; i < input_count; ++i) {
    args.insert(args.end(), {"--input", archive(std::string(name) + ".in." + std::to_string(i) + ".npy")});
  }
  const CliRun ran = cli(args);
  ASSERT_EQ(ran.exit, 0) << ran.err;
  for (int i = 0; i < output_count; ++i) {
    const auto [got_header, got] = read_floats(dir_ / "out" / (std::to_string(i) + ".npy"));
    const auto [header, wanted] =
        read_floats(archive(std::string(name) + ".out." + std::to_string(i) + ".npy"));
    EXPECT_EQ(got_header, header);
    ASSERT_EQ(got.size(), wanted.size());
    ASSERT_FALSE(wanted.empty());
    for (size_t k = 0; k < got.size(); ++k)
      EXPECT_NEAR(got[k], wanted[k], 1e-5f * std::max(1.0f, std::abs(wanted[k])));
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, CompiledExample,
                         testing::Values(Example{"add", 2, 1}, Example{"mlp", 1, 1}, Example{"lenet", 1, 1},
                                         Example{"counter", 1, 3}, Example{"dynamic", 1, 2},
                                         Example{"channels_last", 1, 1}, Example{"branch", 1, 1},
                                         Example{"no_grad", 1, 1}, Example{"items", 1, 1}),
                         [](const auto& each) { return each.param.name; });

TEST_F(CompileCommand, SeveralMethodsShareAFile) {
  const std::string program = dir_ / "two.pte";
  const CliRun compiled = cli({"compile", "--method", "sum=" + archive("add.pt2"), "--method",
                               "net=" + archive("mlp.pt2"), "-o", program});
  ASSERT_EQ(compiled.exit, 0) << compiled.err;
  EXPECT_EQ(cli({"run", program, "--method", "sum", "--ones"}).exit, 0);
  EXPECT_EQ(cli({"run", program, "--method", "net", "--ones"}).exit, 0);
}

TEST_F(CompileCommand, ShowsTheGraphAfterAPass) {
  const CliRun run = cli({"compile", archive("mlp.pt2"), "-o", dir_ / "m.pte", "--dump-after", "decompose"});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("# after decompose\nmodule \"forward\""));
  EXPECT_THAT(run.out, HasSubstr("aten.addmm.default("));
}

TEST_F(CompileCommand, SaysWhatIsWrong) {
  const CliRun missing = cli({"compile", dir_ / "none.pt2", "-o", dir_ / "m.pte"});
  EXPECT_EQ(missing.exit, static_cast<int>(ExitCode::NOT_FOUND));
  std::ofstream(dir_ / "bad.pt2") << "no archive";
  const CliRun bad = cli({"compile", dir_ / "bad.pt2", "-o", dir_ / "m.pte"});
  EXPECT_EQ(bad.exit, static_cast<int>(ExitCode::INVALID_INPUT));
  EXPECT_THAT(bad.err, HasSubstr("bad.pt2': zip: no end of central directory"));
  EXPECT_FALSE(fs::exists(dir_ / "m.pte"));
  EXPECT_THAT(cli({"compile"}).err, HasSubstr("no model"));
  EXPECT_THAT(cli({"compile", archive("decompositions.pt2")}).err, HasSubstr("several models"));
}

}  // namespace
}  // namespace etb::tools
