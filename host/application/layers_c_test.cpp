// SPDX-License-Identifier: Apache-2.0
// Layers of the C API: an application tests what it does when a plugin fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "etb/etbackend.h"
#include "host/testing/scratch_dir.hpp"
#include "host/testing/toy_application.hpp"

namespace etb::host {
namespace {

using testing::Contains;
using testing::HasSubstr;

// An application with a first choice and a fallback: another registry, as it may have for another plugin.
class LayersC : public testing::Test {
 protected:
  LayersC() : bytes_(toy_program()) {
    etb_log_service log{};
    log.struct_size = sizeof(log);
    log.ctx = &lines_;
    log.min_level = ETB_LOG_WARNING;
    log.write = [](void* ctx, uint32_t, const char* text, const etb_option*, uint64_t) {
      static_cast<std::vector<std::string>*>(ctx)->emplace_back(text);
    };
    EXPECT_EQ(etb_set_log(&log, nullptr), ETB_OK);
  }
  ~LayersC() override {
    close();
    etb_set_log(nullptr, nullptr);
  }

  etb_status open(const std::vector<const char*>& layers) {
    close();
    etb_registry_options options = toy_registry_options();
    options.layers = layers.data();
    options.layer_count = layers.size();
    const etb_status status = etb_registry_open(&options, &registry_, &error_);
    if (status != ETB_OK) return status;
    etb_module_options module = ETB_MODULE_OPTIONS_INIT;
    module.registry = registry_;
    return etb_module_open_bytes(bytes_.view(), &module, &module_, &error_);
  }
  void close() {
    etb_module_close(module_);
    etb_registry_close(registry_);
    module_ = nullptr;
    registry_ = nullptr;
  }
  etb_status call() {
    const etb_value input = etb_value_tensor(ETB_DTYPE_FLOAT32, 1, &count_, x_, sizeof x_);
    output_ = ETB_VALUE_INIT;
    error_ = ETB_ERROR_INIT;
    return etb_module_call(module_, nullptr, &input, 1, nullptr, &output_, 1, &error_);
  }
  float first() const { return static_cast<const float*>(output_.tensor.data)[0]; }

  AlignedBytes bytes_;
  std::vector<std::string> lines_;
  etb_error error_ = ETB_ERROR_INIT;
  etb_registry* registry_ = nullptr;
  etb_module* module_ = nullptr;
  etb_value output_ = ETB_VALUE_INIT;
  int64_t count_ = 4;
  float x_[4] = {1, 2, 3, 4};
};

TEST_F(LayersC, AnApplicationFallsBackWhenADeviceIsLost) {
  ASSERT_EQ(open({"fault=device-lost,nth=2+seed=1"}), ETB_OK) << error_.text;
  ASSERT_EQ(call(), ETB_OK) << error_.text;
  const float right = first();
  ASSERT_EQ(call(), ETB_UNAVAILABLE);
  EXPECT_STREQ(error_.reason, "fault.device-lost");
  EXPECT_THAT(lines_, Contains(HasSubstr("fault: device-lost in delegate.execute(context 1)")));
  ASSERT_EQ(open({}), ETB_OK) << error_.text;  // the fallback
  ASSERT_EQ(call(), ETB_OK) << error_.text;
  EXPECT_EQ(first(), right);
}

// Each fault is an error that names its cause, or a result; never a crash, and everything can be closed.
TEST_F(LayersC, EachFaultIsACleanError) {
  for (const char* rules :
       {"fault=out-of-memory,at=plugin.init", "fault=out-of-memory,at=delegate.create",
        "fault=out-of-memory,at=delegate.query", "fault=out-of-memory,at=delegate.query_io",
        "fault=out-of-memory,at=delegate.context_create", "fault=out-of-memory,at=delegate.context_reserve",
        "fault=out-of-memory,at=delegate.execute", "fault=cut-payload,bytes=15", "fault=status,status=cancelled",
#ifndef __SANITIZE_ADDRESS__  // an object whose plugin refuses to destroy it stays, which LeakSanitizer reports
        "fault=status,status=busy,at=delegate.context_destroy", "fault=status,status=busy,at=delegate.destroy",
        "fault=status,status=internal,chance=0.5,at=*+seed=4"
#endif
       }) {
    const etb_status opened = open({rules});
    ASSERT_EQ(opened, ETB_OK) << rules << ": " << error_.text;
    for (int i = 0; i < 3; ++i) {
      const etb_status status = call();
      EXPECT_TRUE(status == ETB_OK || error_.text[0] != '\0') << rules;
    }
  }
}

TEST_F(LayersC, RecordsCallsToAFile) {
  const ScratchDir dir;
  const std::string layer = "trace=" + dir.path("calls.etbt");
  ASSERT_EQ(open({layer.c_str()}), ETB_OK) << error_.text;
  ASSERT_EQ(call(), ETB_OK) << error_.text;
  close();
  EXPECT_GT(std::filesystem::file_size(dir.path("calls.etbt")), 1000U);
}

TEST_F(LayersC, RefusesUnknownLayersWithTheAlternatives) {
  EXPECT_EQ(open({"sandbox"}), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "options: layer 'sandbox', expected fault=RULES or trace[=FILE]");
  EXPECT_EQ(open({"fault=explode"}), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(error_.text, HasSubstr("expected seed=N or one of out-of-memory, device-lost"));
  EXPECT_EQ(open({nullptr}), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "options: layer 0 is NULL");
  etb_registry_options options = toy_registry_options();
  options.layer_count = 1;
  EXPECT_EQ(etb_registry_open(&options, &registry_, &error_), ETB_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace etb::host
