// SPDX-License-Identifier: Apache-2.0
// Tests the files that `etbackend new` writes, and the arguments that it rejects. The vendor guide's test
// builds, loads and runs the projects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;

class NewCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "etb_new_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string dir() const { return (root_ / "project").string(); }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(dir())) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      found[fs::relative(entry.path(), dir()).string()] = {std::istreambuf_iterator<char>(in), {}};
    }
    return found;
  }

  fs::path root_;
};

constexpr int kUsage = static_cast<int>(ExitCode::USAGE);

TEST_F(NewCommand, WritesAProjectUnderItsOwnName) {
  const CliRun made =
      cli({"new", "fast_adder", "--dir", dir(), "--vendor", "Adders & Sons", "--id", "org.adders.fast"});
  ASSERT_EQ(made.exit, 0) << made.err;
  const auto written = files();
  for (const char* name : {"fast_adder.cpp", "fast_adder.json.in", "CMakeLists.txt", "README.md", "ci.sh",
                           ".gitignore", "test/CMakeLists.txt", ".github/workflows/ci.yml", ".gitlab-ci.yml"})
    EXPECT_THAT(written, Contains(Key(name)));
  EXPECT_THAT(written.at("fast_adder.cpp"),
              HasSubstr("ETB_DEFINE_PLUGIN(FastAdder, \"org.adders.fast\", \"Adders & Sons\", \"0.1.0\")"));
  EXPECT_THAT(written.at("fast_adder.cpp"), HasSubstr("0x54534146;  // \"FAST\""));
  EXPECT_THAT(written.at("fast_adder.json.in"), HasSubstr("\"FastAdderBackend\""));
  for (const auto& [name, text] : written) {
    EXPECT_THAT(text, Not(HasSubstr("my_npu"))) << name;
    EXPECT_THAT(text, Not(HasSubstr("MyNpu"))) << name;
    EXPECT_THAT(text, Not(HasSubstr("com.example"))) << name;
    EXPECT_THAT(made.out, HasSubstr(name));
  }
  EXPECT_NE(fs::status(dir() + "/ci.sh").permissions() & fs::perms::owner_exec, fs::perms::none);
}

// The vendor guide's test runs the commands of the jobs.
TEST_F(NewCommand, JobsOfCiBuildTestAndVerifyThePlugin) {
  ASSERT_EQ(cli({"new", "fast_adder", "--dir", dir()}).exit, 0);
  const auto written = files();
  for (const char* job : {".github/workflows/ci.yml", ".gitlab-ci.yml"}) {
    EXPECT_THAT(written.at(job), HasSubstr(" ./ci.sh\n")) << job;
    EXPECT_THAT(written.at(job), HasSubstr("verify fast_adder --profile \"$VERIFY_PROFILE\"")) << job;
    EXPECT_THAT(written.at(job), HasSubstr("--strip-components=1")) << job;
  }
}

TEST_F(NewCommand, PlainCProjectHasNoCppSource) {
  ASSERT_EQ(cli({"new", "fast_adder", "--lang", "c", "--dir", dir()}).exit, 0);
  const auto written = files();
  EXPECT_THAT(written, Contains(Key("fast_adder.c")));
  EXPECT_THAT(written, Not(Contains(Key("fast_adder.cpp")))) << "the plugin itself";
  EXPECT_THAT(written.at("fast_adder.c"), HasSubstr("\"com.example.fast-adder\""));
  for (const auto& [name, text] : written) EXPECT_THAT(text, Not(HasSubstr("my_npu"))) << name;
}

TEST_F(NewCommand, DefaultNamesAreTheTemplates) {
  ASSERT_EQ(cli({"new", "my_npu", "--dir", dir()}).exit, 0);
  std::ifstream in(ETB_SOURCE_DIR "/plugins/template/cpp/my_npu.cpp", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_EQ(files().at("my_npu.cpp"), text);
}

TEST_F(NewCommand, RefusesToOverwriteAndWritesNothingThen) {
  fs::create_directories(dir());
  std::ofstream(dir() + "/README.md") << "mine";
  const CliRun made = cli({"new", "my_npu", "--dir", dir()});
  EXPECT_EQ(made.exit, static_cast<int>(ExitCode::REFUSED));
  EXPECT_THAT(made.err, HasSubstr("README.md' exists"));
  EXPECT_EQ(files().size(), 1u);
  EXPECT_EQ(files().at("README.md"), "mine");
}

TEST_F(NewCommand, ForeignFilesInTheFolderAreLeftAlone) {
  fs::create_directories(dir() + "/.git");
  std::ofstream(dir() + "/NOTES") << "mine";
  EXPECT_EQ(cli({"new", "my_npu", "--dir", dir()}).exit, 0);
  EXPECT_EQ(files().at("NOTES"), "mine");
}

TEST_F(NewCommand, NamesAreChecked) {
  for (const char* name : {"MyNpu", "my-npu", "9npu", "", "my__npu", "npu_", "../npu", "a b", "delegate",
                           "a234567890123456789012345678901234"}) {
    const CliRun made = cli({"new", name, "--dir", dir()});
    EXPECT_EQ(made.exit, kUsage) << name;
    EXPECT_FALSE(fs::exists(dir())) << name;
  }
  EXPECT_THAT(cli({"new", "My-Npu"}).err, HasSubstr("NAME: found 'My-Npu', expected"));
}

TEST_F(NewCommand, OptionsAreChecked) {
  EXPECT_EQ(cli({"new", "my_npu", "--dir", dir(), "--lang", "rust"}).exit, kUsage);
  EXPECT_EQ(cli({"new", "my_npu", "--dir", dir(), "--id", "NoDots"}).exit, kUsage);
  EXPECT_EQ(cli({"new", "my_npu", "--dir", dir(), "--vendor", "a \"quote\""}).exit, kUsage);
  EXPECT_EQ(cli({"new", "my_npu", "--dir", dir(), "--vendor", "two\nlines"}).exit, kUsage);
  EXPECT_EQ(cli({"new", "my_npu", "--dir", dir(), "--vendor", std::string(64, 'x')}).exit, kUsage);
  EXPECT_EQ(cli({"new"}).exit, kUsage);
  EXPECT_FALSE(fs::exists(dir()));
}

TEST_F(NewCommand, UnwritableFolderIsNamed) {
  std::ofstream(root_ / "file") << "";
  const CliRun made = cli({"new", "my_npu", "--dir", (root_ / "file" / "below").string()});
  EXPECT_EQ(made.exit, static_cast<int>(ExitCode::INVALID_INPUT));
  EXPECT_THAT(made.err, HasSubstr("below"));
}

}  // namespace
}  // namespace etb::tools
