// SPDX-License-Identifier: Apache-2.0
// `compile --device`: the device that a program names, and the user's choice before it. On two OpenCL devices and on one of
// the DSP plugin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

CliRun with_plugins(std::vector<std::string> args) {
  args.insert(args.begin(), {"--plugin-path", ETB_PLUGIN_DIR});
  return cli(args);
}

class NamedDevice : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("POCL_DEVICES", "pthread basic", 0);  // before the driver starts: it then has two devices
    if (!fs::exists(fs::path(ETB_PLUGIN_DIR) / "opencl.so"))
      GTEST_SKIP() << "built without the opencl plugin";
    const CliRun listed = with_plugins({"list", "--devices", "--json"});
    const json report = json::parse(listed.out);
    for (const json& plugin : report["plugins"])
      if (plugin["id"] == "org.etbackend.opencl" && plugin.contains("devices"))
        for (const json& device : plugin["devices"]) devices_.push_back(device);
    if (devices_.empty()) GTEST_SKIP() << "no OpenCL device: install pocl-opencl-icd";
    folder_ = fs::path(testing::TempDir()) / "named_device";
    fs::create_directories(folder_);
    program_ = (folder_ / "named.pte").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  CliRun compile(const std::vector<std::string>& more) const {
    std::vector<std::string> args = {
        "compile", std::string(ETB_SOURCE_DIR) + "/tests/fixtures/archives/lenet.pt2", "-b", "opencl", "-o",
        program_};
    args.insert(args.end(), more.begin(), more.end());
    return with_plugins(args);
  }
  CliRun run(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"run", program_, "--json"});
    return with_plugins(more);
  }
  // The device of the first delegate of a run; "": the plugin's default.
  static std::string device_of(const CliRun& ran) {
    EXPECT_EQ(ran.exit, 0) << ran.err;
    return ran.exit == 0 ? json::parse(ran.out)["delegate_memory"][0]["device"].get<std::string>() : "failed";
  }
  std::string name(size_t index) const { return devices_[index]["name"]; }
  std::string uuid(size_t index) const { return devices_[index]["uuid"]; }

  std::vector<json> devices_;
  fs::path folder_;
  std::string program_;
};

TEST_F(NamedDevice, RunsTheDelegatesUnlessTheUserNamesAnother) {
  const size_t last = devices_.size() - 1;
  ASSERT_EQ(compile({"--device", uuid(last)}).exit, 0);
  EXPECT_EQ(device_of(run()), name(last));
  EXPECT_EQ(device_of(run({"--device", uuid(0)})), name(0));
  EXPECT_EQ(device_of(run({"--device", "default"})), "");
  ASSERT_EQ(compile({"--device", "opencl=" + uuid(0)}).exit, 0);
  EXPECT_EQ(device_of(run()), name(0));
  ASSERT_EQ(compile({"--device", "default"}).exit, 0);
  EXPECT_EQ(device_of(run()), "");
}

TEST_F(NamedDevice, ThatIsAbsentIsAnErrorWithBothNames) {
  ASSERT_EQ(compile({"--device", "GPU 3"}).exit, 0) << "compiling needs no device";
  const CliRun refused = run();
  EXPECT_EQ(refused.exit, static_cast<int>(ExitCode::NOT_FOUND)) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("whose device the program names: device 'GPU 3': the plugin has"),
                                 HasSubstr(uuid(0)), HasSubstr("hint: ")));
  EXPECT_EQ(device_of(run({"--device", uuid(0)})), name(0));
  const CliRun described = with_plugins({"info", program_, "--digests"});
  EXPECT_THAT(described.out, HasSubstr("etbackend.device/"));
}

TEST_F(NamedDevice, IsOfAPluginThatTakesPart) {
  const CliRun other = compile({"--device", "vulkan=GPU 3"});
  EXPECT_EQ(other.exit, static_cast<int>(ExitCode::USAGE)) << other.err;
  EXPECT_THAT(other.err, HasSubstr("--device 'vulkan=GPU 3': -b names no plugin 'vulkan'"));
  for (const std::string& text : {std::string(), std::string("=x"), std::string(1025, 'x')})
    EXPECT_EQ(compile({"--device", text}).exit, static_cast<int>(ExitCode::USAGE)) << text;
}

TEST(NamedDspDevice, RunsTheDelegates) {
  if (!fs::exists(fs::path(ETB_PLUGIN_DIR) / "dsp_stub.so"))
    GTEST_SKIP() << "built without the dsp_stub plugin";
  const std::string program = testing::TempDir() + "named_dsp_device.pte";
  const auto compile = [&](const char* device) {
    return with_plugins({"compile",
                         std::string(ETB_SOURCE_DIR) + "/tests/fixtures/quantised_pairs/net_q8.pt2", "-b",
                         "dsp_stub", "--device", device, "-o", program})
        .exit;
  };
  ASSERT_EQ(compile("DSP"), 0);
  const CliRun ran = with_plugins({"run", program, "--json"});
  ASSERT_EQ(ran.exit, 0) << ran.err;
  EXPECT_NE(json::parse(ran.out)["delegate_memory"][0]["device"], "");
  ASSERT_EQ(compile("NPU 4"), 0);
  EXPECT_NE(with_plugins({"run", program}).exit, 0);
  EXPECT_EQ(with_plugins({"run", program, "--device", "default"}).exit, 0);
  fs::remove(program);
}

}  // namespace
}  // namespace etb::tools
