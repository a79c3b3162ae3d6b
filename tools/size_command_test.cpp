// SPDX-License-Identifier: Apache-2.0
// Tests `etbackend size` on programs and archives of the official tools and on programs that are compiled here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kFixtures = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/";

json measured(const std::vector<std::string>& args) {
  std::vector<std::string> words = {"size", "--json"};
  words.insert(words.end(), args.begin(), args.end());
  const CliRun run = cli(words);
  EXPECT_EQ(run.exit, 0) << run.err;
  return json::parse(run.out, nullptr, false);
}

uint64_t sum_of(const json& rows, const char* key) {
  uint64_t sum = 0;
  for (const json& row : rows) sum += row[key].get<uint64_t>();
  return sum;
}

// Parts are the whole file, and each table has all items, for every program of the repository.
TEST(SizeCommand, EveryTableHasTheSameSum) {
  size_t count = 0;
  for (const char* folder : {"programs", "xnnpack", "zoo"}) {
    for (const auto& entry : fs::directory_iterator(kFixtures + folder)) {
      if (entry.path().extension() != ".pte") continue;
      const json report = measured({entry.path().string()});
      ASSERT_TRUE(report.is_object()) << entry.path();
      const uint64_t items =
          sum_of(report["tensor_data"], "num_bytes") + sum_of(report["delegate_blob_data"], "num_bytes");
      EXPECT_EQ(report["nbytes"], fs::file_size(entry.path()));
      EXPECT_EQ(sum_of(report["parts"], "nbytes"), report["nbytes"]) << entry.path();
      EXPECT_EQ(sum_of(report["modules"], "nbytes"), items) << entry.path();
      EXPECT_EQ(sum_of(report["operators"], "nbytes"), items) << entry.path();
      const json& overview = report["overview"];
      EXPECT_EQ(overview["total_tensor_data_size"].get<uint64_t>() +
                    overview["total_delegate_blob_data_size"].get<uint64_t>() +
                    overview["serialization_metadata_size"].get<uint64_t>(),
                report["nbytes"].get<uint64_t>());
      ++count;
    }
  }
  EXPECT_GE(count, 20u);
}

TEST(SizeCommand, AnArchiveByModuleOperatorAndConstant) {
  const std::string lenet = kFixtures + "archives/lenet.pt2";
  const json report = measured({lenet});
  EXPECT_EQ(report["kind"], "archive");
  const json info = json::parse(cli({"info", lenet, "--json"}).out);
  EXPECT_EQ(sum_of(report["tensor_data"], "num_bytes"), info["weights"]["nbytes"]);
  std::map<std::string, json> modules, operators;
  for (const json& row : report["modules"]) modules[row["name"]] = row;
  for (const json& row : report["operators"]) operators[row["name"]] = row;
  EXPECT_EQ(operators["aten.conv2d.default"]["calls"], 2);
  EXPECT_GT(operators["aten.conv2d.default"]["nbytes"], 0);
  bool has_type = false;
  for (const auto& [name, row] : modules)
    has_type = has_type || row.value("type", "").find("Conv2d") != std::string::npos;
  EXPECT_TRUE(has_type) << report["modules"].dump();
  for (const json& tensor : report["tensor_data"]) {
    EXPECT_EQ(tensor["num_bytes"].get<uint64_t>(),
              tensor["numel"].get<uint64_t>() * tensor["element_size"].get<uint64_t>());
    EXPECT_EQ(tensor["target"].get<std::string>().rfind(tensor["module"].get<std::string>(), 0), 0u);
  }
  const CliRun text = cli({"size", lenet, "--by", "module", "--top", "2"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("By module\n"), HasSubstr("more)"), Not(HasSubstr("By constant"))));
}

TEST(SizeCommand, ModulesAreGroupedByDepth) {
  const std::string bert = kFixtures + "zoo/bert.pt2";
  const json all = measured({bert}), top = measured({bert, "--depth", "1"});
  EXPECT_LT(top["modules"].size(), all["modules"].size());
  EXPECT_EQ(sum_of(top["modules"], "nbytes"), sum_of(all["modules"], "nbytes"));
  for (const json& row : top["modules"])
    EXPECT_EQ(row["name"].get<std::string>().find('.'), std::string::npos) << row.dump();
}

// The compiler stores equal constants once; the official exporter's program may have them twice.
TEST(SizeCommand, FindsDuplicates) {
  const host::ScratchDir dir;
  const std::string tied = kFixtures + "archives/tied.pt2";
  ASSERT_EQ(cli({"compile", tied, "-o", dir.path("tied.pte")}).exit, 0);
  EXPECT_EQ(measured({dir.path("tied.pte")})["duplicates"], json::array());
  size_t found = 0;
  for (const auto& entry : fs::directory_iterator(kFixtures + "zoo")) {
    if (entry.path().extension() != ".pt2") continue;
    const json report = measured({entry.path().string()});
    std::map<std::string, uint64_t> copies;
    for (const json& tensor : report["tensor_data"])
      if (tensor["num_bytes"] != 0) ++copies[tensor["sha256"].get<std::string>()];
    uint64_t groups = 0;
    for (const auto& [digest, count] : copies) groups += count > 1 ? 1 : 0;
    EXPECT_EQ(report["duplicates"].size(), groups) << entry.path();
    for (const json& group : report["duplicates"]) {
      ++found;
      EXPECT_EQ(group["wasted_nbytes"].get<uint64_t>(),
                group["nbytes"].get<uint64_t>() * (group["names"].size() - 1));
    }
  }
  EXPECT_GT(found, 0u);
}

TEST(SizeCommand, AModelNamesTheWeightsOfAProgram) {
  const host::ScratchDir dir;
  const std::string mlp = kFixtures + "archives/mlp.pt2", program = dir.path("mlp.pte");
  ASSERT_EQ(cli({"compile", mlp, "-o", program}).exit, 0);
  EXPECT_THAT(cli({"size", program}).out, HasSubstr("hint: this program has no names of modules; --model"));
  const json named = measured({program, "--model", mlp});
  std::set<std::string> targets, expected;
  for (const json& tensor : named["tensor_data"]) targets.insert(tensor.value("target", ""));
  const json model = measured({mlp});
  for (const json& tensor : model["tensor_data"])
    expected.insert(tensor["target"].get<std::string>());
  EXPECT_EQ(targets, expected);
  EXPECT_THAT(cli({"size", program, "--model", mlp}).out, Not(HasSubstr("hint:")));
}

TEST(SizeCommand, CsvIsOneTable) {
  const std::string lenet = kFixtures + "archives/lenet.pt2";
  EXPECT_THAT(cli({"size", lenet, "--csv", "--by", "module"}).out,
              testing::StartsWith("module,type,nbytes,items,calls\n"));
  EXPECT_THAT(cli({"size", lenet, "--csv", "--by", "part"}).out,
              AllOf(testing::StartsWith("part,nbytes\n"), HasSubstr("\nweights,")));
  EXPECT_THAT(cli({"size", lenet, "--csv", "--by", "operator"}).out, testing::StartsWith("operators,"));
  const CliRun constants = cli({"size", lenet, "--csv"});
  EXPECT_EQ(std::count(constants.out.begin(), constants.out.end(), '\n'), 14);  // 13 and the heading
}

TEST(SizeCommand, NamesWhatIsWrong) {
  EXPECT_EQ(cli({"size", "/nonexistent.pte"}).exit, static_cast<int>(ExitCode::NOT_FOUND));
  const CliRun data = cli({"size", kFixtures + "programs/external.ptd"});
  EXPECT_EQ(data.exit, static_cast<int>(ExitCode::INVALID_INPUT));
  EXPECT_THAT(data.err, HasSubstr("expected a program (.pte) or an archive (.pt2)"));
  EXPECT_THAT(cli({"size", kFixtures + "archives/mlp.pt2", "--by", "modul"}).err,
              HasSubstr("nearest: module"));
  EXPECT_EQ(cli({"size", kFixtures + "archives/mlp.pt2", "--model", kFixtures + "archives/mlp.pt2"}).exit,
            static_cast<int>(ExitCode::USAGE));
  EXPECT_EQ(cli({"size", kFixtures + "programs/add.pte", "--model", kFixtures + "programs/add.pte"}).exit,
            static_cast<int>(ExitCode::INVALID_INPUT));
}

}  // namespace
}  // namespace etb::tools
