// SPDX-License-Identifier: Apache-2.0
// Tests `run --profile` and `etbackend inspect` on its files, and on those of the official run time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using host::ScratchDir;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::json;

const std::string kSource = ETB_SOURCE_DIR;
const std::string kProgram = kSource + "/tests/fixtures/programs/add.pte";
const std::string kOfficial = kSource + "/tests/fuzz/etdump/official_add.etdp";
const std::string kOfficialDelegate = kSource + "/tests/fuzz/etdump/official_xnnpack_add.etdp";

std::vector<std::string> names_of(const Json& report) {
  std::vector<std::string> names;
  for (const Json& row : report["rows"]) names.push_back(row["name"]);
  return names;
}

TEST(InspectCommand, ReadsWhatRunRecords) {
  const ScratchDir dir;
  const std::string file = dir.path("run.etdp");
  const CliRun run = cli({"run", kProgram, "--repeat", "4", "--profile", file});
  ASSERT_EQ(run.exit, 0) << run.err;
  const CliRun inspect = cli({"inspect", file, "--json"});
  ASSERT_EQ(inspect.exit, 0) << inspect.err;
  const Json report = Json::parse(inspect.out);
  EXPECT_EQ(report["runs"], 5);  // the first, and four timed ones
  EXPECT_THAT(names_of(report), ElementsAre("add.out"));
  EXPECT_EQ(report["rows"][0]["calls"], 1);
  EXPECT_LE(report["rows"][0]["min_us"], report["rows"][0]["max_us"]);
  EXPECT_EQ(Json::parse(cli({"inspect", file, "--skip", "2", "--json"}).out)["runs"], 3);
  EXPECT_THAT(cli({"inspect", file}).out, AllOf(HasSubstr("5 runs, "), HasSubstr("add.out")));
}

TEST(InspectCommand, ReadsFilesOfTheOfficialRunTime) {
  const Json kernel = Json::parse(cli({"inspect", kOfficial, "--by", "event", "--json"}).out);
  EXPECT_EQ(kernel["runs"], 2);
  EXPECT_THAT(names_of(kernel), ElementsAre("native_call_add.out", "OPERATOR_CALL", "Method::execute"));
  const Json delegate = Json::parse(cli({"inspect", kOfficialDelegate, "--json"}).out);
  EXPECT_THAT(names_of(delegate), ElementsAre("DELEGATE_CALL", "Add (ND) #1"));
  EXPECT_EQ(delegate["rows"][1]["inside_delegate"], true);
  const Json load =
      Json::parse(cli({"inspect", kOfficial, "--block", "Default", "--by", "event", "--json"}).out);
  EXPECT_THAT(names_of(load), ElementsAre("Method::init", "Program::load_method"));
}

TEST(InspectCommand, WritesTablesAndTraces) {
  const ScratchDir dir;
  const CliRun csv = cli({"inspect", kOfficial, "--csv", "--perfetto", dir.path("trace.json")});
  EXPECT_EQ(csv.exit, 0) << csv.err;
  EXPECT_THAT(csv.out, HasSubstr("name,chain,instruction,"));
  EXPECT_THAT(cli({"inspect", kOfficial, "--tsv"}).out, HasSubstr("add.out\t0\t0\tfalse\t1\t"));
  std::ifstream in(dir.path("trace.json"));
  const Json trace = Json::parse(in);
  EXPECT_EQ(trace["traceEvents"].size(), 8u);  // two of loading, three in each of two runs
  EXPECT_THAT(cli({"inspect", kOfficial, "--by", "op", "--top", "1"}).out, HasSubstr("add.out"));
}

TEST(InspectCommand, NamesWhatIsWrong) {
  const CliRun program = cli({"inspect", kProgram});
  EXPECT_EQ(program.exit, 4);
  EXPECT_THAT(program.err, AllOf(HasSubstr("a program (.pte)"), HasSubstr("a record of runs (.etdp)")));
  const CliRun block = cli({"inspect", kOfficial, "--block", "Exec"});
  EXPECT_EQ(block.exit, 3);
  EXPECT_THAT(block.err, HasSubstr("the file has 'Default', 'Execute'"));
  const ScratchDir dir;
  std::ifstream in(kOfficial, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const CliRun cut = cli({"inspect", dir.write("cut.etdp", bytes.substr(0, bytes.size() - 8))});
  EXPECT_EQ(cut.exit, 4);
  EXPECT_THAT(cut.err, HasSubstr("it is cut"));
  EXPECT_EQ(cli({"inspect", kOfficial, "--csv", "--json"}).exit, 2);
  EXPECT_EQ(cli({"run", kProgram, "--profile", dir.path("no/such/folder")}).exit, 3);
  EXPECT_EQ(cli({"run", kProgram, "--profile", dir.path("x"), "--serve"}).exit, 2);
}

}  // namespace
}  // namespace etb::tools
