// SPDX-License-Identifier: Apache-2.0
// Values that plugins report inside of their delegates: `run --debug-buffer` records them, and `inspect` joins them with the
// nodes that computed them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using host::ScratchDir;
using testing::Contains;
using testing::IsSupersetOf;
using Json = nlohmann::json;

const std::string kFixtures = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/";

// Compiles an archive for one backend and records a run with values; returns the rows of `inspect --by event`.
Json inspect_values(const std::string& plugins, const std::string& archive, const std::string& backend,
                    const std::vector<std::string>& options = {}) {
  const ScratchDir dir;
  const std::vector<std::vector<std::string>> commands = {
      {"compile", kFixtures + archive, "-b", backend, "-o", dir.path("m.pte"), "--etrecord", dir.path("m.etrecord")},
      {"run", dir.path("m.pte"), "--random", "7", "--profile", dir.path("run.etdp"), "--debug-buffer",
       dir.path("run.bin"), "--print-output", "none"},
      {"inspect", dir.path("run.etdp"), "--etrecord", dir.path("m.etrecord"), "--by", "event", "--json"}};
  CliRun run;
  for (std::vector<std::string> command : commands) {
    if (command[0] == "run") command.insert(command.end(), options.begin(), options.end());
    command.insert(command.begin(), {"--plugin-path", plugins});
    run = cli(command);
    EXPECT_EQ(run.exit, 0) << run.err;
    if (run.exit != 0) return {};
  }
  return Json::parse(run.out)["event_blocks"];
}

struct Inner {
  std::set<std::string> dtypes;
  std::set<std::string> nodes;
  size_t count = 0;
};

// The values inside of delegates. Each is joined with a node.
Inner inner_values(const Json& blocks) {
  Inner inner;
  for (const Json& block : blocks)
    for (const Json& event : block["events"]) {
      if (!event["is_delegated_op"].get<bool>() || event["debug_data"].empty()) continue;
      EXPECT_FALSE(event["debug_handles"].empty()) << event["event_name"];
      for (const Json& value : event["debug_data"]) {
        inner.dtypes.insert(value.at("tensor").at("dtype"));
        ++inner.count;
      }
      for (const Json& op : event["op_types"]) inner.nodes.insert(op);
    }
  return inner;
}

TEST(InnerValues, OfTheTemplatesAreRecorded) {
  for (const char* plugin : {"my_npu", "my_npu_c"}) {
    if (!std::filesystem::exists(std::string(ETB_PLUGIN_DIR) + "/" + plugin + ".json")) continue;
    const Inner inner = inner_values(inspect_values(ETB_PLUGIN_DIR, "archives/add.pt2", plugin));
    EXPECT_EQ(inner.count, 1u) << plugin;
    EXPECT_THAT(inner.nodes, Contains("aten.add.Tensor")) << plugin;
  }
}

TEST(InnerValues, OfThePortableBackendHaveEachNodeAndDtype) {
  const Inner stored =
      inner_values(inspect_values(ETB_PORTABLE_PLUGIN_DIR, "archives/autocast.pt2", "PortableBackend"));
  EXPECT_GE(stored.count, 4u);
  EXPECT_THAT(stored.dtypes, IsSupersetOf({"bfloat16", "float32"}));
  const Inner widened = inner_values(inspect_values(ETB_PORTABLE_PLUGIN_DIR, "archives/autocast.pt2",
                                                    "PortableBackend", {"--debug-widen"}));
  EXPECT_EQ(widened.count, stored.count);
  EXPECT_EQ(widened.nodes, stored.nodes);
  EXPECT_EQ(widened.dtypes, std::set<std::string>{"float32"});
}

}  // namespace
}  // namespace etb::tools
