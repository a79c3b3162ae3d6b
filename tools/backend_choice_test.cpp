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

TEST_F(BackendChoice, TheMemoryOfADeviceIsShownAndLimited) {
  const CliRun made = run({"--json", "--max-device-memory", "64MiB"});
  ASSERT_EQ(made.exit, 0) << made.err;
  const auto holding = nlohmann::json::parse(made.out)["delegate_memory"][0];
  EXPECT_EQ(holding["id"], "XnnpackBackend");
  EXPECT_EQ(holding["method"], "forward");
  const uint64_t resident = holding["resident_bytes"];
  EXPECT_GT(resident, 0U);
  const CliRun refused = run({"--max-device-memory", "1"});
  EXPECT_NE(refused.exit, 0);
  EXPECT_THAT(refused.err,
              HasSubstr("bytes, expected at most 1 (the limit max_device_bytes): 'XnnpackBackend' of method "
                        "'forward' " +
                        std::to_string(resident) + " resident and "));
  const CliRun described = cli({"--plugin-path", ETB_PLUGIN_DIR, "info", kProgram, "--delegate-memory"});
  ASSERT_EQ(described.exit, 0) << described.err;
  EXPECT_THAT(described.out, HasSubstr("delegate XnnpackBackend of forward: "));
  EXPECT_THAT(described.out, HasSubstr(" for runs, on the default device of org.etbackend.xnnpack\n"));
  EXPECT_EQ(cli({"--plugin-path", ETB_PLUGIN_DIR, "info", "xnnpack", "--delegate-memory"}).exit,
            static_cast<int>(ExitCode::USAGE));
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

// The network of docs/dsp_stub.md.
TEST(DspStubProgram, HasLimitsWhenCompiledAndFactsWhenLoaded) {
  if (!fs::exists(fs::path(ETB_PLUGIN_DIR) / "dsp_stub.so"))
    GTEST_SKIP() << "built without the dsp_stub plugin";
  const std::string archive = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/quantised_pairs/net_q8.pt2";
  const std::string program = testing::TempDir() + "dsp_stub_program.pte";
  const auto compile = [&](const std::string& limit) {
    return cli({"--plugin-path", ETB_PLUGIN_DIR, "compile", archive, "-b", "dsp_stub", "-o", program,
                "--max-device-memory", limit});
  };
  fs::remove(program);
  const CliRun refused = compile("1KiB");
  EXPECT_NE(refused.exit, 0);
  EXPECT_THAT(refused.err,
              testing::ContainsRegex("plugin 'dsp_stub': its delegates will hold [0-9]+ bytes on their "
                                     "device, expected at most 1024 \\(--max-device-memory\\)"));
  EXPECT_THAT(refused.err, testing::ContainsRegex("region 0 of method 'forward' \\([0-9]+ nodes\\): [0-9]+"));
  EXPECT_FALSE(fs::exists(program)) << "no program is written";
  ASSERT_EQ(compile("64MiB").exit, 0);
  const CliRun ran = cli({"--plugin-path", ETB_PLUGIN_DIR, "run", program, "--random", "1", "--json"});
  ASSERT_EQ(ran.exit, 0) << ran.err;
  const auto report = nlohmann::json::parse(ran.out);
  EXPECT_EQ(report["facts"][0]["topic"], "dsp_stub.delegate");
  EXPECT_EQ(report["facts"][0]["fields"]["tcm_bytes"].get<std::string>().empty(), false);
  EXPECT_GT(report["delegate_memory"][0]["context_bytes"], 0);
}

}  // namespace
}  // namespace etb::tools
