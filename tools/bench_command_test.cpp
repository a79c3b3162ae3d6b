// SPDX-License-Identifier: Apache-2.0
// Tests `etbackend bench` with real programs: its choices, its reports and their invariants, never absolute
// times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "host/testing/plugin_fixture.hpp"
#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

std::string fixture(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/" + name;
}
std::string archive(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/zoo/" + name;
}
std::string xnnpack_program(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/xnnpack/" + name;
}
bool has_xnnpack() { return std::filesystem::exists(std::string(ETB_PLUGIN_DIR) + "/xnnpack.json"); }

// A benchmark of some milliseconds.
CliRun bench(std::vector<std::string> args) {
  const std::vector<std::string> start = {"--plugin-path", ETB_PLUGIN_DIR, "bench", "--warmup", "1"};
  args.insert(args.begin(), start.begin(), start.end());
  return cli(args);
}
CliRun short_bench(std::vector<std::string> args) {
  for (const char* word : {"--samples", "6", "--repeat", "3"}) args.emplace_back(word);
  return bench(std::move(args));
}

// Parses CSV with the rules of RFC 4180, into one map for each row.
std::vector<std::map<std::string, std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows{{""}};
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      rows.back().back() += text[++i];
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && c == ',') {
      rows.back().emplace_back();
    } else if (!is_quoted && c == '\n') {
      rows.push_back({""});
    } else {
      rows.back().back() += c;
    }
  }
  rows.pop_back();
  std::vector<std::map<std::string, std::string>> out;
  for (size_t row = 1; row < rows.size(); ++row) {
    EXPECT_EQ(rows[row].size(), rows[0].size());
    for (size_t i = 0; i < rows[0].size(); ++i) {
      if (i == 0) out.emplace_back();
      out.back()[rows[0][i]] = rows[row][i];
    }
  }
  return out;
}

void expect_ordered(const Json& variant) {
  const Json& percentiles = variant["percentiles_us"];
  EXPECT_GT(variant["min_us"], 0);
  EXPECT_LE(variant["min_us"], variant["median_us"]);
  EXPECT_EQ(variant["median_us"], percentiles["p50"]);
  EXPECT_LE(percentiles["p50"], percentiles["p90"]);
  EXPECT_LE(percentiles["p90"], percentiles["p95"]);
  EXPECT_LE(percentiles["p95"], percentiles["p99"]);
  EXPECT_LE(percentiles["p99"], variant["max_us"]);
  EXPECT_LE(variant["min_us"], variant["mean_us"]);
  EXPECT_LE(variant["mean_us"], variant["max_us"]);
  if (variant["parallel"] == 1) {
    EXPECT_NEAR(variant["runs_per_s"].get<double>() * variant["mean_us"].get<double>(), 1e6, 1);
  }
  for (const char* key : {"load_us", "init_us", "first_us", "cpu_us", "peak_memory_bytes", "file_bytes"})
    EXPECT_GT(variant[key], 0) << key;
}

TEST(BenchCommand, MeasuresProgramsSideBySide) {
  const auto run = short_bench({fixture("add.pte"), fixture("conv.pte"), "--json", "--raw"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const Json report = Json::parse(run.out);
  EXPECT_EQ(report["schema"], 1);
  EXPECT_THAT(report["command"].get<std::string>(), HasSubstr("conv.pte"));
  EXPECT_GT(report["machine"]["processors"], 0);
  ASSERT_EQ(report["variants"].size(), 2u);
  EXPECT_EQ(report["variants"][0]["label"], "add.pte");
  EXPECT_EQ(report["variants"][1]["label"], "conv.pte");
  for (const Json& variant : report["variants"]) {
    EXPECT_EQ(variant["status"], "ok");
    EXPECT_EQ(variant["samples"], 6);
    EXPECT_EQ(variant["runs"], 18);
    EXPECT_EQ(variant["sample_us"].size(), 6u);
    EXPECT_EQ(variant["method"], "forward");
    ASSERT_EQ(variant["run_us"].size(), 6u);
    EXPECT_EQ(variant["run_us"][0].size(), 3u);
    expect_ordered(variant);
  }
}

TEST(BenchCommand, ChoosesTheNumberOfRunsForTheMinimumTime) {
  const auto run = bench({fixture("add.pte"), "--samples", "4", "--min-time", "0.02", "--json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const Json variant = Json::parse(run.out)["variants"][0];
  EXPECT_EQ(variant["samples"], 4);
  EXPECT_GT(variant["runs"], 4);
  EXPECT_EQ(variant["runs"].get<int>() % 4, 0);
}

TEST(BenchCommand, StopsAtTheMaximumTime) {
  const auto run =
      bench({fixture("add.pte"), "--samples", "100000", "--repeat", "100", "--max-time", "0.05", "--json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const Json report = Json::parse(run.out);
  EXPECT_LT(report["variants"][0]["samples"], 100000);
  EXPECT_GE(report["variants"][0]["samples"], 1);
  EXPECT_THAT(report["warnings"].dump(), HasSubstr("--max-time"));
}

TEST(BenchCommand, ComparesInPairs) {
  const auto run =
      short_bench({archive("mobilenet_v2.pt2"), "--against", archive("activations.pt2"), "--json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const Json report = Json::parse(run.out);
  ASSERT_EQ(report["variants"].size(), 2u);
  const Json& ratio = report["variants"][0]["against"];
  EXPECT_EQ(ratio["label"], "activations.pt2 portable");
  EXPECT_EQ(ratio["pairs"], 6);
  EXPECT_LE(ratio["low"], ratio["ratio"]);
  EXPECT_LE(ratio["ratio"], ratio["high"]);
  EXPECT_FALSE(report["variants"][1].contains("against"));
}

// A convolutional network takes many times the time of one addition on every machine, however busy.
TEST(BenchCommand, FailsIfAVariantIsSlower) {
  const std::vector<std::string> args = {
      archive("resnet18.pt2"), "--against", fixture("add.pte"), "--samples", "12", "--repeat", "3",
      "--fail-if-slower"};
  std::vector<std::string> strict = args, lenient = args;
  strict.emplace_back("5");
  lenient.emplace_back("1000000");
  const auto run = bench(strict);
  EXPECT_EQ(run.exit, 1);
  EXPECT_THAT(run.out, HasSubstr("slower"));
  EXPECT_THAT(run.err, HasSubstr("'resnet18.pt2 portable' is slower by at least"));
  EXPECT_EQ(bench(lenient).exit, 0);
}

TEST(BenchCommand, SweepsThreadsShapesAndLoadModes) {
  const auto run =
      short_bench({fixture("add.pte"), "--threads", "1,2", "--load-mode", "mmap,file", "--list"});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(
      run.out,
      "add.pte threads=1 mmap\nadd.pte threads=2 mmap\nadd.pte threads=1 file\nadd.pte threads=2 file\n");
  const auto shapes = short_bench(
      {archive("dynamic_batch.pt2"), "--input-shapes", "2x3x16x16", "--input-shapes", "1x3x16x16", "--list"});
  EXPECT_EQ(shapes.out, "dynamic_batch.pt2 portable 2x3x16x16\ndynamic_batch.pt2 portable 1x3x16x16\n");
  const auto measured =
      short_bench({fixture("add.pte"), "--threads", "1", "--against", "threads=2", "--json"});
  ASSERT_EQ(measured.exit, 0) << measured.err;
  const Json report = Json::parse(measured.out);
  EXPECT_EQ(report["variants"][0]["threads"], 1);
  EXPECT_EQ(report["variants"][1]["threads"], 2);
  EXPECT_EQ(report["variants"][0]["against"]["label"], "add.pte threads=2");
}

TEST(BenchCommand, RunsSimultaneously) {
  const auto run =
      short_bench({archive("mobilenet_v2.pt2"), "--parallel", "3", "--against", "parallel=1", "--json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const Json report = Json::parse(run.out);
  const Json &three = report["variants"][0], &one = report["variants"][1];
  EXPECT_EQ(three["label"], "mobilenet_v2.pt2 portable parallel=3");
  EXPECT_EQ(three["runs"], 54);
  EXPECT_EQ(one["runs"], 18);
  expect_ordered(three);
  expect_ordered(one);
  EXPECT_EQ(three["against"]["pairs"], 6);
}

TEST(BenchCommand, StartsAProcessForEachSample) {
  const auto run = bench({fixture("conv.pte"), "--samples", "4", "--repeat", "2", "--json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const Json variant = Json::parse(run.out)["variants"][0];
  ASSERT_EQ(variant["starts"].size(), 4u);
  std::vector<double> loads;
  for (const Json& start : variant["starts"]) loads.push_back(start["load_us"]);
  std::sort(loads.begin(), loads.end());
  EXPECT_DOUBLE_EQ(variant["load_us"], (loads[1] + loads[2]) / 2);
  const auto kept = bench({fixture("conv.pte"), fixture("add.pte"), "--samples", "4", "--repeat", "2",
                           "--json", "--keep-loaded"});
  ASSERT_EQ(kept.exit, 0) << kept.err;
  for (const Json& each : Json::parse(kept.out)["variants"]) {
    EXPECT_EQ(each["starts"].size(), 1u);
    EXPECT_EQ(each["samples"], 4);
    EXPECT_EQ(each["runs"], 8);
  }
}

TEST(BenchCommand, AlternatesTheOrderOfVariants) {
  const auto run = short_bench({fixture("add.pte"), fixture("conv.pte"), "--json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const Json report = Json::parse(run.out);
  const Json &add = report["variants"][0]["sample_begin_s"], &conv = report["variants"][1]["sample_begin_s"];
  ASSERT_EQ(add.size(), 6u);
  ASSERT_EQ(conv.size(), 6u);
  for (size_t i = 0; i < add.size(); ++i) EXPECT_EQ(add[i] < conv[i], i % 2 == 0) << i;
  for (size_t i = 1; i < add.size(); ++i)
    EXPECT_LT(std::max(add[i - 1], conv[i - 1]), std::min(add[i], conv[i]));
}

TEST(BenchCommand, ProfilesOperators) {
  const auto run = short_bench({archive("mobilenet_v2.pt2"), "--profile", "--json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const Json profile = Json::parse(run.out)["variants"][0]["profile"];
  ASSERT_GT(profile.size(), 3u);
  double share = 0;
  for (const Json& row : profile) share += row["kind"] == "event" ? 0 : row["share"].get<double>();
  EXPECT_NEAR(share, 1, 1e-6);
  EXPECT_EQ(profile[0]["kind"], "operator");
  EXPECT_GE(profile[0]["us"], profile[1]["us"]);
  EXPECT_EQ(profile.back()["kind"], "runtime");
  const auto conv = std::find_if(profile.begin(), profile.end(),
                                 [](const Json& row) { return row["name"] == "aten::convolution.out"; });
  ASSERT_NE(conv, profile.end());
  EXPECT_GT((*conv)["calls"], 1);
  // Text shows two of them and a sum of the others.
  const auto text = short_bench({archive("mobilenet_v2.pt2"), "--profile", "--profile-rows", "2"});
  EXPECT_THAT(text.out, HasSubstr("(others)"));
  EXPECT_THAT(text.out, HasSubstr("(runtime)"));
}

TEST(BenchCommand, CompilesArchivesForEachBackend) {
  if (!has_xnnpack()) GTEST_SKIP() << "built without the xnnpack plugin";
  const auto run = short_bench({archive("mobilenet_v2.pt2"), "-b", "xnnpack,portable", "--against",
                                "portable", "--json", "--profile"});
  ASSERT_EQ(run.exit, 0) << run.out << run.err;
  const Json report = Json::parse(run.out);
  ASSERT_EQ(report["variants"].size(), 2u);
  const Json &xnnpack = report["variants"][0], &portable = report["variants"][1];
  EXPECT_EQ(xnnpack["backend"], "xnnpack");
  EXPECT_EQ(xnnpack["delegates"][0]["plugin"], "org.etbackend.xnnpack");
  EXPECT_EQ(xnnpack["profile"][0]["kind"], "delegate");
  EXPECT_GT(xnnpack["compile_us"], 0);
  EXPECT_EQ(portable["delegates"], Json::array());
  EXPECT_EQ(xnnpack["against"]["label"], "mobilenet_v2.pt2 portable");
}

TEST(BenchCommand, PinsThePluginOfAProgram) {
  if (!has_xnnpack()) GTEST_SKIP() << "built without the xnnpack plugin";
  const auto run = short_bench(
      {xnnpack_program("conv2d.pte"), "-b", "XnnpackBackend=org.etbackend.xnnpack,my_npu", "--json"});
  EXPECT_EQ(run.exit, 1) << run.err;  // one variant fails, the other one is measured
  const Json report = Json::parse(run.out);
  EXPECT_EQ(report["variants"][0]["status"], "ok");
  expect_ordered(report["variants"][0]);
  EXPECT_EQ(report["variants"][1]["status"], "error");
  EXPECT_THAT(report["variants"][1]["error"]["message"].get<std::string>(),
              HasSubstr("plugin 'my_npu' is no candidate for the delegate 'XnnpackBackend'"));
}

TEST(BenchCommand, WritesEveryFormat) {
  const host::ScratchDir dir;
  std::vector<std::string> args = {
      fixture("add.pte"), fixture("conv.pte"), "--against",     fixture("conv.pte"),
      "--context",        "commit=a,\"b\"",    "--percentiles", "50,99.9"};
  for (const char* name : {"r.json", "r.jsonl", "r.csv", "r.md", "r.txt"})
    args.insert(args.end(), {"-o", dir.path(name)});
  const auto run = short_bench(args);
  ASSERT_EQ(run.exit, 0) << run.err;
  const auto text_of = [&](const char* name) {
    std::ifstream in(dir.path(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_EQ(text_of("r.txt"), run.out);
  const Json report = Json::parse(text_of("r.json"));
  EXPECT_EQ(report["context"]["commit"], "a,\"b\"");
  EXPECT_TRUE(report["variants"][0]["percentiles_us"].contains("p99.9"));
  std::istringstream lines(text_of("r.jsonl"));
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const Json row = Json::parse(line);
    EXPECT_EQ(row["label"], report["variants"][count]["label"]);
    EXPECT_EQ(row["mean_us"], report["variants"][count]["mean_us"]);
  }
  EXPECT_EQ(count, 2u);
  const auto rows = read_csv(text_of("r.csv"));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("label"), "add.pte");
  EXPECT_EQ(std::stod(rows[0].at("median_us")), report["variants"][0]["median_us"].get<double>());
  EXPECT_EQ(rows[0].at("verdict"), report["variants"][0]["against"]["verdict"].get<std::string>());
  EXPECT_EQ(rows[1].at("ratio"), "");
  const std::string markdown = text_of("r.md");
  EXPECT_THAT(markdown, HasSubstr("| VARIANT | RUNS | MEDIAN |"));
  EXPECT_THAT(markdown, HasSubstr("|---|---:|"));
  EXPECT_THAT(markdown, HasSubstr("P99.9"));
}

TEST(BenchCommand, GoesOnIfAVariantFails) {
  const auto run = short_bench({fixture("add.pte"), fixture("external.pte"), "--format", "csv"});
  EXPECT_EQ(run.exit, 1);
  EXPECT_THAT(run.err, HasSubstr("etbackend bench: 'external.pte': "));
  const auto rows = read_csv(run.out);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("status"), "ok");
  EXPECT_EQ(rows[0].at("runs"), "18");
  EXPECT_EQ(rows[1].at("status"), "error");
  EXPECT_THAT(rows[1].at("error"), HasSubstr("not among the program's 0 entries"));
  EXPECT_EQ(rows[1].at("mean_us"), "");
  const auto unknown = short_bench({archive("activations.pt2"), "-b", "portable,nothing"});
  EXPECT_EQ(unknown.exit, 1);
  EXPECT_THAT(unknown.out, HasSubstr("error: 'activations.pt2 nothing': compile: "));
}

// Each variant runs in a process of its own: a crash is an error of that variant.
TEST(BenchCommand, SurvivesACrash) {
  host::PluginFixture plugins;
  plugins.add("a", std::string(ETB_BROKEN_DIR) + "/crashes_in_query.so",
              {{"provides", Json::array({{{"id", "XnnpackBackend"}, {"payload_versions", {0, 1}}}})}});
  const auto run =
      short_bench({"--plugin-path", plugins.path("a"), xnnpack_program("conv2d.pte"), fixture("add.pte"),
                   "--backend-pin", "XnnpackBackend=com.example.broken", "--json"});
  EXPECT_EQ(run.exit, 1) << run.err;
  const Json report = Json::parse(run.out);
  EXPECT_THAT(report["variants"][0]["error"]["message"].get<std::string>(),
              HasSubstr("its process "));  // ended by a signal, or by a sanitizer with an exit code
  EXPECT_EQ(report["variants"][1]["status"], "ok");
  EXPECT_EQ(report["variants"][1]["runs"], 18);
}

TEST(BenchCommand, RejectsInvalidArguments) {
  const auto expect_usage = [](const std::vector<std::string>& args, const char* message) {
    const auto run = bench(args);
    EXPECT_EQ(run.exit, 2) << message;
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_EQ(run.out, "");
  };
  const std::string add = fixture("add.pte");
  expect_usage({add, "--samples", "0"}, "--samples");
  expect_usage({add, "--repeat", "0"}, "--repeat");
  expect_usage({add, "--threads", "-1"}, "--threads");
  expect_usage({add, "--percentiles", "101"}, "--percentiles");
  expect_usage({add, "--cpus", "3-1"}, "expected a list such as 0,2-3");
  expect_usage({add, "--format", "xml"}, "--format");
  expect_usage({add, "--context", "commit"}, "expected KEY=VALUE");
  expect_usage({add, "--fail-if-slower", "5"}, "--against");
  expect_usage({add, add}, "variant 'add.pte' is listed twice");
  expect_usage({add, "--threads", "1,1"}, "is listed twice");
  expect_usage({add, "-b", "xnnpack"}, "needs an archive (.pt2)");
  expect_usage({archive("activations.pt2"), "-b", "XnnpackBackend=xnnpack"},
               "needs a compiled program (.pte)");
  expect_usage({add, "-b", "A=,b"}, "--backend 'A=,b', expected");
  expect_usage({add, "--against", "threads=x"}, "expected threads=N");
  expect_usage({add, "--against", "parallel=0"}, "expected parallel=N");
  expect_usage({add, "--against", "load-mode=x"}, "expected load-mode=mmap, file or mlock");
  expect_usage({add, "--parallel", "0"}, "--parallel");
  expect_usage({add, "--against", add}, "no other variant can be compared with it");
  expect_usage({}, "FILE");
  EXPECT_EQ(bench({"/nonexistent.pte"}).exit, 3);
  EXPECT_EQ(bench({add, "--against", "/nonexistent.pte"}).exit, 3);
  EXPECT_EQ(bench({add, "-o", "/nonexistent/r.json"}).exit, 3);
  EXPECT_EQ(bench({ETB_SOURCE_DIR}).exit, 4);
}

// A single program that fails has the exit code and the message of other commands.
TEST(BenchCommand, ReportsTheFailureOfTheOnlyProgram) {
  const auto run = short_bench({fixture("add.pte"), "--input", "1", "--json"});
  EXPECT_EQ(run.exit, 2);
  EXPECT_THAT(run.err,
              HasSubstr("etbackend bench: 'add.pte': 1 --input given, method 'forward' expects 2\n  hint: "));
  const Json report = Json::parse(run.out);
  EXPECT_THAT(report["variants"][0]["error"]["message"].get<std::string>(), HasSubstr("expects 2"));
  const auto method = short_bench({fixture("add.pte"), "--method", "nothing"});
  EXPECT_EQ(method.exit, 3);
  EXPECT_THAT(method.err, HasSubstr("nothing"));
  EXPECT_EQ(method.out, "");
  EXPECT_EQ(short_bench({fixture("external.ptd")}).exit, 4);
  const auto processor = short_bench({fixture("add.pte"), "--cpus", "1000"});
  EXPECT_THAT(processor.err, HasSubstr("cannot run on processors 1000"));
}

}  // namespace
}  // namespace etb::tools
