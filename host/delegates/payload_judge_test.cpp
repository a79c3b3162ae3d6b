// SPDX-License-Identifier: Apache-2.0
// Devices that check_payload receives, and payloads that were compiled for another device.
#include "host/delegates/payload_judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "host/delegates/plugin_delegates.hpp"
#include "host/testing/delegate_program.hpp"
#include "host/testing/linked_only.hpp"

namespace etb::host {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr uint8_t kUuids[2][16] = {{1}, {2}};
constexpr const char* kNames[] = {"Left core", "Right core"};
etb_verdict_kind verdict_kind = ETB_VERDICT_OPTIMAL;
std::vector<std::string> targets;  // by call: "KIND NAME FINGERPRINT[0] ATTRIBUTE ITEMS", or "any"
int enumerations = 0;

etb_option option_of(const char* key, etb_option_type type, int64_t number) {
  etb_option option{};
  option.struct_size = sizeof option;
  option.key = key;
  option.type = type;
  option.i64 = number;
  return option;
}

// Two devices of different fingerprints.
etb_status ETB_CALL enumerate(etb_plugin*, const etb_device_sink* sink, etb_error*) {
  ++enumerations;
  for (const int i : {0, 1}) {
    const etb_option items[] = {option_of("", ETB_OPTION_I64, 10), option_of("", ETB_OPTION_I64, 20 + i)};
    etb_option attributes[] = {option_of("memory", ETB_OPTION_I64, 100 + i),
                               option_of("sizes", ETB_OPTION_LIST, 0)};
    attributes[1].items = items;
    attributes[1].item_count = 2;
    etb_device_info info{};
    info.struct_size = sizeof info;
    info.kind = "npu";
    info.name = kNames[i];
    info.driver_version = "";
    std::memcpy(info.uuid, kUuids[i], sizeof info.uuid);
    info.fingerprint[0] = static_cast<uint8_t>(1 + i);
    info.attributes = attributes;
    info.attribute_count = 2;
    if (const etb_status status = sink->put(sink->ctx, &info); status != ETB_OK) return status;
  }
  return ETB_OK;
}

etb_status ETB_CALL check_payload(etb_plugin*, const etb_payload_check* args, etb_verdict* verdict,
                                  etb_error*) {
  std::string text = "any";
  if (const etb_target* const target = args->target; target != nullptr)
    text = std::string(target->kind) + " " + target->name + " " + std::to_string(target->fingerprint[0]) +
           " " + std::to_string(target->attributes[0].i64) + " " +
           std::to_string(target->attributes[1].items[1].i64);
  targets.push_back(text);
  verdict->kind = verdict_kind;
  if (verdict_kind != ETB_VERDICT_OPTIMAL) std::strcpy(verdict->text, "other cores");
  return ETB_OK;
}

const etb_plugin_table* ETB_CALL query(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin tables;
  tables.device.enumerate = enumerate;
  tables.device.open = [](etb_plugin* plugin, const uint8_t*, const etb_option*, uint64_t, etb_device** out,
                          etb_error*) -> etb_status {
    *out = reinterpret_cast<etb_device*>(new ToyDeviceState{toy(plugin)});
    ++toy(plugin)->children;
    return ETB_OK;
  };
  tables.delegate.check_payload = check_payload;
  return &tables.plugin;
}

const etb_static_plugin kPlugins[] = {{ETB_INIT_SIZE(etb_static_plugin), 0, &query, kToyBackend}};

// A record of the first of the two devices, or of one with another number as fingerprint.
std::string left_record(uint8_t number = 1, const std::string& kind = "npu") {
  format::TargetRecord record{kind, "Left core", {}};
  record.fingerprint[0] = number;
  return format::write_target_record(record);
}

class PayloadJudgeTest : public testing::Test {
 protected:
  void SetUp() override {
    verdict_kind = ETB_VERDICT_OPTIMAL;
    targets.clear();
    enumerations = 0;
  }

  // Loads y = delegate(x). `record`: what the program stores about the target; "": nothing. `device`: the application's choice.
  etb_status load(const std::string& record, const char* device) {
    DelegateProgram made({{kToyBackend, 1, 0, {}}});
    made.call(0, 0, 1);
    made.method().outputs = {1};
    if (!record.empty()) {
      made.program.segments.push_back(record);
      made.program.named_data = {{format::target_record_key(kToyBackend), 1}};
    }
    PluginDelegates delegates(registry_);
    if (device != nullptr) delegates.set_device("", device);
    log_.clear();
    const PlatformHooks hooks{this, kDefaultPlatformHooks.now_ns,
                              [](void* self, LogLevel level, const char* text) {
                                EXPECT_EQ(level, LogLevel::kWarning);
                                static_cast<PayloadJudgeTest*>(self)->log_.emplace_back(text);
                              }};
    MethodFixture fixture(made.program);
    fixture.options.delegates = &delegates;
    fixture.options.platform = &hooks;
    const etb_status status = fixture.load();
    error_ = fixture.error.text;
    return status;
  }

  Registry registry_{linked_only(kPlugins)};
  std::vector<std::string> log_;
  std::string error_;
};

TEST_F(PayloadJudgeTest, APluginGetsTheWholeDescriptionOfTheChosenDevice) {
  ASSERT_EQ(load("", "right"), ETB_OK) << error_;
  EXPECT_THAT(targets, ElementsAre("npu Right core 2 101 21"));
}

TEST_F(PayloadJudgeTest, WithoutAChoiceAndARecordNoDeviceIsEnumerated) {
  ASSERT_EQ(load("", nullptr), ETB_OK) << error_;
  EXPECT_THAT(targets, ElementsAre("any"));
  EXPECT_EQ(enumerations, 0);
  ASSERT_EQ(load(left_record(), nullptr), ETB_OK) << error_;
  EXPECT_THAT(targets, ElementsAre("any", "any")) << "the plugin chooses one of two";
}

TEST_F(PayloadJudgeTest, ADeviceOfTheRecordsFingerprintIsNoNotice) {
  for (const etb_verdict_kind kind :
       {ETB_VERDICT_OPTIMAL, ETB_VERDICT_PREFER_RECOMPILE, ETB_VERDICT_UNKNOWN}) {
    verdict_kind = kind;
    ASSERT_EQ(load(left_record(), "left"), ETB_OK) << error_;
    EXPECT_THAT(log_, IsEmpty());
  }
}

TEST_F(PayloadJudgeTest, APayloadThatAnotherDeviceCannotRunIsRefusedWithBothNames) {
  verdict_kind = ETB_VERDICT_UNSUPPORTED;
  EXPECT_NE(load(left_record(), "right"), ETB_OK);
  EXPECT_THAT(error_, HasSubstr("cannot run this payload: compiled for npu 'Left core' (fingerprint "
                                "0100000000000000...), the device is npu 'Right core' (fingerprint "
                                "0200000000000000...): other cores"));
  EXPECT_NE(load("", "right"), ETB_OK);
  EXPECT_THAT(error_,
              AllOf(HasSubstr("cannot run this payload: other cores"), Not(HasSubstr("compiled for"))));
}

TEST_F(PayloadJudgeTest, APayloadThatRunsWorseOnAnotherDeviceIsANotice) {
  for (const etb_verdict_kind kind : {ETB_VERDICT_PREFER_RECOMPILE, ETB_VERDICT_UNKNOWN}) {
    verdict_kind = kind;
    ASSERT_EQ(load(left_record(), "right"), ETB_OK) << error_;
    ASSERT_EQ(log_.size(), 1u);
    EXPECT_THAT(log_[0],
                AllOf(HasSubstr("delegate 'ToyBackend' of method 'forward': compiled for npu 'Left core'"),
                      HasSubstr("the device is npu 'Right core'"), HasSubstr(": other cores")));
  }
  verdict_kind = ETB_VERDICT_OPTIMAL;
  ASSERT_EQ(load(left_record(), "right"), ETB_OK) << error_;
  EXPECT_THAT(log_, IsEmpty()) << "the plugin says that it runs as well";
}

// compile --target describes one device to all plugins.
TEST_F(PayloadJudgeTest, ARecordOfAnotherKindOrOfAnyDeviceIsNoNotice) {
  verdict_kind = ETB_VERDICT_UNKNOWN;
  for (const std::string& record : {left_record(1, "gpu"), left_record(0)}) {
    ASSERT_EQ(load(record, "right"), ETB_OK) << error_;
    EXPECT_THAT(log_, IsEmpty());
  }
}

TEST_F(PayloadJudgeTest, ADamagedRecordEndsTheLoad) {
  EXPECT_EQ(load(left_record().substr(0, 50), "left"), ETB_INVALID_DATA);
  EXPECT_THAT(error_,
              AllOf(HasSubstr("named data 'etbackend.target/ToyBackend'"), HasSubstr("target record: ")));
}

}  // namespace
}  // namespace etb::host
