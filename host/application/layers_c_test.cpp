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
#include "host/testing/toy_plugin.hpp"

namespace etb::host {
namespace {

constexpr char kSecondId[] = "org.example.second";

// Another plugin for the delegates of the toy, with the same results.
const etb_plugin_table* ETB_CALL query_second(const etb_host*, uint32_t, uint32_t) {
  static const ToyPlugin* const toy = [] {
    auto* const made = new ToyPlugin;
    std::snprintf(made->ident.id, sizeof made->ident.id, "%s", kSecondId);
    return made;
  }();
  return &toy->plugin;
}

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
    const etb_static_plugin both[] = {*options.static_plugins,
                                      {ETB_INIT_SIZE(etb_static_plugin), 0, &query_second, kToyBackend}};
    if (has_second_) {
      options.static_plugins = both;
      options.static_plugin_count = std::size(both);
    }
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
  etb_status call(uint64_t timeout_ns = 0) {
    etb_run_limits limits = ETB_RUN_LIMITS_INIT;
    limits.timeout_ns = timeout_ns;
    const etb_value input = etb_value_tensor(ETB_DTYPE_FLOAT32, 1, &count_, x_, sizeof x_);
    output_ = ETB_VALUE_INIT;
    error_ = ETB_ERROR_INIT;
    return etb_module_call(module_, nullptr, &input, 1, &limits, &output_, 1, &error_);
  }
  float first() const { return static_cast<const float*>(output_.tensor.data)[0]; }

  // Plugin that runs the delegate of the module, "" before the first call.
  std::string plugin_id() {
    etb_decision decision = ETB_DECISION_INIT;
    return etb_module_decision(module_, 0, &decision, nullptr) == ETB_OK ? decision.plugin_id : "";
  }
  // The outcome of `count` calls: "." for a result, else the number of the status.
  std::string outcomes(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      const etb_status status = call();
      text += status == ETB_OK ? "." : std::to_string(status);
    }
    return text;
  }
  // Opens the module behind faults and calls it: the call must fail with `expected`. Then the same without faults.
  void expect_fallback(const char* rules, etb_status expected, uint64_t timeout_ns = 0) {
    SCOPED_TRACE(rules);
    for (int repeat = 0; repeat < 2; ++repeat) {  // the same rules and seed, the same fault
      ASSERT_EQ(open({rules}), ETB_OK) << error_.text;
      EXPECT_EQ(call(timeout_ns), expected) << error_.text;
      EXPECT_STRNE(error_.text, "");
    }
    ASSERT_EQ(open({}), ETB_OK) << error_.text;  // the fallback
    ASSERT_EQ(call(), ETB_OK) << error_.text;
    EXPECT_EQ(first(), 2);
  }

  bool has_second_ = false;
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

TEST_F(LayersC, AnApplicationFallsBackWhenMemoryIsShort) {
  expect_fallback("fault=out-of-memory,at=delegate.create,nth=1+seed=1", ETB_OUT_OF_MEMORY);
  expect_fallback("fault=out-of-memory,at=delegate.execute,nth=1+seed=1", ETB_OUT_OF_MEMORY);
}

TEST_F(LayersC, AnApplicationFallsBackWhenAPluginIsSlow) {
  constexpr uint64_t kTimeoutNs = 20'000'000;
  expect_fallback("fault=delay,ms=200,nth=1+seed=1", ETB_DEADLINE_EXCEEDED, kTimeoutNs);
}

TEST_F(LayersC, AnApplicationFallsBackWhenAPayloadIsCorrupt) {
  expect_fallback("fault=cut-payload,bytes=15+seed=1", ETB_INVALID_DATA);
  // 200 of the 128 bits of a payload of 16 bytes, some of them twice: its first bytes cannot stay.
  expect_fallback("fault=flip-payload,bits=200+seed=1", ETB_INVALID_DATA);
}

TEST_F(LayersC, FaultsByChanceRepeatByTheirSeed) {
  const char* const rules = "fault=status,status=busy,chance=0.5+seed=3";
  ASSERT_EQ(open({rules}), ETB_OK) << error_.text;
  const std::string once = outcomes(40);
  ASSERT_EQ(open({rules}), ETB_OK) << error_.text;
  EXPECT_EQ(outcomes(40), once);
  EXPECT_THAT(once, HasSubstr("."));
  EXPECT_THAT(once, HasSubstr(std::to_string(ETB_BUSY)));
  ASSERT_EQ(open({"fault=status,status=busy,chance=0.5+seed=4"}), ETB_OK) << error_.text;
  EXPECT_NE(outcomes(40), once);
}

// The host itself falls back, where another plugin serves the same delegates.
TEST_F(LayersC, TheHostTriesTheNextCandidateWhenTheFirstDoesNotStart) {
  has_second_ = true;
  ASSERT_EQ(open({}), ETB_OK) << error_.text;
  ASSERT_EQ(call(), ETB_OK) << error_.text;
  const std::string best = plugin_id();
  const std::string other = best == kSecondId ? toy_plugin_id() : kSecondId;
  for (const char* rules : {"fault=out-of-memory,at=plugin.init,nth=1+seed=1", "fault=delay,ms=1+seed=1",
                            "fault=device-lost,at=plugin.init,nth=1+seed=1"}) {
    const bool is_init_fault = std::string(rules).find("plugin.init") != std::string::npos;
    ASSERT_EQ(open({rules}), ETB_OK) << error_.text;
    ASSERT_EQ(call(), ETB_OK) << rules << ": " << error_.text;
    EXPECT_EQ(first(), 2) << rules;
    EXPECT_EQ(plugin_id(), is_init_fault ? other : best) << rules;
    etb_decision decision = ETB_DECISION_INIT;
    ASSERT_EQ(etb_module_decision(module_, 0, &decision, &error_), ETB_OK) << error_.text;
    EXPECT_EQ(std::string(decision.json).find("a fault of the fault layer") != std::string::npos,
              is_init_fault)
        << decision.json;
  }
  ASSERT_EQ(open({"fault=out-of-memory,at=plugin.init+seed=1"}), ETB_OK);
  EXPECT_EQ(call(), ETB_OUT_OF_MEMORY) << "when no candidate starts";
}

// Each fault is an error that names its cause, or a result; never a crash, and everything can be closed.
TEST_F(LayersC, EachFaultIsACleanError) {
  for (const char* rules :
       {"fault=out-of-memory,at=plugin.init", "fault=out-of-memory,at=delegate.create",
        "fault=out-of-memory,at=delegate.query", "fault=out-of-memory,at=delegate.query_io",
        "fault=out-of-memory,at=delegate.context_create", "fault=out-of-memory,at=delegate.context_reserve",
        "fault=out-of-memory,at=delegate.execute", "fault=cut-payload,bytes=15",
        "fault=status,status=cancelled",
#ifndef __SANITIZE_ADDRESS__  // an object whose plugin refuses to destroy it stays, which LeakSanitizer reports
        "fault=status,status=busy,at=delegate.context_destroy",
        "fault=status,status=busy,at=delegate.destroy", "fault=status,status=internal,chance=0.5,at=*+seed=4"
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
