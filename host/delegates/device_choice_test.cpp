// SPDX-License-Identifier: Apache-2.0
// Devices that applications name, and the sizes that contexts reserve while a method loads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <set>

#include "api/format/device_record.hpp"
#include "host/delegates/plugin_delegates.hpp"
#include "host/testing/linked_only.hpp"
#include "host/testing/method_fixture.hpp"
#include "host/testing/toy_plugin.hpp"

namespace etb::host {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr uint8_t kUuids[2][16] = {{0xab, 1}, {0xab, 2}};
std::multiset<const void*> open_devices;              // opened and not closed
std::vector<int64_t> clocks;                          // option of each opening
std::vector<const void*> used_devices;                // by each created delegate
std::vector<std::vector<int64_t>> reserved;           // sizes of the first input
std::vector<std::vector<int64_t>> sizes_before_runs;  // reserved sizes when a run began
etb_payload_view payload{};                           // payload of the latest delegate
uint64_t resident_bytes = 0;                          // bytes that each delegate states

etb_status ETB_CALL enumerate_two(etb_plugin*, const etb_device_sink* sink, etb_error*) {
  etb_device_info info{};
  info.struct_size = sizeof info;
  info.kind = "npu";
  info.driver_version = "";
  const char* const names[] = {"Left core", "Right core"};
  for (const int i : {0, 1}) {
    std::memcpy(info.uuid, kUuids[i], sizeof info.uuid);
    info.name = names[i];
    if (const etb_status status = sink->put(sink->ctx, &info); status != ETB_OK) return status;
  }
  return ETB_OK;
}

// A plugin with two devices, whose contexts reserve.
const etb_plugin_table* ETB_CALL query_two_devices(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin toy;
  toy.plugin.option_schema = [](etb_plugin*, const etb_option_schema_sink* sink, etb_error*) -> etb_status {
    etb_option_schema schema{};
    schema.struct_size = sizeof schema;
    schema.key = "clock";
    schema.doc = "";
    schema.type = ETB_OPTION_I64;
    schema.scopes = ETB_OBJECT_DEVICE;
    return sink->put(sink->ctx, &schema);
  };
  toy.device.enumerate = enumerate_two;
  toy.device.open = [](etb_plugin*, const uint8_t* uuid, const etb_option* options, uint64_t option_count,
                       etb_device** out, etb_error*) -> etb_status {
    clocks.push_back(option_count == 0 ? 0 : options->i64);
    const int index = std::memcmp(uuid, kUuids[0], sizeof kUuids[0]) == 0 ? 0 : 1;
    *out = reinterpret_cast<etb_device*>(const_cast<uint8_t*>(kUuids[index]));
    open_devices.insert(*out);
    return ETB_OK;
  };
  toy.device.close = [](etb_device* device, etb_error*) -> etb_status {
    open_devices.erase(open_devices.find(device));
    return ETB_OK;
  };
  toy.device.query = [](etb_device* device, const etb_device_sink* sink, etb_error*) -> etb_status {
    etb_device_info info{};
    info.struct_size = sizeof info;
    info.kind = "npu";
    info.driver_version = "";
    std::memcpy(info.uuid, device, sizeof info.uuid);
    info.name = std::memcmp(device, kUuids[0], sizeof kUuids[0]) == 0 ? "Left core" : "Right core";
    return sink->put(sink->ctx, &info);
  };
  toy.delegate.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                           etb_error* error) -> etb_status {
    used_devices.push_back(args->device);
    payload = *args->payload;
    etb_delegate_args others = *args;
    others.device = nullptr;
    return toy_tables().delegate.create(plugin, &others, out, error);
  };
  toy.delegate.query = [](etb_delegate* delegate, etb_delegate_info* out, etb_error* error) -> etb_status {
    const etb_status status = toy_tables().delegate.query(delegate, out, error);
    out->resident_bytes = resident_bytes;
    out->context_bytes = 200;
    return status;
  };
  toy.delegate.caps |= ETB_DELEGATE_CAP_CONTEXT_RESERVE;
  toy.delegate.context_reserve = [](etb_context*, const etb_tensor* inputs, uint32_t count,
                                    etb_error* error) -> etb_status {
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(inputs[0].data, nullptr);
    reserved.emplace_back(inputs[0].sizes, inputs[0].sizes + inputs[0].rank);
    if (reserved.back()[0] <= 4) return ETB_OK;
    error->code = ETB_OUT_OF_MEMORY;
    std::strcpy(error->text, "too much for this device");
    return ETB_OUT_OF_MEMORY;
  };
  toy.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) -> etb_status {
    sizes_before_runs = reserved;
    return toy_tables().delegate.execute(context, args, error);
  };
  return &toy.plugin;
}

const etb_static_plugin kPlugins[] = {{ETB_INIT_SIZE(etb_static_plugin), 0, &query_two_devices, kToyBackend}};

class DeviceChoice : public testing::Test {
 protected:
  DeviceChoice() : registry_(options()) {
    open_devices.clear();
    used_devices.clear();
    reserved.clear();
    sizes_before_runs.clear();
  }

  static RegistryOptions options() { return linked_only(kPlugins); }

  // y = second(first(x)) for vectors of at most `bound` floats.
  static format::ProgramSpec program(int64_t bound) {
    format::ProgramSpec program = format::add_program(bound);
    auto& method = program.methods[0];
    for (const size_t i : {0U, 1U}) std::get<format::TensorSpec>(method.values[i]).dynamism = 1;
    method.inputs = {0};
    method.outputs = {1};
    method.delegates = {{kToyBackend, 1, 0, {}}, {kToyBackend, 1, 0, {}}};
    method.instructions = {{2, 0, 0, {0, 1}}, {2, 1, 0, {0, 1}}};
    program.segments = {kToyPayload};
    return program;
  }

  Registry registry_;
};

TEST_F(DeviceChoice, AUuidANameOrAPartOfOneNameChooses) {
  for (const char* text :
       {"ab020000-0000-0000-0000-000000000000", "AB020000000000000000000000000000", "right CORE", "Right"}) {
    used_devices.clear();
    PluginDelegates delegates(registry_);
    delegates.set_device("", text);
    {
      MethodFixture fixture(program(4));
      fixture.options.delegates = &delegates;
      ASSERT_EQ(fixture.load(), ETB_OK) << text << ": " << fixture.error.text;
      EXPECT_THAT(used_devices, ElementsAre(kUuids[1], kUuids[1])) << text;
      EXPECT_EQ(open_devices.size(), 1U) << "delegates share an open device";
    }
    EXPECT_TRUE(open_devices.empty()) << text;
  }
}

TEST_F(DeviceChoice, AnIdsOwnDeviceComesFirstAndWithoutOneThePluginChooses) {
  PluginDelegates delegates(registry_);
  delegates.set_device("", "right");
  delegates.set_device(kToyBackend, "left");
  MethodFixture fixture(program(4));
  fixture.options.delegates = &delegates;
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  EXPECT_THAT(used_devices, ElementsAre(kUuids[0], kUuids[0]));
  used_devices.clear();
  PluginDelegates others(registry_);
  others.set_device("AnotherBackend", "left");
  MethodFixture second(program(4));
  second.options.delegates = &others;
  ASSERT_EQ(second.load(), ETB_OK) << second.error.text;
  EXPECT_THAT(used_devices, ElementsAre(nullptr, nullptr));
}

TEST_F(DeviceChoice, DelegatesWithOtherOptionsOfADeviceHaveAHandleOfTheirOwn) {
  const auto shared = std::make_shared<SharedDelegates>();
  clocks.clear();
  std::vector<std::unique_ptr<PluginDelegates>> delegates;
  std::vector<std::unique_ptr<MethodFixture>> methods;
  for (const char* clock : {"1", "2", "1", ""}) {
    delegates.push_back(std::make_unique<PluginDelegates>(registry_));
    delegates.back()->share_delegates(shared);
    delegates.back()->set_device("", "left");
    if (clock[0] != 0) delegates.back()->set_option(kToyBackend, "clock", clock);
    methods.push_back(std::make_unique<MethodFixture>(program(4)));
    methods.back()->options.delegates = delegates.back().get();
    ASSERT_EQ(methods.back()->load(), ETB_OK) << methods.back()->error.text;
  }
  EXPECT_THAT(clocks, ElementsAre(1, 2, 0)) << "equal options share a handle";
  EXPECT_EQ(open_devices.size(), 3U);
  methods.clear();
  EXPECT_TRUE(open_devices.empty());
}

TEST_F(DeviceChoice, TheProgramNamesADeviceAndTheApplicationDecidesBeforeIt) {
  format::ProgramSpec named = program(4);
  named.segments.emplace_back("Right core");
  named.named_data = {{format::device_record_key(kToyBackend), 1}};
  const std::pair<const char*, const void*> choices[] = {
      {nullptr, kUuids[1]}, {"left", kUuids[0]}, {"default", nullptr}};
  for (const auto& [choice, used] : choices) {
    used_devices.clear();
    PluginDelegates delegates(registry_);
    if (choice != nullptr) delegates.set_device("", choice);
    MethodFixture fixture(named);
    fixture.options.delegates = &delegates;
    ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
    EXPECT_THAT(used_devices, ElementsAre(used, used)) << (choice == nullptr ? "no choice" : choice);
  }
}

TEST_F(DeviceChoice, ADeviceThatTheProgramNamesInVainIsRefusedWithBoth) {
  const auto load = [&](const std::string& record, const char* choice) {
    format::ProgramSpec named = program(4);
    named.segments.push_back(record);
    named.named_data = {{format::device_record_key(kToyBackend), 1}};
    PluginDelegates delegates(registry_);
    if (choice != nullptr) delegates.set_device(kToyBackend, choice);
    MethodFixture fixture(named);
    fixture.options.delegates = &delegates;
    const etb_status status = fixture.load();
    return std::pair(status, std::string(fixture.error.text));
  };
  const auto [status, text] = load("Middle core", nullptr);
  EXPECT_EQ(status, ETB_NOT_FOUND);
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("delegate 'ToyBackend', whose device the program names: device 'Middle core': the "
                      "plugin has npu 'Left core' uuid"),
            HasSubstr("hint: choose another device, or 'default' for")));
  EXPECT_TRUE(used_devices.empty());
  EXPECT_EQ(load("Middle core", "left").first, ETB_OK);
  const auto [other, other_text] = load("Middle core", "lost");
  EXPECT_EQ(other, ETB_NOT_FOUND);
  EXPECT_THAT(other_text, Not(HasSubstr("the program names")));
  const auto [empty, empty_text] = load("", nullptr);
  EXPECT_EQ(empty, ETB_INVALID_DATA);
  EXPECT_THAT(empty_text, HasSubstr("named data 'etbackend.device/ToyBackend': name of a device: 0 bytes"));
  EXPECT_EQ(load(std::string(1025, 'x'), nullptr).first, ETB_INVALID_DATA);
}

TEST_F(DeviceChoice, ErrorsListTheDevices) {
  for (const auto& [text, code, message] :
       {std::tuple{"middle", ETB_NOT_FOUND, "device 'middle': the plugin has npu 'Left core' uuid ab01"},
        std::tuple{"core", ETB_INVALID_ARGUMENT, "2 devices of the plugin match, expected one: npu 'Left"}}) {
    PluginDelegates delegates(registry_);
    delegates.set_device("", text);
    MethodFixture fixture(program(4));
    fixture.options.delegates = &delegates;
    EXPECT_EQ(fixture.load(), code);
    EXPECT_THAT(fixture.error.text, AllOf(HasSubstr(kToyBackend), HasSubstr(message)));
    EXPECT_TRUE(used_devices.empty());
  }
}

// A file with the same bytes as the program in memory.
TEST_F(DeviceChoice, APluginGetsTheDescriptorOfAMappedProgram) {
  MethodFixture fixture(program(4));
  std::FILE* const copy = std::tmpfile();
  ASSERT_NE(copy, nullptr);
  ASSERT_EQ(std::fwrite("lead", 1, 4, copy), 4U);
  ASSERT_EQ(std::fwrite(fixture.file.data(), 1, fixture.file.size(), copy), fixture.file.size());
  std::fflush(copy);
  for (const bool is_mapped : {true, false}) {
    PluginDelegates delegates(registry_);
    if (is_mapped) delegates.lend_file({fixture.file, fileno(copy), 4});
    MethodFixture loaded(program(4));
    MethodFixture& used = is_mapped ? fixture : loaded;
    used.options.delegates = &delegates;
    ASSERT_EQ(used.load(), ETB_OK) << used.error.text;
    EXPECT_EQ(payload.fd, is_mapped ? fileno(copy) : -1);
    if (!is_mapped) continue;
    std::string bytes(payload.nbytes, 0);
    EXPECT_EQ(::pread(payload.fd, bytes.data(), bytes.size(), static_cast<off_t>(payload.fd_offset_bytes)),
              static_cast<ssize_t>(bytes.size()));
    EXPECT_EQ(bytes.substr(0, 4), kToyPayload);
  }
  std::fclose(copy);
}

TEST_F(DeviceChoice, ContextsReserveTheLargestSizesBeforeTheFirstRun) {
  PluginDelegates delegates(registry_);
  MethodFixture fixture(program(4));
  fixture.options.delegates = &delegates;
  ASSERT_EQ(fixture.load(), ETB_OK) << fixture.error.text;
  EXPECT_THAT(reserved, ElementsAre(ElementsAre(4), ElementsAre(4)));
  FloatVector x({1, 2});
  ASSERT_EQ(fixture.method.set_input(0, x.value(), &fixture.error), ETB_OK) << fixture.error.text;
  ASSERT_EQ(fixture.method.execute(&fixture.error), ETB_OK) << fixture.error.text;
  EXPECT_EQ(sizes_before_runs.size(), 2U);
  EXPECT_EQ(reserved.size(), 2U) << "a run reserves nothing";
}

TEST_F(DeviceChoice, AMethodThatCannotReserveDoesNotLoad) {
  PluginDelegates delegates(registry_);
  MethodFixture fixture(program(5));
  fixture.options.delegates = &delegates;
  EXPECT_EQ(fixture.load(), ETB_OUT_OF_MEMORY);
  EXPECT_THAT(fixture.error.text, HasSubstr("too much for this device"));
}

// Delegates of the two devices hold 1000 bytes and need 200 for runs.
class DeviceMemoryLimit : public DeviceChoice {
 protected:
  void SetUp() override { resident_bytes = 1000; }

  // Loads a method with two delegates on a device.
  etb_status load(MethodFixture& fixture, PluginDelegates& delegates, const char* device,
                  uint64_t max_bytes) {
    if (device != nullptr) delegates.set_device("", device);
    delegates.limit_device_memory(max_bytes, shared_);
    fixture.options.delegates = &delegates;
    return fixture.load();
  }

  std::shared_ptr<DeviceMemory> shared_ = std::make_shared<DeviceMemory>();
};

TEST_F(DeviceMemoryLimit, RefusesALoadWithTheFiguresOfEachDelegate) {
  PluginDelegates delegates(registry_);
  MethodFixture fixture(program(4));
  EXPECT_EQ(load(fixture, delegates, "left", 2399), ETB_OUT_OF_RESOURCES);
  EXPECT_THAT(
      fixture.error.text,
      HasSubstr(
          "device 'Left core' of plugin 'org.etbackend.toy': its delegates need 2400 bytes, expected at most "
          "2399 (the limit max_device_bytes): 'ToyBackend' of method 'forward' 1000 resident and 200 for "
          "runs, 'ToyBackend' of method 'forward' 1000 resident and 200 for runs"));
  EXPECT_TRUE(delegates.holdings().empty()) << "a method that is not loaded holds nothing";
  EXPECT_TRUE(open_devices.empty());
}

TEST_F(DeviceMemoryLimit, CountsTheDelegatesOfADeviceWhileTheyLive) {
  PluginDelegates left(registry_), right(registry_), more(registry_), again(registry_);
  {
    MethodFixture first(program(4)), second(program(4)), third(program(4));
    ASSERT_EQ(load(first, left, "left", 2400), ETB_OK) << first.error.text;
    ASSERT_EQ(load(second, right, "right", 2400), ETB_OK) << second.error.text;
    EXPECT_EQ(load(third, more, "left", 4799), ETB_OUT_OF_RESOURCES) << "modules share the device";
    EXPECT_THAT(third.error.text, HasSubstr("need 4800 bytes"));
    const std::vector<DelegateHolding> holdings = shared_->holdings();
    ASSERT_EQ(holdings.size(), 4u);
    EXPECT_EQ(holdings[3].device_name, "Right core");
    EXPECT_EQ(holdings[3].resident_bytes, 1000u);
    EXPECT_EQ(holdings[3].context_bytes, 200u);
  }
  EXPECT_TRUE(shared_->holdings().empty());
  MethodFixture fixture(program(4));
  EXPECT_EQ(load(fixture, again, "left", 2400), ETB_OK) << fixture.error.text;
}

TEST_F(DeviceMemoryLimit, TheDefaultDeviceHasItsOwnSumAndAnyNumbersAreAdded) {
  PluginDelegates delegates(registry_), others(registry_);
  MethodFixture fixture(program(4)), second(program(4));
  EXPECT_EQ(load(fixture, delegates, nullptr, 2000), ETB_OUT_OF_RESOURCES);
  EXPECT_THAT(fixture.error.text, HasSubstr("the default device of plugin 'org.etbackend.toy'"));
  resident_bytes = UINT64_MAX - 100;
  EXPECT_EQ(load(second, others, nullptr, UINT64_MAX - 1), ETB_OUT_OF_RESOURCES);
  EXPECT_THAT(second.error.text, HasSubstr("need 18446744073709551615 bytes"));
}

}  // namespace
}  // namespace etb::host
