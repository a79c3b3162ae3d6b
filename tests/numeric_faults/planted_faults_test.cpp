// SPDX-License-Identifier: Apache-2.0
// `etbackend diff` names the node of a planted fault. Nodes and faults are drawn by a generator: ETB_SEED=N draws others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using nlohmann::json;

constexpr const char* kPlugin = ETB_PLANTED_PLUGIN;
constexpr const char* kFault = "ETB_PLANTED_FAULT";
constexpr uint32_t kTrials = 20;
// Networks of different kinds whose inputs are floats.
constexpr const char* kModels[] = {"activations", "autoencoder",   "conformer", "dcgan",    "efficientnet",
                                   "deeplab",     "dynamic_batch", "digits",    "mlp_8da4w"};
constexpr const char* kKinds[] = {"scaled", "largest", "bfloat16", "repeated"};

std::string path_of(const std::string& model) {
  if (model == "digits") return std::string(ETB_SOURCE_DIR) + "/docs/examples/digits/digits.pt2";
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/zoo/" + model + ".pt2";
}

uint32_t seed() {
  const char* const text = std::getenv("ETB_SEED");
  return text == nullptr ? 1 : static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

json diff(const std::string& model, int expected_exit, std::vector<std::string> more = {}) {
  std::vector<std::string> args{"diff",         "eager",    kPlugin, "--model",
                                path_of(model), "--random", "7",     "--json"};
  args.insert(args.end(), more.begin(), more.end());
  const CliRun run = cli(args);
  EXPECT_EQ(run.exit, expected_exit) << model << ": " << run.err;
  json report = json::parse(run.out, nullptr, false);
  if (!report.is_object()) ADD_FAILURE() << model << ": " << run.out << run.err;
  return report;
}

struct Target {
  std::string model, op;
  uint32_t handle = 0;
  std::string node;  // the first of this op and handle
};

// Nodes that the plugin runs and that compute float32. No node of a right plugin diverges.
std::vector<Target> find_targets(const std::string& model) {
  const json report = diff(model, 0, {"--each-node"});
  std::vector<Target> out;
  for (const json& block : report.value("blocks", json::array())) {
    if (block["delegated_nodes_b"] == 0) continue;
    for (const json& result : block["results"]) {
      const json& node = result["node"];
      Target target{model, node["op"], node["debug_handle"], node["name"]};
      const bool is_float = result["shape"].get<std::string>().starts_with("float32 ");
      const bool is_known = std::any_of(out.begin(), out.end(), [&](const Target& other) {
        return other.op == target.op && other.handle == target.handle;
      });
      if (is_float && !is_known && target.handle != 0) out.push_back(target);
    }
  }
  return out;
}

TEST(PlantedFaults, EachIsLocatedToItsNode) {
  ::unsetenv(kFault);
  std::vector<Target> targets;
  for (const char* model : kModels) {
    const std::vector<Target> some = find_targets(model);
    EXPECT_FALSE(some.empty()) << model;
    targets.insert(targets.end(), some.begin(), some.end());
  }
  std::mt19937 random(seed());
  uint32_t located = 0;
  for (uint32_t trial = 0; trial < kTrials; ++trial) {
    const Target& target = targets[random() % targets.size()];
    const char* const kind = kKinds[random() % std::size(kKinds)];
    SCOPED_TRACE("seed " + std::to_string(seed()) + ", trial " + std::to_string(trial) + ": " + target.model +
                 ", " + target.node + ", " + target.op + ", " + kind);
    ::setenv(kFault, (target.op + " " + std::to_string(target.handle) + " " + kind).c_str(), 1);
    const json report = diff(target.model, 1);
    ::unsetenv(kFault);
    if (report.value("divergences", json::array()).empty()) continue;
    const json& found = report["divergences"][0];
    EXPECT_EQ(found["nodes"].size(), 1u);
    EXPECT_EQ(found["nodes"][0]["name"], target.node);
    EXPECT_EQ(found["nodes"][0]["op"], target.op);
    EXPECT_EQ(found["result"]["a"]["verdict"], "right");
    EXPECT_EQ(found["result"]["b"]["verdict"], "wrong");
    located += found["nodes"].size() == 1 && found["nodes"][0]["name"] == target.node ? 1 : 0;
  }
  std::cout << "located " << located << " of " << kTrials << ", seed " << seed() << ", drawn from "
            << targets.size() << " nodes\n";
  EXPECT_EQ(located, kTrials);
}

TEST(PlantedFaults, TheSavedNodeFailsAgainInVerifyUntilTheFaultIsRepaired) {
  ::unsetenv(kFault);
  const std::vector<Target> targets = find_targets("digits");
  ASSERT_FALSE(targets.empty());
  host::ScratchDir folder;
  const Target& target = targets.back();
  ::setenv(kFault, (target.op + " " + std::to_string(target.handle) + " scaled").c_str(), 1);
  const json report = diff("digits", 1, {"--save", folder.path()});
  const std::string file = report["divergences"][0]["repro"];
  const CliRun wrong = cli({"verify", kPlugin, "--replay", file});
  EXPECT_EQ(wrong.exit, 1) << wrong.out << wrong.err;
  EXPECT_THAT(wrong.out, testing::HasSubstr("element-bound"));
  ::unsetenv(kFault);
  const CliRun right = cli({"verify", kPlugin, "--replay", file});
  EXPECT_EQ(right.exit, 0) << right.out << right.err;
  EXPECT_THAT(right.out, testing::HasSubstr("1 / 1"));
}

// The plugin's process ends, or blocks; the report names the node, and this program goes on.
TEST(PlantedFaults, ThatEndThePluginsProcessAreLocated) {
  ::unsetenv(kFault);
  const std::vector<Target> targets = find_targets("digits");
  ASSERT_GT(targets.size(), 1u);
  const Target& target = targets[1];
  const std::pair<const char*, const char*> kinds[] = {
      {"abort", "signal 6"},
      {"segfault", "its process ended with"},  // sanitizers turn the signal into an exit
      {"exit", "exit code 3"},
      {"hang", "did not answer within 2 s"}};
  for (const auto& [kind, text] : kinds) {
    SCOPED_TRACE(kind);
    ::setenv(kFault, (target.op + " " + std::to_string(target.handle) + " " + kind).c_str(), 1);
    const json report = diff("digits", 1, {"--timeout", "2"});
    ::unsetenv(kFault);
    ASSERT_FALSE(report.value("divergences", json::array()).empty());
    const json& found = report["divergences"][0];
    ASSERT_EQ(found["nodes"].size(), 1u) << found;
    EXPECT_EQ(found["nodes"][0]["name"], target.node);
    EXPECT_EQ(found["result"]["b"]["verdict"], "wrong");
    EXPECT_THAT(found["result"]["b"]["text"].get<std::string>(), testing::HasSubstr(text));
  }
}

// A program is one call of the plugin: its outputs are all that is known.
TEST(PlantedFaults, InAProgramAreLocatedByItsPlugin) {
  ::unsetenv(kFault);
  const std::vector<Target> targets = find_targets("digits");
  ASSERT_GT(targets.size(), 1u);
  const Target& target = targets[1];
  const std::string folder_of_plugin = std::string(kPlugin).substr(0, std::string(kPlugin).rfind('/'));
  host::ScratchDir folder;
  const std::string program = folder.path("m.pte");
  const CliRun compiled =
      cli({"--plugin-path", folder_of_plugin, "compile", path_of("digits"), "-b", "planted", "-o", program});
  ASSERT_EQ(compiled.exit, 0) << compiled.err;
  for (const std::string kind : {"scaled", "segfault"}) {
    SCOPED_TRACE(kind);
    ::setenv(kFault, (target.op + " " + std::to_string(target.handle) + " " + kind).c_str(), 1);
    const CliRun run = cli({"--plugin-path", folder_of_plugin, "diff", "eager", program, "--model",
                            path_of("digits"), "--random", "7", "--json"});
    ::unsetenv(kFault);
    ASSERT_EQ(run.exit, 1) << run.err;
    const json found = json::parse(run.out)["divergences"][0];
    ASSERT_EQ(found["nodes"].size(), 1u) << found;
    EXPECT_EQ(found["nodes"][0]["name"], target.node);
    EXPECT_EQ(found["result"]["b"]["verdict"], "wrong");
  }
}

}  // namespace
}  // namespace etb::tools
