// SPDX-License-Identifier: Apache-2.0
// Tests `etbackend graph`: images to text and back, stages of the compiler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

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
  EXPECT_THAT(cli({"graph", archive, "--after", "lower_sorts"}).out, HasSubstr("etg 1\nmodule \"forward\""));
  const CliRun nowhere = cli({"graph", archive, "--after", "nowhere"});
  EXPECT_NE(nowhere.exit, 0);
  EXPECT_THAT(nowhere.err, HasSubstr("found 'nowhere', expected one of import, batch_vmaps,"));
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

// The names of all stages, from the message for one that does not exist.
std::vector<std::string> stages_of(const std::string& archive) {
  const std::string message = cli({"graph", archive, "--after", "nowhere"}).err;
  std::istringstream words(message.substr(message.find("one of ")));
  std::vector<std::string> stages;
  for (std::string word; words >> word;)
    if (word.back() == ',') stages.push_back(word.substr(0, word.size() - 1));
  return stages;
}

// Every stage of these models is read back as text. Those that an image can describe are images, too, whose
// text is read back to equal bytes; the text of such an image is that of the stage, but for constants.
class StagesOf : public GraphCommand, public testing::WithParamInterface<const char*> {
 protected:
  // Without the header, and without inputs that are constants: images have their data row-major.
  static std::string nodes(const std::string& text) {
    std::istringstream lines(text.substr(text.find("\ngraph ")));
    std::string out;
    for (std::string line; std::getline(lines, line);)
      if (line.find("\" as \"") == std::string::npos) out += line + "\n";
    return out;
  }
};

TEST_P(StagesOf, AreImagesOrTexts) {
  const std::string archive = std::string(ETB_SOURCE_DIR "/tests/fixtures/") + GetParam() + ".pt2";
  const std::string text_file = dir_ / "x.txt", image = dir_ / "x.etg", again = dir_ / "y.etg";
  const std::vector<std::string> stages = stages_of(archive);
  ASSERT_GT(stages.size(), 10u);
  int image_count = 0, equal_count = 0;
  bool is_dynamic = false;
  for (const std::string& stage : stages) {
    SCOPED_TRACE(stage);
    ASSERT_EQ(cli({"graph", archive, "--after", stage, "-o", text_file}).exit, 0);
    const CliRun printed = cli({"graph", text_file});
    ASSERT_EQ(printed.exit, 0) << printed.err;
    EXPECT_EQ(printed.out, read(text_file));
    const CliRun made = cli({"graph", archive, "--after", stage, "-o", image});
    if (made.exit != 0) {
      EXPECT_EQ(made.exit, static_cast<int>(ExitCode::REFUSED)) << made.err;
      EXPECT_THAT(made.err, HasSubstr("no image after " + stage + ": "));
      EXPECT_THAT(made.err, HasSubstr("@"));
      continue;
    }
    ++image_count;
    const std::string stage_text = printed.out, image_text = cli({"graph", image}).out;
    std::ofstream(text_file) << image_text;
    EXPECT_EQ(cli({"graph", text_file}).out, image_text);
    ASSERT_EQ(cli({"graph", text_file, "-o", again}).exit, 0);
    EXPECT_EQ(read(again), read(image));
    // Images compute numbers with nodes, and pass constants of subgraphs as operands.
    is_dynamic |= stage_text.find("\nsymbol ") != std::string::npos;
    if (is_dynamic) continue;
    if (image_text.find("%\"number-") != std::string::npos) continue;
    ++equal_count;
    std::string module_text = image_text;
    module_text.replace(module_text.find("name "), 4, "module");
    std::ofstream(text_file) << module_text;
    EXPECT_EQ(nodes(cli({"graph", text_file}).out), nodes(stage_text));
  }
  EXPECT_GT(image_count, 3);
  EXPECT_TRUE(is_dynamic || equal_count > 1);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, StagesOf,
                         testing::Values("archives/mlp", "archives/counter", "archives/channels_last",
                                         "archives/derived", "archives/dynamic", "archives/tied",
                                         "archives/lenet", "zoo/mlp_q8_per_tensor", "zoo/ops_lists",
                                         "zoo/gru", "zoo/dynamic_image", "zoo/cond", "zoo/while_loop"));

// Small constants are in the text, so that it becomes the image that the archive becomes.
TEST_F(GraphCommand, AStageBecomesAnImageFromItsText) {
  const std::string archive = ETB_SOURCE_DIR "/tests/fixtures/archives/counter_functional.pt2";
  const std::string text = dir_ / "x.txt", image = dir_ / "x.etg", from_text = dir_ / "y.etg";
  ASSERT_EQ(cli({"graph", archive, "--after", "decompose", "-o", text}).exit, 0);
  ASSERT_EQ(cli({"graph", archive, "--after", "decompose", "-o", image}).exit, 0);
  ASSERT_EQ(cli({"graph", text, "-o", from_text}).exit, 0);
  EXPECT_EQ(read(from_text), read(image));
  const std::string large = ETB_SOURCE_DIR "/tests/fixtures/archives/lenet.pt2";
  ASSERT_EQ(cli({"graph", large, "--after", "decompose", "-o", text}).exit, 0);
  EXPECT_THAT(cli({"graph", text, "-o", from_text}).err, HasSubstr("is left out"));
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
