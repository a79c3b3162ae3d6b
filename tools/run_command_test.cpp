// SPDX-License-Identifier: Apache-2.0
// Tests `etbackend run` and `info FILE.pte` as users and scripts call them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "api/format/input_file.hpp"
#include "api/format/output_file.hpp"
#include "api/testing/program_builder.hpp"
#include "host/testing/scratch_dir.hpp"
#include "tools/run/npy.hpp"
#include "tools/run/serve.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

std::string fixture(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/" + name;
}

std::string scratch_dir(const std::string& name) {
  static const host::ScratchDir root;
  std::filesystem::create_directories(root.path(name));
  return root.path(name);
}

TEST(RunCommand, WritesWhatPyTorchGave) {
  const std::string out = scratch_dir("npy");
  const auto run = cli({"run", fixture("add.pte"), "--input", fixture("add.forward.0.in.0.npy"), "--input",
                        fixture("add.forward.0.in.1.npy"), "--output-dir", out});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("output 0: float32 [2, 3]: "));
  const auto found = read_npy(out + "/0.npy");
  const auto expected = read_npy(fixture("add.forward.0.out.0.npy"));
  ASSERT_TRUE(found && expected);
  EXPECT_EQ(found->bytes, expected->bytes);
  EXPECT_EQ(found->sizes, expected->sizes);
}

// Runs the exported graph node by node: PyTorch's results without a compiled program and without a plugin.
TEST(RunCommand, RunsAnArchiveOnPortableKernels) {
  const std::string zoo = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/zoo/", out = scratch_dir("archive");
  const auto run = cli({"run", zoo + "activations.pt2", "--input", zoo + "activations.in.0.npy",
                        "--output-dir", out, "--json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(Json::parse(run.out)["backends"], Json::array());
  const auto found = read_npy(out + "/0.npy"), expected = read_npy(zoo + "activations.out.0.npy");
  ASSERT_TRUE(found && expected);
  ASSERT_EQ(found->bytes.size(), expected->bytes.size());
  EXPECT_EQ(found->sizes, expected->sizes);
  for (size_t at = 0; at < found->bytes.size(); at += sizeof(float)) {
    float ours, theirs;
    std::memcpy(&ours, found->bytes.data() + at, sizeof(ours));
    std::memcpy(&theirs, expected->bytes.data() + at, sizeof(theirs));
    EXPECT_NEAR(ours, theirs, 1e-5 * std::max(1.0f, std::abs(theirs)));
  }

  const auto refused = cli({"run", std::string(ETB_SOURCE_DIR) + "/tests/fixtures/zoo/activations.in.0.npy"});
  EXPECT_EQ(refused.exit, static_cast<int>(ExitCode::INVALID_INPUT)) << refused.err;
}

TEST(RunCommand, ReportsTimesAsJson) {
  const auto run =
      cli({"run", fixture("conv.pte"), "--random", "7", "--warmup", "2", "--repeat", "5", "--json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const Json report = Json::parse(run.out);
  for (const char* key : {"load_us", "init_us", "first_us", "min_us", "p50_us", "p90_us", "peak_rss_kb"}) {
    EXPECT_GT(report[key].get<double>(), 0) << key;
  }
  EXPECT_LE(report["min_us"], report["p50_us"]);
  EXPECT_LE(report["p50_us"], report["p90_us"]);
  EXPECT_EQ(report["runs"], 5);
  EXPECT_EQ(report["outputs"][0]["shape"], (std::vector<int>{1, 5}));
}

TEST(RunCommand, RunsMethodsWithoutInputs) {
  const auto run = cli({"run", fixture("methods.pte"), "--method", "get_vocab"});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("output 0: 32000\n"));
}

TEST(RunCommand, TakesExternalWeights) {
  const auto without = cli({"run", fixture("external.pte"), "--ones"});
  EXPECT_EQ(without.exit, 3);
  EXPECT_THAT(without.err, HasSubstr("not among the program's 0 entries nor in 0 data files"));
  const auto with = cli({"run", fixture("external.pte"), "--data", fixture("external.ptd"), "--ones"});
  EXPECT_EQ(with.exit, 0) << with.err;
}

TEST(RunCommand, SaysWhatIsWrong) {
  const auto few = cli({"run", fixture("add.pte"), "--input", "1"});
  EXPECT_NE(few.exit, 0);
  EXPECT_THAT(
      few.err,
      HasSubstr(
          "1 --input given, method 'forward' expects 2\n  hint: --random SEED or --ones fills every input"));
  const auto sizes = cli({"run", fixture("add.pte"), "--input", fixture("linear.forward.0.out.0.npy"),
                          "--input", fixture("add.forward.0.in.1.npy")});
  EXPECT_THAT(sizes.err, HasSubstr("input 0: sizes: found float32 [2, 4], expected float32 [2, 3]"));
  EXPECT_EQ(cli({"run", "/nonexistent.pte", "--ones"}).exit, 3);
  EXPECT_EQ(cli({"run", fixture("external.ptd"), "--ones"}).exit, 4);
}

std::string raw_file(const std::string& path, const std::vector<float>& values) {
  EXPECT_TRUE(format::write_file(path, std::as_bytes(std::span(values))));
  return path;
}

std::vector<float> floats_of(const std::string& path) {
  const auto bytes = format::read_file_text(path, 1 << 20);
  EXPECT_TRUE(bytes) << path;
  std::vector<float> values(bytes->size() / sizeof(float));
  std::memcpy(values.data(), bytes->data(), values.size() * sizeof(float));
  return values;
}

// A file of a kilobyte that requests a terabyte.
TEST(RunCommand, RefusesAProgramThatAsksForTooMuch) {
  format::ProgramSpec spec = format::add_program(4);
  spec.methods[0].arena_sizes[1] = int64_t{1} << 40;
  const auto bytes = format::build_program(spec);
  const std::string path = scratch_dir("limits") + "/huge.pte";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  EXPECT_LT(bytes.size(), 1024U);
  auto run = cli({"run", path});
  EXPECT_NE(run.exit, 0);
  EXPECT_THAT(run.err, HasSubstr("a memory plan of 1099511627840 bytes"));
  EXPECT_THAT(run.err, HasSubstr("more than the limit max_memory_bytes of "));
  EXPECT_THAT(run.err, HasSubstr("hint: raise it (--max-memory"));
  run = cli({"run", fixture("add.pte"), "--max-memory", "100B"});
  EXPECT_NE(run.exit, 0);
  EXPECT_THAT(run.err, HasSubstr("the limit max_memory_bytes of 100\n"));
  EXPECT_EQ(cli({"run", fixture("add.pte"), "--max-memory", "1MiB"}).exit, 0);
  EXPECT_NE(cli({"run", fixture("add.pte"), "--max-memory", "much"}).exit, 0);
}

// Two instructions that jump forever.
TEST(RunCommand, EndsAProgramThatLoopsForEver) {
  format::MethodSpec method;
  method.values = {false, int64_t{1}, int64_t{2}};
  method.instructions = {{3, 1, 2, {}}, {4, 0, 0, {}}};
  format::ProgramSpec spec;
  spec.methods = {method};
  const auto bytes = format::build_program(spec);
  const std::string path = scratch_dir("limits") + "/endless.pte";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const auto ended = cli({"run", path, "--max-instructions", "100000"});
  EXPECT_EQ(ended.exit, 6) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("more than the limit max_run_instructions of 100000"));
  const auto late = cli({"run", path, "--timeout-ms", "20"});
  EXPECT_EQ(late.exit, 6) << late.err;
  EXPECT_THAT(late.err, HasSubstr("deadline passed"));
}

TEST(RunCommand, UnderstandsTheOfficialRunnersFlags) {
  const std::string dir = scratch_dir("official");
  const std::string x = raw_file(dir + "/x.bin", {1, 2, 3, 4, 5, 6});
  const std::string y = raw_file(dir + "/y.bin", {10, 20, 30, 40, 50, 60});
  const auto run = cli({"run", "--model_path=" + fixture("add.pte"), "--inputs=" + x + "," + y,
                        "--output_file=" + dir + "/out", "--num_executions=3", "--method_name=forward",
                        "--cpu_threads=-1", "--print_output=all"});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("output 0: float32 [2, 3]: 11, 22, 33, 44, 55, 66\n"));
  EXPECT_THAT(run.out, HasSubstr("3 runs"));
  EXPECT_EQ(floats_of(dir + "/out-0.bin"), (std::vector<float>{11, 22, 33, 44, 55, 66}));
  const auto quiet = cli({"run", fixture("add.pte"), "--print_output", "none"});
  EXPECT_EQ(quiet.exit, 0) << quiet.err;
  EXPECT_THAT(quiet.out, testing::Not(HasSubstr("output 0")));
}

TEST(RunCommand, FillsWithOnesWhenNothingIsSaid) {
  const auto run = cli({"run", fixture("add.pte")});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("output 0: float32 [2, 3]: 2, 2, 2, 2, 2, 2\n"));
}

TEST(RunCommand, TakesSizesBelowTheBound) {
  const auto with_shapes = [](const std::string& shapes) {
    return cli({"run", fixture("dynamic.pte"), "--ones", "--input-shapes", shapes});
  };
  const auto run = with_shapes("2x3,2x3");
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("output 0: float32 [2, 3]"));
  const auto largest = with_shapes(",");
  EXPECT_THAT(largest.out, HasSubstr("output 0: float32 [6, 3]"));
  const auto beyond = with_shapes("7x3,");
  EXPECT_EQ(beyond.exit, 2);
  EXPECT_THAT(beyond.err, HasSubstr("input 0: found float32 [7, 3], expected float32 [6, 3] at most"));
  EXPECT_THAT(with_shapes("2x3").err, HasSubstr("1 shapes given, the method has 2 inputs"));
  for (const char* bad : {"2", "2x", "x3", "2x-3", "axb", "2x3x"}) {
    const auto refused = with_shapes(std::string(bad) + ",");
    EXPECT_EQ(refused.exit, 2) << bad;
    EXPECT_THAT(refused.err, HasSubstr("shape '")) << bad;
  }
}

TEST(InfoCommand, ShowsAProgram) {
  const std::string page = scratch_dir("html") + "/conv.html";
  const auto run = cli({"info", fixture("conv.pte"), "--html", page});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("1 x aten::convolution.out"));
  EXPECT_GT(std::filesystem::file_size(page), 1000U);
  const auto json = cli({"info", fixture("conv.pte"), "--json"});
  EXPECT_EQ(Json::parse(json.out)["methods"][0]["name"], "forward");
}

// ---- --serve

std::vector<Json> converse(const std::string& program, const std::string& requests) {
  auto module = host::Module::open(fixture(program));
  EXPECT_TRUE(module);
  std::istringstream in(requests);
  std::ostringstream out;
  EXPECT_TRUE(serve(*module, "forward", {}, in, out));
  std::vector<Json> answers;
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) answers.push_back(Json::parse(line));
  return answers;
}

TEST(Serve, KeepsStateBetweenLines) {
  const std::string dir = scratch_dir("serve");
  const std::vector<float> one = {1, 1, 1};
  ASSERT_TRUE(format::write_file(dir + "/x.bin", std::as_bytes(std::span(one))));
  const std::string request =
      Json{{"inputs", {{{"file", dir + "/x.bin"}}}}, {"output_dir", dir}}.dump() + "\n";
  const auto answers = converse("counter.pte", request + request);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0]["outputs"][0]["dtype"], "float32");
  EXPECT_EQ(answers[0]["outputs"][0]["shape"], std::vector<int>{3});
  EXPECT_GE(answers[0]["us"].get<double>(), 0);
  const auto bytes = format::read_file_text(answers[1]["outputs"][0]["file"].get<std::string>(), 1 << 20);
  ASSERT_TRUE(bytes);
  std::vector<float> values(3);
  std::memcpy(values.data(), bytes->data(), bytes->size());
  EXPECT_EQ(values, (std::vector<float>{6, 8, 10}));
}

TEST(Serve, TakesPartsOfFilesInAnyDimOrder) {
  const std::string dir = scratch_dir("parts");
  // The bytes of a [2, 3] matrix column by column, after 4 others.
  const std::vector<float> columns = {99, 1, 4, 2, 5, 3, 6};
  ASSERT_TRUE(format::write_file(dir + "/m.bin", std::as_bytes(std::span(columns))));
  const Json input = {{"file", dir + "/m.bin"},
                      {"offset", 4},
                      {"dtype", "float32"},
                      {"shape", {2, 3}},
                      {"dim_order", {1, 0}}};
  const auto answers =
      converse("add.pte", Json{{"inputs", {input, input}}, {"output_dir", dir}}.dump() + "\n");
  ASSERT_EQ(answers.size(), 1U);
  ASSERT_TRUE(answers[0].contains("outputs")) << answers[0];
  EXPECT_THAT(answers[0]["notes"][0].get<std::string>(), HasSubstr("converted to the method's dim order"));
  const auto bytes = format::read_file_text(dir + "/0.bin", 1 << 20);
  std::vector<float> values(6);
  std::memcpy(values.data(), bytes->data(), bytes->size());
  EXPECT_EQ(values, (std::vector<float>{2, 4, 6, 8, 10, 12}));
}

TEST(Serve, AnswersBadRequestsAndGoesOn) {
  const auto answers = converse("add.pte",
                                "no json\n[]\n{\"inputs\": 3}\n{\"inputs\": [1]}\n{\"inputs\": [{}, {}]}\n"
                                "{\"inputs\": [{\"file\": \"/nonexistent\", \"offset\": -1}, 2]}\n"
                                "{\"inputs\": [{\"file\": \"/nonexistent\"}, 2]}\n{\"inputs\": [[], 2]}\n");
  ASSERT_EQ(answers.size(), 8U);
  for (const Json& answer : answers) {
    ASSERT_TRUE(answer.contains("error")) << answer;
    EXPECT_NE(answer["error"]["code"], "");
    EXPECT_NE(answer["error"]["message"], "");
  }
  EXPECT_THAT(answers[3]["error"]["message"].get<std::string>(),
              HasSubstr("1 inputs given, the method expects 2"));
}

TEST(Npy, ReadsFortranOrderAndRefusesDamage) {
  const std::string dir = scratch_dir("npy_bad");
  const std::string header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }";
  std::string file = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header;
  const std::vector<float> columns = {1, 4, 2, 5, 3, 6};
  file.append(reinterpret_cast<const char*>(columns.data()), columns.size() * sizeof(float));
  const auto check = [&](const std::string& bytes) {
    EXPECT_TRUE(format::write_file(dir + "/a.npy", std::as_bytes(std::span(bytes))));
    return read_npy(dir + "/a.npy");
  };
  const auto array = check(file);
  ASSERT_TRUE(array) << array.error().message;
  const Array rows = reorder(*array, {});
  EXPECT_EQ(rows.bytes.size(), 24U);
  float second;
  std::memcpy(&second, rows.bytes.data() + 4, sizeof(second));
  EXPECT_EQ(second, 2);
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_FALSE(check(file.substr(0, length))) << length;
  std::string big = file;
  big.replace(big.find(">f4") == std::string::npos ? big.find("<f4") : 0, 3, ">f4");
  EXPECT_THAT(check(big).error().message, HasSubstr("little-endian"));
}

}  // namespace
}  // namespace etb::tools
