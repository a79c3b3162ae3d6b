// SPDX-License-Identifier: Apache-2.0
// set_option and get_option of the plugin base: each kind of object changes and reports its own options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "etb/cpp/plugin.hpp"

namespace {

using testing::HasSubstr;

// An object with one number that the host changes.
struct Adjustable {
  etb::Status set_option(const etb::Options& options) {
    value = options.get_i64(key);
    return {};
  }
  etb::Status get_option(std::string_view, etb_option& out) const {
    out.i64 = value;
    return {};
  }
  const char* key;
  int64_t value = 1;
};

struct Dial;
struct Weights {
  static etb::Result<Weights> make(const Dial&, etb::CreateArgs&) { return Weights{}; }
  etb::DelegateInfo info() const { return {}; }
  struct Context : Adjustable {
    explicit Context(const Weights&) : Adjustable{"steps"} {}
    etb::Status execute(const etb::Run&) { return {}; }
  };
};

struct Dial {
  using Delegate = Weights;
  static constexpr etb::OptionRow kOptions[] = {
      etb::i64_option("clock", 1, 0, 9, ETB_OBJECT_DEVICE, "Speed of the device.", ETB_OPTION_ANY_TIME),
      etb::i64_option("steps", 1, 0, 9, ETB_OBJECT_CONTEXT, "Steps of a run.", ETB_OPTION_BETWEEN),
      etb::i64_option("lost", 1, 0, 9, ETB_OBJECT_DELEGATE, "An option that Weights cannot change.",
                      ETB_OPTION_BETWEEN),
      etb::bool_option("fixed", false, ETB_OBJECT_DEVICE, "An option that never changes.")};
  etb::Result<Adjustable> open_device(const etb::DeviceArgs& args) {
    return Adjustable{"clock", args.options.get_i64("clock")};
  }
};

constexpr etb_plugin_ident kIdent{};
constexpr etb_plugin_table kTable = etb::plugin_table<Dial>(&kIdent, ETB_ABI_VERSION);

class OptionChange : public testing::Test {
 protected:
  void SetUp() override {
    host_.struct_size = ETB_INIT_SIZE(etb_host);
    host_.name = host_.version = host_.plugin_dir = "";
    host_.get_service = [](const etb_host*, const char*) -> const void* { return nullptr; };
    ASSERT_EQ(kTable.init(&host_, nullptr, 0, &plugin_, &error_), ETB_OK) << error_.text;
    etb_device_sink sink{ETB_INIT_SIZE(etb_device_sink), 0, uuid_,
                         [](void* uuid, const etb_device_info* info) -> etb_status {
                           std::memcpy(uuid, info->uuid, sizeof info->uuid);
                           return ETB_OK;
                         }};
    ASSERT_EQ(kTable.device->enumerate(plugin_, &sink, &error_), ETB_OK);
    ASSERT_EQ(kTable.device->open(plugin_, uuid_, nullptr, 0, &device_, &error_), ETB_OK) << error_.text;
    etb_payload_view payload{};
    payload.struct_size = ETB_INIT_SIZE(etb_payload_view);
    payload.data = "";
    payload.fd = -1;
    etb_delegate_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
    args.backend_id = "Dial";
    args.method_name = "forward";
    args.payload = &payload;
    args.device = device_;
    ASSERT_EQ(kTable.delegate->create(plugin_, &args, &delegate_, &error_), ETB_OK) << error_.text;
    for (etb_context*& context : contexts_)
      ASSERT_EQ(kTable.delegate->context_create(delegate_, nullptr, 0, &context, &error_), ETB_OK);
  }
  void TearDown() override {
    for (etb_context* const context : contexts_)
      EXPECT_EQ(kTable.delegate->context_destroy(context, &error_), ETB_OK);
    EXPECT_EQ(kTable.delegate->destroy(delegate_, &error_), ETB_OK);
    EXPECT_EQ(kTable.device->close(device_, &error_), ETB_OK);
    EXPECT_EQ(kTable.deinit(plugin_, &error_), ETB_OK);
  }

  etb_status set(uint32_t kind, void* object, const char* key, int64_t value) {
    const etb_option option = etb::i64_option(key, value, 0, 9, 0, "").default_option();
    return kTable.set_option(plugin_, kind, object, &option, &error_);
  }
  // -1: the object does not report the option.
  int64_t value_of(uint32_t kind, void* object, const char* key) {
    int64_t value = -1;
    const etb_option_sink sink{ETB_INIT_SIZE(etb_option_sink), 0, &value,
                               [](void* out, const etb_option* option) -> etb_status {
                                 *static_cast<int64_t*>(out) = option->i64;
                                 return ETB_OK;
                               }};
    (void)kTable.get_option(plugin_, kind, object, key, &sink, &error_);
    return value;
  }

  etb_host host_{};
  etb_error error_ = ETB_ERROR_INIT;
  uint8_t uuid_[16] = {};
  etb_plugin* plugin_ = nullptr;
  etb_device* device_ = nullptr;
  etb_delegate* delegate_ = nullptr;
  etb_context* contexts_[2] = {};
};

TEST_F(OptionChange, ADeviceChangesAndReportsItsOption) {
  EXPECT_NE(kTable.caps & ETB_PLUGIN_CAP_SET_OPTION, 0U);
  EXPECT_NE(kTable.caps & ETB_PLUGIN_CAP_GET_OPTION, 0U);
  EXPECT_EQ(set(ETB_OBJECT_DEVICE, device_, "clock", 5), ETB_OK) << error_.text;
  EXPECT_EQ(value_of(ETB_OBJECT_DEVICE, device_, "clock"), 5);
  EXPECT_EQ(set(ETB_OBJECT_DEVICE, device_, "clock", 10), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(value_of(ETB_OBJECT_DEVICE, device_, "clock"), 5);
  EXPECT_EQ(set(ETB_OBJECT_DEVICE, device_, "steps", 5), ETB_NOT_FOUND) << "of contexts";
  EXPECT_EQ(set(ETB_OBJECT_DEVICE, device_, "fixed", 1), ETB_INVALID_STATE);
}

TEST_F(OptionChange, EachContextHasAnOptionOfItsOwn) {
  EXPECT_EQ(set(ETB_OBJECT_CONTEXT, contexts_[0], "steps", 7), ETB_OK) << error_.text;
  EXPECT_EQ(value_of(ETB_OBJECT_CONTEXT, contexts_[0], "steps"), 7);
  EXPECT_EQ(value_of(ETB_OBJECT_CONTEXT, contexts_[1], "steps"), 1);
}

TEST_F(OptionChange, AContextTakesOptionsWhenItIsMade) {
  const auto make = [&](int64_t value, etb_context*& out) {
    const etb_option option = etb::i64_option("steps", value, 0, 9, 0, "").default_option();
    return kTable.delegate->context_create(delegate_, &option, 1, &out, &error_);
  };
  etb_context* made = nullptr;
  EXPECT_EQ(make(10, made), ETB_INVALID_ARGUMENT);
  ASSERT_EQ(make(4, made), ETB_OK) << error_.text;
  EXPECT_EQ(value_of(ETB_OBJECT_CONTEXT, made, "steps"), 4);
  EXPECT_EQ(value_of(ETB_OBJECT_CONTEXT, contexts_[0], "steps"), 1);
  EXPECT_EQ(kTable.delegate->context_destroy(made, &error_), ETB_OK);
}

TEST_F(OptionChange, AnObjectWithoutTheFunctionsRejectsTheCall) {
  EXPECT_EQ(set(ETB_OBJECT_DELEGATE, delegate_, "lost", 7), ETB_NOT_SUPPORTED);
  EXPECT_THAT(error_.text, HasSubstr("option 'lost'"));
  EXPECT_EQ(value_of(ETB_OBJECT_DELEGATE, delegate_, "lost"), -1);
}

}  // namespace
