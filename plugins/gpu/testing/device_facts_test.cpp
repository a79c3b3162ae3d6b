// SPDX-License-Identifier: Apache-2.0
// Tests the attributes of the machine's devices, which target files have. Skipped where there is none.
#include "plugins/gpu/run/device_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <map>
#include <sstream>

#include "etb/ext/buffer.h"
#include "plugins/gpu/testing/tested_plugin.hpp"

namespace etb::gpu {
namespace {

using testing::HasSubstr;

const void* ETB_CALL find_service(const etb_host*, const char*) { return nullptr; }
constexpr etb_host kHost = {
    ETB_INIT_SIZE(etb_host), 0, ETB_ABI_VERSION, 0, "test", "0", "", nullptr, find_service, nullptr};

// A device, with its attributes by key.
struct SeenDevice {
  std::array<uint8_t, 16> uuid{};
  std::map<std::string, etb_option> attributes;  // their texts are gone
  std::map<std::string, std::string> texts;
};

etb_status ETB_CALL take_device(void* ctx, const etb_device_info* info) {
  SeenDevice& seen = static_cast<std::vector<SeenDevice>*>(ctx)->emplace_back();
  std::copy_n(info->uuid, seen.uuid.size(), seen.uuid.begin());
  for (uint64_t i = 0; i < info->attribute_count; ++i) {
    const etb_option* const attribute = ETB_AT(etb_option, info->attributes, i);
    seen.attributes[attribute->key] = *attribute;
    if (attribute->type == ETB_OPTION_TEXT) seen.texts[attribute->key] = attribute->text;
  }
  return ETB_OK;
}

class FactsOfGpus : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(table_->init(&kHost, nullptr, 0, &plugin_, &error_), ETB_OK) << error_.text;
    const etb_device_sink sink = {ETB_INIT_SIZE(etb_device_sink), 0, &devices_, take_device};
    ASSERT_EQ(table_->device->enumerate(plugin_, &sink, &error_), ETB_OK) << error_.text;
    if (devices_.empty()) GTEST_SKIP() << tested_plugin().hint;
  }
  void TearDown() override { EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_OK) << error_.text; }

  const etb_plugin_table* table_ = tested_plugin().query(&kHost, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
  etb_plugin* plugin_ = nullptr;
  etb_error error_ = ETB_ERROR_INIT;
  std::vector<SeenDevice> devices_;
};

TEST_F(FactsOfGpus, EachDeviceStatesThem) {
  for (SeenDevice& device : devices_) {
    EXPECT_THAT(device.texts["api"], testing::MatchesRegex("(Vulkan|OpenCL) [1-9][.][0-9].*"));
    for (const char* key : {"driver", "driver_version"}) EXPECT_NE(device.texts[key], "") << key;
    for (const char* key : {"max_range_bytes", "max_group_size", "shared_memory_bytes"}) {
      EXPECT_EQ(device.attributes[key].type, ETB_OPTION_I64) << key;
      EXPECT_GT(device.attributes[key].i64, 0) << key;
    }
    for (const char* key : {"storage_16bit", "float16", "unified_memory"})
      EXPECT_EQ(device.attributes[key].type, ETB_OPTION_BOOL) << key;
    if (const auto found = device.attributes.find("subgroup_size"); found != device.attributes.end()) {
      EXPECT_GT(found->second.i64, 0);
      EXPECT_LE(found->second.i64, device.attributes["max_group_size"].i64);
    }
    for (const auto& [key, value] : device.attributes)
      EXPECT_TRUE(std::ranges::any_of(kTargetFacts, [&](const TargetFact& fact) { return key == fact.key; }))
          << key;
  }
}

// The stated range is the one that the device itself allows.
TEST_F(FactsOfGpus, TheRangeIsThatOfBuffers) {
  for (SeenDevice& seen : devices_) {
    const auto range = static_cast<uint64_t>(seen.attributes["max_range_bytes"].i64);
    etb_device* device = nullptr;
    ASSERT_EQ(table_->device->open(plugin_, seen.uuid.data(), nullptr, 0, &device, &error_), ETB_OK)
        << error_.text;
    const auto* const buffers = static_cast<const etb_buffer_table*>(
        table_->get_extension(plugin_, ETB_OBJECT_DEVICE, device, ETB_EXT_BUFFER));
    ASSERT_NE(buffers, nullptr);
    etb_buffer* buffer = nullptr;
    EXPECT_EQ(buffers->allocate(device, "host", range + 1, &buffer, &error_), ETB_OUT_OF_MEMORY);
    EXPECT_THAT(error_.text, HasSubstr("expected at most " + std::to_string(range)));
    EXPECT_EQ(table_->device->close(device, &error_), ETB_OK) << error_.text;
  }
}

TEST(PagesOfGpuPlugins, HaveAllFactsForCompilation) {
  for (const char* page : {"vulkan", "opencl"}) {
    std::ostringstream text;
    text << std::ifstream(std::string(ETB_SOURCE_DIR) + "/docs/" + page + ".md").rdbuf();
    for (const TargetFact& fact : kTargetFacts)
      EXPECT_THAT(text.str(), HasSubstr("| `" + std::string(fact.key) + "` |")) << page;
  }
}

// Facts that a driver does not tell are left out.
TEST(GpuDeviceFacts, UnknownOnesAreNoAttributes) {
  DeviceFacts facts;
  facts.api = "Vulkan 1.1.0";
  facts.max_range_bytes = 7;
  facts.has_float16 = true;
  std::map<std::string, etb_option> found;
  for (const etb_option& attribute : attributes_of(facts)) found[attribute.key] = attribute;
  EXPECT_EQ(found.size(), 5u);  // these two, and what is true or false
  EXPECT_EQ(found["max_range_bytes"].i64, 7);
  EXPECT_STREQ(found["api"].text, "Vulkan 1.1.0");
  EXPECT_EQ(found["float16"].i64, 1);
  EXPECT_EQ(found["storage_16bit"].i64, 0);
}

}  // namespace
}  // namespace etb::gpu
