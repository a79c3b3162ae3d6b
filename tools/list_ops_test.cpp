// SPDX-License-Identifier: Apache-2.0
// `etbackend list --ops`: the op table of a plugin, for people and as JSON. Attributes of devices in `list --devices`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using json = nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

bool is_built(const char* plugin) {
  return std::filesystem::exists(std::filesystem::path(ETB_PLUGIN_DIR) / (std::string(plugin) + ".so"));
}

CliRun list(std::vector<std::string> more) {
  more.insert(more.begin(), {"--plugin-path", ETB_PLUGIN_DIR, "list"});
  return cli(more);
}

const json* find_op(const json& report, const std::string& op) {
  const auto& ops = report["ops"];
  const auto found = std::find_if(ops.begin(), ops.end(), [&](const json& row) { return row["op"] == op; });
  return found == ops.end() ? nullptr : &*found;
}

TEST(ListOps, APluginsRowsHaveEveryField) {
  if (!is_built("xnnpack")) GTEST_SKIP() << "built without the xnnpack plugin";
  const CliRun made = list({"--ops", "xnnpack", "--json"});
  ASSERT_EQ(made.exit, 0) << made.err;
  const json report = json::parse(made.out);
  EXPECT_EQ(report["id"], "org.etbackend.xnnpack");
  const json* const add = find_op(report, "aten.add.Tensor");
  ASSERT_NE(add, nullptr) << made.out;
  EXPECT_THAT((*add)["dtypes"].get<std::vector<std::string>>(), testing::Contains("float32"));
  EXPECT_GE((*add)["max_rank"], 4);
  EXPECT_FALSE((*add)["layouts"].empty());
  for (const char* key : {"min_rank", "quant_schemes", "dynamic_sizes", "constraint"})
    EXPECT_TRUE(add->contains(key)) << key;
  const CliRun text = list({"--ops", "xnnpack"});
  ASSERT_EQ(text.exit, 0) << text.err;
  EXPECT_THAT(text.out,
              HasSubstr("org.etbackend.xnnpack: " + std::to_string(report["ops"].size()) + " rows\n"));
  EXPECT_THAT(text.out, ContainsRegex("OP +DTYPES +RANKS +DYNAMIC +LAYOUTS +QUANTISATION +CONSTRAINT"));
  EXPECT_THAT(text.out,
              ContainsRegex("\naten.add.Tensor +[a-z0-9,]*float32[a-z0-9,]* +[0-9]+-[0-9]+ +(yes|no) "));
}

TEST(ListOps, QuantisationSchemesAreListed) {
  if (!is_built("dsp_stub")) GTEST_SKIP() << "built without the dsp_stub plugin";
  const CliRun made = list({"--ops", "dsp_stub", "--json"});
  ASSERT_EQ(made.exit, 0) << made.err;
  const json report = json::parse(made.out);
  const json* const linear = find_op(report, "aten.linear.default");
  ASSERT_NE(linear, nullptr);
  EXPECT_THAT((*linear)["quant_schemes"].get<std::vector<std::string>>(), testing::Contains("per-tensor"));
}

TEST(ListOps, AnUnknownPluginIsAnError) {
  const CliRun made = list({"--ops", "no-such-plugin"});
  EXPECT_EQ(made.exit, static_cast<int>(ExitCode::NOT_FOUND));
  EXPECT_THAT(made.err, HasSubstr("no-such-plugin"));
  EXPECT_EQ(list({"--ops", "xnnpack", "--devices"}).exit, static_cast<int>(ExitCode::USAGE));
}

TEST(ListDevices, AttributesHaveALine) {
  if (!is_built("dsp_stub")) GTEST_SKIP() << "built without the dsp_stub plugin";
  const CliRun made = list({"--devices"});
  EXPECT_EQ(made.exit, 0) << made.err;
  EXPECT_THAT(made.out, ContainsRegex("    device dsp .*\n        attributes .*tcm_kib=[0-9]+"));
}

}  // namespace
}  // namespace etb::tools
