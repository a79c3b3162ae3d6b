// SPDX-License-Identifier: Apache-2.0
// Tests `etbackend verify` as a whole: verdicts, reports, bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string read_all(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(VerifyCommand, PortableBackendPassesASample) {
  const CliRun run = cli({"verify", "portable", "--profile", "smoke"});
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("org.etbackend.portable 1.0.0: executed on the plugin / claimed: "));
  EXPECT_THAT(run.out, HasSubstr("PASS"));
}

TEST(VerifyCommand, ResultsAreTheSameForAnyNumberOfWorkers) {
  const host::ScratchDir dir;
  std::vector<std::string> states[2];
  for (int i = 0; i < 2; ++i) {
    const std::string file = dir.path("r" + std::to_string(i));
    ASSERT_EQ(
        cli({"verify", "portable", "--case", "op.mm.*", "--workers", i == 0 ? "1" : "3", "--results", file})
            .exit,
        0);
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
      nlohmann::json object = nlohmann::json::parse(line);
      for (const char* key : {"us", "date", "command"}) object.erase(key);
      states[i].push_back(object.dump());
    }
    std::sort(states[i].begin(), states[i].end());
  }
  EXPECT_EQ(states[0], states[1]);
  EXPECT_GT(states[0].size(), 50u);
}

TEST(VerifyCommand, WritesReportsAndResumesAndMerges) {
  const host::ScratchDir dir;
  const std::string first = dir.path("a.jsonl"), second = dir.path("b.jsonl"), all = dir.path("all.jsonl");
  ASSERT_EQ(
      cli({"verify", "portable", "--case", "op.add_tensor.f32.*", "--shard", "1/2", "--results", first}).exit,
      0);
  ASSERT_EQ(cli({"verify", "portable", "--case", "op.add_tensor.f32.*", "--shard", "2/2", "--results", second,
                 "--junit", dir.path("j.xml"), "--html", dir.path("r.html")})
                .exit,
            0);
  EXPECT_THAT(read_all(dir.path("j.xml")), HasSubstr("<testsuite name=\"op\""));
  EXPECT_THAT(read_all(dir.path("r.html")), HasSubstr("Executed on the plugin"));
  // An interrupted run: its last line is cut off.
  std::string half = read_all(second);
  half.resize(half.size() - half.size() / 3);
  std::ofstream(second) << half;
  const CliRun resumed = cli({"verify", "portable", "--case", "op.add_tensor.f32.*", "--shard", "2/2",
                              "--results", second, "--resume"});
  EXPECT_EQ(resumed.exit, 0) << resumed.out << resumed.err;
  const CliRun merged = cli({"verify", "--merge", first, "--merge", second, "--results", all});
  EXPECT_EQ(merged.exit, 0) << merged.out << merged.err;
  const CliRun compared = cli({"verify", "portable", "--case", "op.add_tensor.f32.*", "--compare", all});
  EXPECT_EQ(compared.exit, 0) << compared.out;
  EXPECT_THAT(compared.out, HasSubstr("0 worse, 0 better, 0 otherwise changed, 0 new, 0 gone"));
  EXPECT_THAT(cli({"verify", "--merge", first, "--merge", second, "--merge", first}).err,
              HasSubstr("is in two shards"));
  EXPECT_THAT(cli({"verify", "--merge", first}).err, HasSubstr("shard 2/2 is missing"));
}

// A shard without cases for the plugin, or an empty one, is no failure. All shards together without cases are
// one.
TEST(VerifyCommand, TooManyWorkersAreAnError) {
  const CliRun run = cli({"verify", "portable", "--workers", "1000000"});
  EXPECT_EQ(run.exit, static_cast<int>(ExitCode::USAGE));
  EXPECT_THAT(run.err, HasSubstr("--workers"));
}

TEST(VerifyCommand, AShardIsJudgedByItsOwnPart) {
  const host::ScratchDir dir;
  const auto run_shards = [&](const std::string& plugin, const std::vector<std::string>& patterns,
                              const std::string& name, int wanted) {
    std::vector<std::string> merge = {"verify"};
    for (int i = 1; i <= 8; ++i) {
      const std::string file = dir.path(name + std::to_string(i));
      std::vector<std::string> args = {"verify",    plugin, "--shard",       std::to_string(i) + "/8",
                                       "--results", file,   "--plugin-path", ETB_PLUGIN_DIR};
      for (const std::string& pattern : patterns) args.insert(args.end(), {"--case", pattern});
      const CliRun run = cli(args);
      EXPECT_EQ(run.exit, wanted) << i << run.out << run.err;
      EXPECT_THAT(run.out, HasSubstr("this is shard " + std::to_string(i) + "/8"));
      merge.insert(merge.end(), {"--merge", file});
    }
    return cli(merge);
  };
  // my_npu claims few cases: most shards have none of them.
  const CliRun good = run_shards("my_npu", {"op.add_tensor.f32.*", "op.relu.f32.*"}, "good", 0);
  EXPECT_EQ(good.exit, 0) << good.out << good.err;
  const CliRun small = run_shards("portable", {"op.neg.f32.7.stat", "op.neg.f32.65.stat"}, "small", 0);
  EXPECT_EQ(small.exit, 0) << small.out << small.err;
  const CliRun nothing = run_shards("my_npu", {"op.mm.f32.*exact"}, "nothing", 0);
  EXPECT_EQ(nothing.exit, static_cast<int>(ExitCode::NEGATIVE));
  EXPECT_THAT(nothing.out, HasSubstr("nothing ran on the plugin"));
}

TEST(VerifyCommand, TheLastLineAndTheExitCodeAgree) {
  const CliRun check = cli({"verify", "portable", "--case", "blob.bits-flipped.11"});
  EXPECT_EQ(check.exit, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr("PASS, 1 checks and cases"));
  const CliRun rejected =
      cli({"verify", "my_npu", "--case", "op.mm.f32.*exact", "--plugin-path", ETB_PLUGIN_DIR});
  EXPECT_EQ(rejected.exit, static_cast<int>(ExitCode::NEGATIVE)) << rejected.err;
  EXPECT_THAT(rejected.out, HasSubstr("FAIL: nothing ran on the plugin"));
}

// Supports the parts of JSON Schema in docs/verify_schema.json: types, enums, required, and additional
// properties (none, or of one type).
void expect_fits(const nlohmann::json& schema, const nlohmann::json& value, const std::string& where) {
  const std::string type = schema.value("type", "");
  bool fits = !schema.contains("const") || value == schema["const"];
  if (schema.contains("enum"))
    fits = fits && std::find(schema["enum"].begin(), schema["enum"].end(), value) != schema["enum"].end();
  fits = fits && (type != "string" || value.is_string()) &&
         (type != "integer" || value.is_number_integer()) && (type != "number" || value.is_number()) &&
         (type != "boolean" || value.is_boolean()) && (type != "array" || value.is_array()) &&
         (type != "object" || value.is_object());
  EXPECT_TRUE(fits) << where << ": " << value;
  if (!fits) return;
  if (type == "array")
    for (const nlohmann::json& item : value) expect_fits(schema["items"], item, where + "[]");
  if (type != "object") return;
  for (const nlohmann::json& name : schema.value("required", nlohmann::json::array()))
    EXPECT_TRUE(value.contains(name.get<std::string>())) << where << ": no " << name;
  for (const auto& [name, item] : value.items()) {
    const bool is_named = schema.contains("properties") && schema["properties"].contains(name);
    ASSERT_TRUE(is_named || schema["additionalProperties"].is_object())
        << where << ": " << name << " is not in the schema";
    expect_fits(is_named ? schema["properties"][name] : schema["additionalProperties"], item,
                where + "." + name);
  }
}

TEST(VerifyCommand, ResultsFitTheirSchema) {
  const nlohmann::json schema =
      nlohmann::json::parse(read_all(std::string(ETB_SOURCE_DIR) + "/docs/verify_schema.json"));
  const host::ScratchDir dir;
  // Violations of the precision contract are failures.
  const CliRun run = cli({"verify", "portable", "--case", "op.exp.*", "--case", "abi.*", "--case", "opt.*",
                          "--case", "op.mm.f32*", "--case", "perf.*", "--results", dir.path("r.jsonl")});
  EXPECT_EQ(run.exit, 0) << run.out;
  std::ifstream in(dir.path("r.jsonl"));
  size_t number = 0;
  for (std::string line; std::getline(in, line); ++number)
    expect_fits(schema["$defs"][number == 0 ? "header" : "outcome"], nlohmann::json::parse(line),
                "line " + std::to_string(number + 1));
  EXPECT_GT(number, 50u);
}

TEST(VerifyCommand, DelegatesHaveTheGivenOptions) {
  const host::ScratchDir dir;
  const CliRun run = cli({"verify", "portable", "--case", "op.exp.f32.*", "--delegate-option",
                          "x-vendor-hint=7", "--results", dir.path("r.jsonl")});
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("delegates have the options x-vendor-hint=7"));
  EXPECT_THAT(read_all(dir.path("r.jsonl")), HasSubstr(R"("delegate_options":"x-vendor-hint=7")"));
  const CliRun unknown = cli({"verify", "portable", "--case", "op.exp.f32.*", "--no-confirm",
                              "--delegate-option", "no-such-option=7"});
  EXPECT_EQ(unknown.exit, static_cast<int>(ExitCode::NEGATIVE)) << unknown.out << unknown.err;
  EXPECT_THAT(unknown.out, HasSubstr("option 'no-such-option': unknown key")) << "the delegate gets it";
  const CliRun other =
      cli({"verify", "portable", "--case", "op.exp.f32.*", "--results", dir.path("r.jsonl"), "--resume"});
  EXPECT_THAT(other.err, HasSubstr("another plugin, build, suite, contract, delegate option or seed"));
}

TEST(VerifyCommand, RefusesTextsThatAreNoOption) {
  for (const char* text : {"storage", "=storage"}) {
    const CliRun run = cli({"verify", "portable", "--delegate-option", text});
    EXPECT_EQ(run.exit, static_cast<int>(ExitCode::USAGE)) << text;
    EXPECT_THAT(run.err, HasSubstr("expected key=value, once for a key")) << text;
  }
}

// The cases of a round are the same graphs with other numbers. Their names can be run alone.
TEST(VerifyCommand, ASoakRunGoesOnUntilItsTimeIsOver) {
  const host::ScratchDir dir;
  const CliRun run =
      cli({"verify", "portable", "--profile", "soak", "--time", "2s", "--case", "op.neg.f32.*", "--case",
           "blob.bits-flipped.00", "--results", dir.path("r.jsonl"), "--sarif", dir.path("r.sarif")});
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
  EXPECT_THAT(run.out, testing::ContainsRegex("soak: round [1-9]"));
  EXPECT_EQ(nlohmann::json::parse(read_all(dir.path("r.sarif")))["version"], "2.1.0");
  const CliRun again = cli({"verify", "portable", "--case", "op.neg.f32.7.stat@17", "--case",
                            "blob.bits-flipped.00@3", "--results", dir.path("a.jsonl")});
  EXPECT_EQ(again.exit, 0) << again.out << again.err;
  EXPECT_THAT(read_all(dir.path("a.jsonl")), HasSubstr("op.neg.f32.7.stat@17"));
  EXPECT_EQ(cli({"verify", "portable", "--time", "2s"}).exit, 2);
  EXPECT_EQ(cli({"verify", "portable", "--profile", "soak", "--time", "soon"}).exit, 2);
}

// The time is over before the first process has begun; the first round still runs.
TEST(VerifyCommand, ASoakRunHasOneWholeRound) {
  const host::ScratchDir dir;
  const CliRun run = cli({"verify", "portable", "--profile", "soak", "--time", "1s", "--case", "op.mm.*",
                          "--case", "op.add_tensor.*", "--case", "life.many-times", "--workers", "1",
                          "--results", dir.path("r.jsonl")});
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
  const std::string results = read_all(dir.path("r.jsonl"));
  const CliRun list = cli(
      {"verify", "--list", "--case", "op.mm.*", "--case", "op.add_tensor.*", "--case", "life.many-times"});
  EXPECT_GE(std::count(results.begin(), results.end(), '\n'),
            1 + std::count(list.out.begin(), list.out.end(), '\n'));
}

// Files that block or never end are rejected at once.
TEST(VerifyCommand, InputsArePlainFiles) {
  const host::ScratchDir dir;
  const std::string pipe = dir.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& file : {std::string("/dev/zero"), pipe, dir.path("")})
    for (const char* option : {"--replay", "--waivers", "--compare", "--merge"}) {
      const CliRun run = cli({"verify", "portable", "--case", "op.neg.f32.7.stat", option, file});
      EXPECT_EQ(run.exit, 4) << option << " " << file << run.out;
      EXPECT_THAT(run.err, HasSubstr("expected a plain file")) << option << " " << file;
    }
}

// A debugger would catch the trap; without one it ends the program.
TEST(VerifyCommand, BreakStopsBeforeTheFirstCase) {
  EXPECT_EXIT(
      {
        const CliRun run =
            cli({"verify", "portable", "--case", "op.neg.f32.7.stat", "--in-process", "--break"});
        ::_exit(run.exit);
      },
      testing::KilledBySignal(SIGTRAP), "");
  EXPECT_EQ(cli({"verify", "portable", "--case", "op.neg.f32.7.stat", "--in-process"}).exit, 0);
  EXPECT_EQ(cli({"verify", "portable", "--case", "op.neg.f32.7.stat", "--break"}).exit, 2);
}

TEST(VerifyCommand, BadInputIsAClearError) {
  const host::ScratchDir dir;
  dir.write("no_plugin.so", "text");
  const CliRun no_plugin = cli({"verify", dir.path("no_plugin.so")});
  EXPECT_EQ(no_plugin.exit, 4);
  EXPECT_THAT(no_plugin.err,
              HasSubstr("no_plugin.so': found a text file, expected the manifest or library of a plugin"));
  dir.write("bad.json", R"({"suite": "etbackend-conformance", "name": "op.neg.f32.7.stat", "sequence": 7})");
  for (const char* file : {"no_plugin.so", "bad.json"}) {
    const CliRun replay = cli({"verify", "portable", "--replay", dir.path(file)});
    EXPECT_EQ(replay.exit, 4);
    EXPECT_THAT(replay.err, HasSubstr(dir.path(file)));
  }
  EXPECT_EQ(cli({"verify", "portable", "--replay", dir.path("missing.json")}).exit, 3);
  EXPECT_EQ(cli({"verify", dir.path("missing.so")}).exit, 3);
  EXPECT_EQ(cli({"verify", "nobody.has.this"}).exit, 3);
  EXPECT_EQ(cli({"verify", "portable", "--case", "no.such.case"}).exit, 3);
  EXPECT_THAT(cli({"verify", "portable", "--profile", "great"}).err,
              HasSubstr("expected smoke, ci, cert or soak"));
  EXPECT_THAT(cli({"verify", "portable", "--shard", "3/2"}).err, HasSubstr("shard '3/2'"));
  const CliRun unwritable =
      cli({"verify", "portable", "--profile", "smoke", "--html", dir.path("no/such/folder.html")});
  EXPECT_NE(unwritable.exit, 0);
  EXPECT_THAT(unwritable.err, HasSubstr("cannot write"));
  EXPECT_THAT(unwritable.out, Not(HasSubstr("PASS")));
  const CliRun unmakeable =
      cli({"verify", "portable", "--profile", "smoke", "--save", dir.path("no_plugin.so/folder")});
  EXPECT_NE(unmakeable.exit, 0);
  EXPECT_THAT(unmakeable.err, HasSubstr("cannot make the folder"));
  EXPECT_THAT(unmakeable.out, Not(HasSubstr("PASS")));
  dir.write("bad.jsonl", "{}\n");
  EXPECT_EQ(cli({"verify", "--merge", dir.path("bad.jsonl")}).exit, 4);
  dir.write(
      "waivers.json",
      R"([{"pattern":"op.*","plugin":"x","reason":"hardware","tracker":"t","owner":"o","expires":"2001-01-01"}])");
  EXPECT_THAT(cli({"verify", "portable", "--profile", "smoke", "--waivers", dir.path("waivers.json")}).err,
              HasSubstr("expired on 2001-01-01"));
}

}  // namespace
}  // namespace etb::tools
