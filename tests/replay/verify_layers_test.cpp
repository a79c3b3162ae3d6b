// SPDX-License-Identifier: Apache-2.0
// `etbackend verify --layer`: a plugin passes the suite through each layer, and a layer that changes answers is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using testing::HasSubstr;

// Groups that watch calls, memory and objects.
CliRun verify_behind(const std::vector<std::string>& layers) {
  std::vector<std::string> args = {"--plugin-path", ETB_PLUGIN_DIR, "--quiet", "verify", "my_npu"};
  for (const char* group : {"info.*", "life.*", "err.*", "mem.*", "op.add_tensor.f32.*"}) {
    args.emplace_back("--case");
    args.emplace_back(group);
  }
  for (const std::string& layer : layers) {
    args.emplace_back("--layer");
    args.push_back(layer);
  }
  return cli(args);
}

class VerifyLayers : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(VerifyLayers, APluginPasses) {
  const CliRun found = verify_behind(GetParam());
  EXPECT_EQ(found.exit, 0) << found.out << found.err;
  EXPECT_THAT(found.out, HasSubstr("PASS, "));
}

INSTANTIATE_TEST_SUITE_P(Layers, VerifyLayers,
                         testing::Values(std::vector<std::string>{"trace"},
                                         std::vector<std::string>{"trace=/dev/null"},
                                         std::vector<std::string>{"fault"},
                                         std::vector<std::string>{"compare=my_npu"},
                                         std::vector<std::string>{"trace", "compare=my_npu", "fault"}));

TEST(VerifyWithLayers, FindsWhatALayerChanges) {
  const CliRun found = verify_behind({"fault=flip-output,bits=40+seed=1"});
  EXPECT_EQ(found.exit, 1);
  EXPECT_THAT(found.out, HasSubstr("--layer "));  // in the command that repeats a failure
  EXPECT_THAT(found.out, HasSubstr("FAIL"));
}

TEST(VerifyWithLayers, RefusesLayersThatWriteFiles) {
  for (const char* layer : {"trace=run.etbt", "compare=my_npu,json=x.json"}) {
    const CliRun found = verify_behind({layer});
    EXPECT_EQ(found.exit, 2) << layer;
    EXPECT_THAT(found.err, HasSubstr("writes a file, but each check opens the plugin in its own process"));
  }
  EXPECT_EQ(verify_behind({"sandbox"}).exit, 2);
}

}  // namespace
}  // namespace etb::tools
