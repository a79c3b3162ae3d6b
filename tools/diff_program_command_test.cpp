// SPDX-License-Identifier: Apache-2.0
// Tests `etbackend diff-program`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

const std::string kFixtures = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/";

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

json diff_of(const std::string& a, const std::string& b, int exit) {
  const CliRun run = cli({"diff-program", a, b, "--json"});
  EXPECT_EQ(run.exit, exit) << a << ' ' << b << ' ' << run.err;
  return json::parse(run.out, nullptr, false);
}

TEST(DiffProgram, AProgramEqualsItself) {
  size_t count = 0;
  for (const char* folder : {"programs", "xnnpack"}) {
    for (const auto& entry : fs::directory_iterator(kFixtures + folder)) {
      if (entry.path().extension() != ".pte") continue;
      const json diff = diff_of(entry.path(), entry.path(), 0);
      EXPECT_TRUE(diff["is_equal"]) << entry.path();
      EXPECT_EQ(diff.size(), 4u) << diff.dump();
      ++count;
    }
  }
  EXPECT_GE(count, 15u);
  const std::string add = kFixtures + "programs/add.pte";
  EXPECT_THAT(cli({"diff-program", add, add}).out, HasSubstr("the files are equal\n"));
}

// One changed weight is found with its place and its size.
TEST(DiffProgram, FindsAChangedElementOfAConstant) {
  const host::ScratchDir dir;
  const std::string mlp = kFixtures + "archives/mlp.pt2", a = dir.path("a.pte"), b = dir.path("b.pte");
  ASSERT_EQ(cli({"compile", mlp, "-o", a}).exit, 0);
  const json sizes = json::parse(cli({"size", a, "--json"}).out);
  const json info = json::parse(cli({"info", a, "--json"}).out);
  ASSERT_EQ(info["segments"].size(), 1u);
  std::string bytes = bytes_of(a);
  const auto first = info["segments"][0]["offset"].get<size_t>();
  float weight = 0;
  std::memcpy(&weight, bytes.data() + first, sizeof weight);
  weight += 0.5F;
  std::memcpy(bytes.data() + first, &weight, sizeof weight);
  dir.write("b.pte", bytes);
  const json diff = diff_of(a, b, 1);
  ASSERT_EQ(diff["methods"].size(), 1u) << diff.dump();
  const json& method = diff["methods"][0];
  EXPECT_EQ(method["name"], "forward");
  ASSERT_EQ(method["constants"].size(), 1u) << diff.dump();
  const json& constant = method["constants"][0];
  EXPECT_EQ(constant["num_differing"], 1);
  EXPECT_NEAR(constant["max_abs_diff"], 0.5, 1e-6);
  EXPECT_NEAR(constant["mean_abs_diff"].get<double>() * constant["num_elements"].get<double>(), 0.5, 1e-6);
  EXPECT_EQ(constant["first_differences"][0]["index"], 0);
  EXPECT_FALSE(method.contains("instructions"));
  const CliRun text = cli({"diff-program", a, b});
  EXPECT_EQ(text.exit, 1);
  EXPECT_THAT(text.out, AllOf(HasSubstr("constants with other elements (1):"), HasSubstr("1 of "),
                              HasSubstr("element 0: ")));
}

TEST(DiffProgram, InstructionsThatWereReplacedByADelegate) {
  const host::ScratchDir dir;
  const std::string add = kFixtures + "archives/add.pt2", a = dir.path("a.pte"), b = dir.path("b.pte");
  ASSERT_EQ(cli({"compile", add, "-o", a}).exit, 0);
  ASSERT_EQ(cli({"compile", add, "-o", b, "--plugin-path", ETB_PLUGIN_DIR, "-b", "my_npu"}).exit, 0);
  const json diff = diff_of(a, b, 1);
  const json& method = diff["methods"][0];
  EXPECT_EQ(method["operators_only_in_a"], json::array({"aten::add.out"})) << diff.dump();
  EXPECT_EQ(method["delegates_only_in_b"], json::array({"MyNpuBackend"}));
  std::string changes;
  for (const json& row : method["instructions"])
    changes += row["only_in"].get<std::string>() + " " + row["text"].get<std::string>() + "\n";
  EXPECT_THAT(changes, AllOf(HasSubstr("a aten::add.out("), HasSubstr("b delegate MyNpuBackend(")));
  EXPECT_THAT(cli({"diff-program", a, b}).out, AllOf(HasSubstr("delegates only in B (1):\n    MyNpuBackend"),
                                                     HasSubstr("- 0: aten::add.out(")));
  // The other way round, the sides change places.
  const json back = diff_of(b, a, 1);
  EXPECT_EQ(back["methods"][0]["operators_only_in_b"], method["operators_only_in_a"]);
  EXPECT_EQ(back["methods"][0]["instructions"].size(), method["instructions"].size());
}

// An instruction that one program has more does not make the others different.
TEST(DiffProgram, InstructionsBelongTogether) {
  const std::string a = kFixtures + "programs/linear.pte", b = kFixtures + "programs/conv.pte";
  const json diff = diff_of(a, b, 1);
  const json& method = diff["methods"][0];
  const uint64_t in_a = method["instruction_count_a"], in_b = method["instruction_count_b"];
  uint64_t only_a = 0, only_b = 0;
  for (const json& row : method["instructions"]) ++(row["only_in"] == "a" ? only_a : only_b);
  EXPECT_EQ(in_a - only_a, in_b - only_b);
  EXPECT_TRUE(method.contains("inputs"));
}

TEST(DiffProgram, MethodsAndNamedData) {
  const json diff = diff_of(kFixtures + "programs/methods.pte", kFixtures + "programs/add.pte", 1);
  EXPECT_TRUE(diff.contains("methods_only_in_a")) << diff.dump();
  const json data = diff_of(kFixtures + "programs/xnnpack.pte", kFixtures + "programs/add.pte", 1);
  EXPECT_EQ(data["named_data_only_in_a"].size(), 2u);
}

TEST(DiffProgram, NamesWhatIsWrong) {
  const std::string add = kFixtures + "programs/add.pte";
  EXPECT_EQ(cli({"diff-program", add, "/nonexistent.pte"}).exit, static_cast<int>(ExitCode::NOT_FOUND));
  const CliRun archive = cli({"diff-program", add, kFixtures + "archives/mlp.pt2"});
  EXPECT_EQ(archive.exit, static_cast<int>(ExitCode::INVALID_INPUT));
  EXPECT_THAT(archive.err, HasSubstr("expected a program (.pte)"));
  EXPECT_EQ(cli({"diff-program", add}).exit, static_cast<int>(ExitCode::USAGE));
}

}  // namespace
}  // namespace etb::tools
