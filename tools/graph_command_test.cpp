// SPDX-License-Identifier: Apache-2.0
// Tests `etbackend graph`: images to text and back, stages of the compiler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

const std::string kText = ETB_SOURCE_DIR "/tests/golden/graph/quantized.txt";

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class GraphCommand : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(dir_); }
  void TearDown() override { fs::remove_all(dir_); }
  fs::path dir_ = fs::temp_directory_path() / ("etb_graph_" + std::to_string(::getpid()));
};

TEST_F(GraphCommand, ShowsAnArchiveAtEveryStage) {
  const std::string archive = ETB_SOURCE_DIR "/tests/fixtures/archives/mlp.pt2";
  EXPECT_THAT(cli({"graph", archive}).out, HasSubstr("aten.linear.default("));
  EXPECT_THAT(cli({"graph", archive, "--after", "decompose"}).out, HasSubstr("aten.addmm.default("));
  EXPECT_THAT(cli({"graph", archive, "--after", "lower_sorts"}).out, HasSubstr("module \"forward\""));
  const CliRun nowhere = cli({"graph", archive, "--after", "nowhere"});
  EXPECT_NE(nowhere.exit, 0);
  EXPECT_THAT(nowhere.err, HasSubstr("unknown pass 'nowhere', expected one of import, functionalize,"));
  const std::string image = dir_ / "m.etg";
  ASSERT_EQ(cli({"graph", archive, "--after", "image", "-o", image}).exit, 0);
  EXPECT_EQ(read(image).substr(4, 4), "ETG1");
  EXPECT_EQ(cli({"graph", image}).out, cli({"graph", archive, "--after", "image"}).out);
}

TEST_F(GraphCommand, TurnsTextIntoAnImageAndBack) {
  const std::string image = dir_ / "a.etg";
  const std::string again = dir_ / "a.txt";
  ASSERT_EQ(cli({"graph", kText, "-o", image}).exit, 0);
  EXPECT_EQ(read(image).substr(4, 4), "ETG1");
  const CliRun print = cli({"graph", image});
  EXPECT_EQ(print.exit, 0);
  EXPECT_THAT(read(kText), HasSubstr(print.out));  // the committed file has a comment before it
  ASSERT_EQ(cli({"graph", image, "-o", again}).exit, 0);
  EXPECT_EQ(read(again), print.out);
}

TEST_F(GraphCommand, SaysWhatIsWrongAndWhere) {
  const CliRun missing = cli({"graph", dir_ / "none.etg"});
  EXPECT_EQ(missing.exit, static_cast<int>(ExitCode::NOT_FOUND));
  const std::string image = dir_ / "a.etg";
  ASSERT_EQ(cli({"graph", kText, "-o", image}).exit, 0);
  fs::resize_file(image, fs::file_size(image) / 2);
  const CliRun cut = cli({"graph", image});
  EXPECT_EQ(cut.exit, static_cast<int>(ExitCode::INVALID_INPUT));
  EXPECT_THAT(cut.err, HasSubstr("a.etg: graph image: broken in its"));
  const CliRun text = cli({"graph", ETB_SOURCE_DIR "/tests/golden/graph/bad-undefined.txt"});
  EXPECT_THAT(text.err, HasSubstr("line 5 column 40: value 'z' is not defined above"));
}

TEST_F(GraphCommand, ChecksDigestsOnRequest) {
  const std::string text = dir_ / "a.txt";
  const auto write = [&](char digit) {
    std::ofstream(text) << "etg 1\nname \"f\"\nconstant \"w\": uint8[1] sha256 0x" << std::string(64, digit)
                        << " = 0x01\ngraph @f {\n  return\n}\n";
  };
  write('1');
  EXPECT_EQ(cli({"graph", text}).exit, 0);
  EXPECT_THAT(cli({"graph", "--digests", text}).err, HasSubstr("data does not have the digest"));
  write('0');  // all zero: no digest stored
  EXPECT_EQ(cli({"graph", "--digests", text}).exit, 0);
  EXPECT_THAT(cli({"graph", "--max-data", "0", text}).out, HasSubstr("# 1 bytes inside, left out"));
}

}  // namespace
}  // namespace etb::tools
