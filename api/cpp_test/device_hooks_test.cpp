// SPDX-License-Identifier: Apache-2.0
// open_device and close_device of a plugin class: what the host passes, what the base keeps, and errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <stdexcept>
#include <vector>

#include "etb/cpp/plugin.hpp"

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

int open_count = 0;  // number of devices that were opened in all tests

// An open device. Ends with the host's handle.
class Opened {
 public:
  Opened(uint8_t of, int64_t at_level) : number(of), level(at_level) { ++open_count; }
  Opened(Opened&& other) noexcept : number(other.number), level(other.level) { ++open_count; }
  ~Opened() { --open_count; }

  uint8_t number;
  int64_t level;
};

struct Hooked;
struct OnDevice {
  static etb::Result<OnDevice> make(const Hooked&, etb::CreateArgs& args);
  // The device, as the number of inputs.
  etb::DelegateInfo info() const { return {.input_count = number}; }
  etb::Status execute(const etb::Run&) const { return {}; }
  uint8_t number = 0;
};

struct Hooked {
  using Delegate = OnDevice;
  static constexpr etb::OptionRow kOptions[] = {
      etb::i64_option("level", 3, 0, 9, ETB_OBJECT_DEVICE,
                      "How fast the device runs; 8 has no power, 9 throws."),
      etb::bool_option("busy", false, ETB_OBJECT_PLUGIN, "Whether devices do not close.")};

  static etb::Result<Hooked> make(const etb::Host&, const etb::Options& options) {
    return Hooked{options.get_bool("busy")};
  }
  etb::Status enumerate(const etb::DeviceSink& sink) const {
    for (uint8_t i = 1; i <= 2; ++i) {
      etb_device_info info{};
      info.struct_size = ETB_INIT_SIZE(etb_device_info);
      info.uuid[0] = i;
      info.kind = "npu";
      info.name = "a device";
      info.driver_version = "";
      ETB_TRY(sink.put(info));
    }
    return {};
  }
  etb::Result<Opened> open_device(const etb::DeviceArgs& args) {
    const int64_t level = args.options.get_i64("level");
    if (level == 8) return etb::make_error(etb::Code::UNAVAILABLE, "no power for level 8");
    if (level == 9) throw std::runtime_error("thrown in open");
    return Opened(args.uuid[0], level);
  }
  etb::Status close_device(Opened& opened) {
    if (is_busy)
      return etb::make_error(etb::Code::BUSY, "device " + std::to_string(opened.number) + " computes");
    return {};
  }

  bool is_busy;
};

etb::Result<OnDevice> OnDevice::make(const Hooked&, etb::CreateArgs& args) {
  return OnDevice{args.device == nullptr ? uint8_t{0} : etb::device_of<Hooked>(args.device).number};
}

// The same without hooks: the base drops the option.
struct Plain : Hooked {
  struct Delegate {
    static etb::Result<Delegate> make(const Plain&, etb::CreateArgs&) { return Delegate{}; }
    etb::DelegateInfo info() const { return {}; }
    etb::Status execute(const etb::Run&) const { return {}; }
  };
  static etb::Result<Plain> make(const etb::Host&, const etb::Options&) { return Plain{}; }
  void open_device() = delete;
  void close_device() = delete;
};

constexpr etb_plugin_ident kIdent{};
constexpr etb_plugin_table kHooked = etb::plugin_table<Hooked>(&kIdent, ETB_ABI_VERSION),
                           kPlain = etb::plugin_table<Plain>(&kIdent, ETB_ABI_VERSION);

etb_option level_option(int64_t level) {
  return etb::i64_option("level", level, 0, 9, 0, "").default_option();
}

class DeviceHooks : public testing::Test {
 protected:
  void SetUp() override { start(kHooked); }
  void TearDown() override {
    EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_OK) << error_.text;
    EXPECT_EQ(open_count, 0);
  }

  void start(const etb_plugin_table& table, const etb_option* option = nullptr) {
    if (plugin_ != nullptr) {
      EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_OK);
    }
    table_ = &table;
    host_.struct_size = ETB_INIT_SIZE(etb_host);
    host_.name = host_.version = host_.plugin_dir = "";
    host_.get_service = [](const etb_host*, const char*) -> const void* { return nullptr; };
    ASSERT_EQ(table.init(&host_, option, option != nullptr ? 1 : 0, &plugin_, &error_), ETB_OK)
        << error_.text;
  }
  etb_status open(uint8_t number, const std::vector<etb_option>& options = {}) {
    const uint8_t uuid[16] = {number};
    return table_->device->open(plugin_, uuid, options.data(), options.size(), &device_, &error_);
  }
  etb_status close() { return table_->device->close(device_, &error_); }
  etb_delegate* create() {
    etb_payload_view payload{};
    payload.struct_size = ETB_INIT_SIZE(etb_payload_view);
    payload.data = "1234";
    payload.nbytes = 4;
    payload.fd = -1;
    etb_delegate_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
    args.payload = &payload;
    args.device = device_;
    etb_delegate* made = nullptr;
    EXPECT_EQ(table_->delegate->create(plugin_, &args, &made, &error_), ETB_OK) << error_.text;
    return made;
  }

  etb_host host_{};
  const etb_plugin_table* table_ = nullptr;
  etb_plugin* plugin_ = nullptr;
  etb_device* device_ = nullptr;
  etb_error error_ = ETB_ERROR_INIT;
};

TEST_F(DeviceHooks, OpenGetsTheUuidAndTheOptions) {
  ASSERT_EQ(open(1), ETB_OK) << error_.text;
  EXPECT_EQ(etb::device_of<Hooked>(device_).number, 1);
  EXPECT_EQ(etb::device_of<Hooked>(device_).level, 3) << "the default";
  etb_device* const first = device_;
  ASSERT_EQ(open(2, {level_option(7)}), ETB_OK) << error_.text;
  EXPECT_EQ(etb::device_of<Hooked>(device_).number, 2);
  EXPECT_EQ(etb::device_of<Hooked>(device_).level, 7);
  EXPECT_EQ(open_count, 2);
  EXPECT_EQ(close(), ETB_OK);
  EXPECT_EQ(open_count, 1) << "the other one stays open";
  device_ = first;
  EXPECT_EQ(close(), ETB_OK);
}

// proves: ABI-OPT-01
TEST_F(DeviceHooks, UnlistedOptionsNeverReachOpen) {
  etb_option unknown = level_option(1);
  unknown.key = "speed";
  EXPECT_EQ(open(1, {unknown}), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "option 'speed': unknown key");
  unknown.key = "busy";
  unknown.type = ETB_OPTION_BOOL;
  EXPECT_EQ(open(1, {unknown}), ETB_INVALID_ARGUMENT) << "an option of the plugin";
  EXPECT_EQ(open(1, {level_option(10)}), ETB_INVALID_ARGUMENT) << "out of range";
  EXPECT_EQ(device_, nullptr);
  unknown.key = "x-speed";
  ASSERT_EQ(open(1, {unknown}), ETB_OK) << error_.text;
  EXPECT_EQ(close(), ETB_OK);
}

TEST_F(DeviceHooks, ErrorsOfOpenReachTheHostAndLeaveNothing) {
  EXPECT_EQ(open(1, {level_option(8)}), ETB_UNAVAILABLE);
  EXPECT_STREQ(error_.text, "no power for level 8");
  EXPECT_EQ(open(1, {level_option(9)}), ETB_INTERNAL);
  EXPECT_STREQ(error_.text, "thrown in open");
  EXPECT_EQ(open(3), ETB_NOT_FOUND) << "a device that is not there is not opened";
  EXPECT_EQ(device_, nullptr);
  EXPECT_EQ(open_count, 0);
}

TEST_F(DeviceHooks, DelegatesGetTheOpenDevice) {
  etb_delegate* const on_default = create();
  ASSERT_EQ(open(2), ETB_OK);
  etb_delegate* const on_second = create();
  std::vector<uint32_t> numbers;
  for (etb_delegate* const delegate : {on_default, on_second}) {
    etb_delegate_info info{};
    info.struct_size = ETB_INIT_SIZE(etb_delegate_info);
    EXPECT_EQ(table_->delegate->query(delegate, &info, &error_), ETB_OK);
    numbers.push_back(info.input_count);
  }
  EXPECT_THAT(numbers, ElementsAre(0, 2));
  EXPECT_EQ(close(), ETB_BUSY);
  EXPECT_EQ(open_count, 1) << "a device with a delegate stays open";
  for (etb_delegate* const delegate : {on_default, on_second})
    EXPECT_EQ(table_->delegate->destroy(delegate, &error_), ETB_OK);
  EXPECT_EQ(close(), ETB_OK);
}

TEST_F(DeviceHooks, AnErrorOfCloseKeepsTheDeviceOpen) {
  const etb_option busy = etb::bool_option("busy", true, 0, "").default_option();
  start(kHooked, &busy);
  ASSERT_EQ(open(2), ETB_OK);
  EXPECT_EQ(close(), ETB_BUSY);
  EXPECT_STREQ(error_.text, "device 2 computes");
  EXPECT_EQ(open_count, 1);
  EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_BUSY);
  int count = 0;
  const etb_device_sink sink = {ETB_INIT_SIZE(etb_device_sink), 0, &count,
                                [](void* ctx, const etb_device_info*) -> etb_status {
                                  ++*static_cast<int*>(ctx);
                                  return ETB_OK;
                                }};
  EXPECT_EQ(table_->device->query(device_, &sink, &error_), ETB_OK) << error_.text;
  EXPECT_EQ(count, 1);
  reinterpret_cast<etb::detail::PluginObject<Hooked>*>(plugin_)->impl.is_busy = false;
  EXPECT_EQ(close(), ETB_OK) << error_.text;
}

TEST_F(DeviceHooks, WithoutHooksDevicesOpen) {
  start(kPlain);
  ASSERT_EQ(open(1, {level_option(9)}), ETB_OK) << error_.text;
  EXPECT_EQ(open_count, 0);
  EXPECT_EQ(close(), ETB_OK);
}

}  // namespace
