// SPDX-License-Identifier: Apache-2.0
// Values that plugins report inside of their delegates: `run --debug-buffer` records them, and `inspect` joins them with the
// nodes that computed them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
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

struct Recorded {
  Json blocks;        // of `inspect --by event`
  std::string debug;  // the debug buffer
};

// Compiles an archive for one backend and records a run with values.
Recorded record_values(const std::string& plugins, const std::string& archive, const std::string& backend,
                       const std::vector<std::string>& options = {}) {
  const ScratchDir dir;
  const std::vector<std::vector<std::string>> commands = {
      {"compile", kFixtures + archive, "-b", backend, "-o", dir.path("m.pte"), "--etrecord",
       dir.path("m.etrecord")},
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
  std::ifstream debug(dir.path("run.bin"), std::ios::binary);
  return {Json::parse(run.out)["event_blocks"], {std::istreambuf_iterator<char>(debug), {}}};
}

struct Inner {
  std::set<std::string> dtypes;
  std::set<std::string> nodes;
  // By the last debug handle of a value. Nodes that one operator of the model became share a handle.
  std::multimap<uint32_t, std::vector<float>> floats;
  size_t count = 0;
};

std::vector<float> floats_of(const Json& tensor, const std::string& debug) {
  size_t numel = 1;
  for (const Json& size : tensor["sizes"]) numel *= size.get<size_t>();
  const auto offset = tensor["offset"].get<size_t>();
  if (tensor["dtype"] != "float32" || offset + numel * sizeof(float) > debug.size()) return {};
  std::vector<float> out(numel);
  std::memcpy(out.data(), debug.data() + offset, numel * sizeof(float));
  return out;
}

bool is_near(const std::vector<float>& a, const std::vector<float>& b) {
  return !a.empty() && std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::abs(x - y) <= 1e-4f * std::max(1.0f, std::abs(y));
  });
}

// The values inside of delegates. Each is joined with a node.
Inner inner_values(const Recorded& recorded) {
  Inner inner;
  for (const Json& block : recorded.blocks)
    for (const Json& event : block["events"]) {
      if (!event["is_delegated_op"].get<bool>() || event["debug_data"].empty()) continue;
      EXPECT_FALSE(event["debug_handles"].empty()) << event["name"];
      if (event["debug_handles"].empty()) continue;
      for (const Json& value : event["debug_data"]) {
        ++inner.count;
        const Json tensors = value.contains("tensors") ? value["tensors"] : Json::array({value["tensor"]});
        for (const Json& tensor : tensors) {
          inner.dtypes.insert(tensor["dtype"]);
          inner.floats.emplace(event["debug_handles"].back(), floats_of(tensor, recorded.debug));
        }
      }
      for (const Json& op : event["op_types"]) inner.nodes.insert(op);
    }
  return inner;
}

TEST(InnerValues, OfTheTemplatesAreRecorded) {
  for (const char* plugin : {"my_npu", "my_npu_c"}) {
    if (!std::filesystem::exists(std::string(ETB_PLUGIN_DIR) + "/" + plugin + ".json")) continue;
    const Inner inner = inner_values(record_values(ETB_PLUGIN_DIR, "archives/add.pt2", plugin));
    EXPECT_EQ(inner.count, 1u) << plugin;
    EXPECT_THAT(inner.nodes, Contains("aten.add.Tensor")) << plugin;
  }
}

TEST(InnerValues, OfThePortableBackendHaveEachNodeAndDtype) {
  const Inner stored =
      inner_values(record_values(ETB_PORTABLE_PLUGIN_DIR, "archives/autocast.pt2", "PortableBackend"));
  EXPECT_GE(stored.count, 4u);
  EXPECT_THAT(stored.dtypes, IsSupersetOf({"bfloat16", "float32"}));
  const Inner widened = inner_values(
      record_values(ETB_PORTABLE_PLUGIN_DIR, "archives/autocast.pt2", "PortableBackend", {"--debug-widen"}));
  EXPECT_EQ(widened.count, stored.count);
  EXPECT_EQ(widened.nodes, stored.nodes);
  EXPECT_EQ(widened.dtypes, std::set<std::string>{"float32"});
}

TEST(InnerValues, PassLayersWithASinkOfTheirOwn) {
  const ScratchDir dir;
  const auto recorded = [&](const std::vector<std::string>& options) {
    return inner_values(
        record_values(ETB_PORTABLE_PLUGIN_DIR, "archives/lenet.pt2", "PortableBackend", options));
  };
  const Inner plain = recorded({});
  EXPECT_GE(plain.count, 4u);
  for (const std::string& layer : {"trace=" + dir.path("calls.etbt"), std::string("validate")}) {
    const Inner behind = recorded({"--layer", layer});
    EXPECT_EQ(behind.count, plain.count) << layer;
    EXPECT_EQ(behind.nodes, plain.nodes) << layer;
  }
}

// The portable kernels' values are the reference of each node.
void expect_portable_values(const std::string& plugin, const char* drivers) {
  if (!std::filesystem::exists(std::string(ETB_PLUGIN_DIR) + "/" + plugin + ".json") ||
      !std::filesystem::exists(drivers))
    GTEST_SKIP() << "no plugin or no driver: " << plugin;
  for (const char* archive : {"zoo/activations.pt2", "archives/lenet.pt2", "zoo/mobilenet_v2.pt2"}) {
    const Inner found = inner_values(record_values(ETB_PLUGIN_DIR, archive, plugin));
    const Inner expected = inner_values(record_values(ETB_PORTABLE_PLUGIN_DIR, archive, "PortableBackend"));
    EXPECT_GE(found.count, 4u) << archive;
    for (const auto& [handle, floats] : found.floats) {
      const auto [first, last] = expected.floats.equal_range(handle);
      const auto is_same = [&floats = floats](const auto& each) { return is_near(floats, each.second); };
      EXPECT_TRUE(std::any_of(first, last, is_same)) << archive << ", debug handle " << handle;
    }
  }
}

TEST(InnerValues, OfVulkanAreThoseOfThePortableBackend) {
  expect_portable_values("vulkan", "/usr/share/vulkan/icd.d");
}

TEST(InnerValues, OfOpenclAreThoseOfThePortableBackend) {
  expect_portable_values("opencl", "/etc/OpenCL/vendors");
}

}  // namespace
}  // namespace etb::tools
