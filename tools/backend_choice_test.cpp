// SPDX-License-Identifier: Apache-2.0
// Tests the choice of a plugin for a program's delegates, the application's options, and the error if no
// plugin can run one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kProgram = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/xnnpack.pte";

class BackendChoice : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(fs::path(ETB_PLUGIN_DIR) / "xnnpack.so"))
      GTEST_SKIP() << "built without the xnnpack plugin";
    unsetenv("ETBACKEND_PATH");
    folder_ = fs::path(testing::TempDir()) / "backend_choice";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override {
    unsetenv("ETBACKEND_DISABLE");
    fs::remove_all(folder_);
  }
  static CliRun run(std::vector<std::string> more, const std::string& folder = ETB_PLUGIN_DIR) {
    std::vector<std::string> args = {"--plugin-path", folder, "run", kProgram};
    args.insert(args.end(), more.begin(), more.end());
    return cli(args);
  }

  fs::path folder_;
};

TEST_F(BackendChoice, FollowsTheIdInTheFile) {
  const CliRun made = run({"--json"});
  ASSERT_EQ(made.exit, 0) << made.err;
  const auto backends = nlohmann::json::parse(made.out)["backends"];
  ASSERT_EQ(backends.size(), 1U);
  EXPECT_EQ(backends[0]["id"], "XnnpackBackend");
  EXPECT_EQ(backends[0]["plugin"], "org.etbackend.xnnpack");
}

TEST_F(BackendChoice, APinIsAnIdOrAnAlias) {
  for (const char* pin : {"org.etbackend.xnnpack", "xnnpack"}) {
    const CliRun made = run({"--json", "--backend-pin", std::string("XnnpackBackend=") + pin});
    ASSERT_EQ(made.exit, 0) << made.err;
    EXPECT_EQ(nlohmann::json::parse(made.out)["backends"][0]["plugin"], "org.etbackend.xnnpack") << pin;
  }
  EXPECT_EQ(run({"--backend-pin", "XnnpackBackend=org.nobody"}).exit, static_cast<int>(ExitCode::NOT_FOUND));
}

TEST_F(BackendChoice, ADeviceIsFoundOrTheDevicesAreListed) {
  EXPECT_EQ(run({"--device", "this processor"}).exit, 0);
  EXPECT_EQ(run({"--device", "XnnpackBackend=this processor"}).exit, 0);
  const CliRun other = run({"--device", "GPU 3"});
  EXPECT_EQ(other.exit, static_cast<int>(ExitCode::NOT_FOUND)) << other.err;
  EXPECT_THAT(other.err, HasSubstr("device 'GPU 3': the plugin has cpu 'this processor' uuid "));
  for (const char* text : {"=cpu", "XnnpackBackend=", ""})
    EXPECT_EQ(run({"--device", text}).exit, static_cast<int>(ExitCode::USAGE)) << text;
}

TEST_F(BackendChoice, ADisabledPluginIsNamedInTheRefusal) {
  setenv("ETBACKEND_DISABLE", "org.etbackend.*", 1);
  const CliRun made = run({});
  EXPECT_EQ(made.exit, static_cast<int>(ExitCode::REFUSED));
  EXPECT_THAT(made.err, HasSubstr("'XnnpackBackend'"));
  EXPECT_THAT(made.err, HasSubstr("disabled by ETBACKEND_DISABLE='org.etbackend.*'"));
}

TEST_F(BackendChoice, AManifestWithoutItsLibraryIsNamedInTheRefusal) {
  fs::copy(fs::path(ETB_PLUGIN_DIR) / "xnnpack.json", folder_ / "xnnpack.json");
  const CliRun made = run({}, folder_.string());
  EXPECT_EQ(made.exit, static_cast<int>(ExitCode::NOT_FOUND));
  EXPECT_THAT(made.err, HasSubstr("xnnpack.so: No such file"));
}

TEST_F(BackendChoice, OptionsReachDelegatesAndAreCheckedAgainstTheSchema) {
  const auto with = [](const std::string& option) {
    return run({"--backend-option", "XnnpackBackend:" + option});
  };
  EXPECT_EQ(with("workspace_sharing_mode=global").exit, 0);
  EXPECT_EQ(with("packed_cache_path=" + folder_.string()).exit, 0);
  EXPECT_FALSE(fs::is_empty(folder_)) << "no packed weights in " << folder_;
  EXPECT_THAT(with("nope=1").err, HasSubstr("option 'nope'"));
  EXPECT_THAT(with("packed_cache_max_bytes=lots").err,
              HasSubstr("found 'lots', expected a value of type i64"));
  EXPECT_THAT(with("workspace_sharing_mode=all").err, HasSubstr("workspace_sharing_mode"));
  EXPECT_EQ(run({"--backend-option", "nope"}).exit, static_cast<int>(ExitCode::USAGE));
}

}  // namespace
}  // namespace etb::tools
