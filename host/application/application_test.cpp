// SPDX-License-Identifier: Apache-2.0
// Modules of the C API, as an application uses them: libetbackend.so and the C headers alone. The plugin is the
// toy plugin, linked into the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "etb/etbackend.h"
#include "host/testing/toy_application.hpp"

namespace etb::host {
namespace {

using testing::HasSubstr;

std::string fixture(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/" + name;
}

class Application : public testing::Test {
 protected:
  ~Application() override {
    etb_module_close(module_);
    etb_registry_close(registry_);
  }

  etb_status open(const std::string& name, const etb_module_options* options = nullptr) {
    return etb_module_open(fixture(name).c_str(), options, &module_, &error_);
  }

  // Opens y = delegate(x) with the toy plugin.
  etb_status open_toy(etb_module_options options = ETB_MODULE_OPTIONS_INIT) {
    if (registry_ == nullptr) {
      const etb_registry_options linked = toy_registry_options();
      const etb_status status = etb_registry_open(&linked, &registry_, &error_);
      if (status != ETB_OK) return status;
    }
    bytes_ = toy_program();
    options.registry = registry_;
    return etb_module_open_bytes(bytes_.view(), &options, &module_, &error_);
  }

  etb_status open_endless() {
    bytes_ = endless_program();
    return etb_module_open_bytes(bytes_.view(), nullptr, &module_, &error_);
  }

  // Inputs of add.pte.
  etb_value matrix() { return etb_value_tensor(ETB_DTYPE_FLOAT32, 2, sizes_, x_, sizeof x_); }
  // Input of the toy program.
  etb_value vector() { return etb_value_tensor(ETB_DTYPE_FLOAT32, 1, &count_, x_, 4 * sizeof(float)); }

  etb_error error_ = ETB_ERROR_INIT;
  etb_registry* registry_ = nullptr;
  etb_module* module_ = nullptr;
  AlignedBytes bytes_;
  int64_t sizes_[2] = {2, 3};
  int64_t count_ = 4;
  float x_[6] = {1, 2, 3, 4, 5, 6};
};

TEST_F(Application, CallsAMethodByDefault) {
  ASSERT_EQ(open("add.pte"), ETB_OK) << error_.text;
  const etb_value inputs[] = {matrix(), matrix()};
  etb_value output = ETB_VALUE_INIT;
  ASSERT_EQ(etb_module_call(module_, nullptr, inputs, 2, nullptr, &output, 1, &error_), ETB_OK)
      << error_.text;
  EXPECT_EQ(output.tensor.rank, 2U);
  EXPECT_EQ(static_cast<const float*>(output.tensor.data)[5], 12);
  EXPECT_EQ(etb_module_call(module_, nullptr, inputs, 1, nullptr, nullptr, 0, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "1 inputs given, method 'forward' expects 2");
  EXPECT_EQ(etb_module_call(module_, nullptr, inputs, 2, nullptr, &output, 2, &error_), ETB_INVALID_ARGUMENT);
}

TEST_F(Application, RunsADelegateOnAPluginAndReportsTheDecision) {
  ASSERT_EQ(open_toy(), ETB_OK) << error_.text;
  const etb_value input = vector();
  etb_value output = ETB_VALUE_INIT;
  EXPECT_EQ(etb_module_decision_count(module_), 0U);
  ASSERT_EQ(etb_module_call(module_, nullptr, &input, 1, nullptr, &output, 1, &error_), ETB_OK)
      << error_.text;
  EXPECT_EQ(static_cast<const float*>(output.tensor.data)[3], 5);
  ASSERT_EQ(etb_module_decision_count(module_), 1U);
  etb_decision decision = ETB_DECISION_INIT;
  ASSERT_EQ(etb_module_decision(module_, 0, &decision, &error_), ETB_OK) << error_.text;
  EXPECT_STREQ(decision.backend_id, "ToyBackend");
  EXPECT_STRNE(decision.plugin_id, "");
  EXPECT_THAT(decision.json, HasSubstr("\"candidates\""));
  EXPECT_EQ(etb_module_decision(module_, 1, &decision, &error_), ETB_INVALID_ARGUMENT);
}

TEST_F(Application, PassesSettingsToThePluginTheDeviceAndTheRun) {
  const etb_setting gain = {ETB_INIT_SIZE(etb_setting), 0, toy_plugin_id(), "gain", "10.0"};
  etb_registry_options linked = toy_registry_options();
  linked.settings = &gain;
  linked.setting_count = 1;
  ASSERT_EQ(etb_registry_open(&linked, &registry_, &error_), ETB_OK) << error_.text;
  const etb_setting bias = {ETB_INIT_SIZE(etb_setting), 0, "ToyBackend", "bias", "0.5"};
  const etb_setting share = {ETB_INIT_SIZE(etb_setting), 0, "ToyBackend", "share", "true"};
  const etb_backend_choice choice = {ETB_INIT_SIZE(etb_backend_choice), 0, "ToyBackend", toy_plugin_id(),
                                     "toy"};
  const etb_setting settings[] = {bias, share};
  etb_module_options options = ETB_MODULE_OPTIONS_INIT;
  options.settings = settings;
  options.setting_count = 2;
  options.choices = &choice;
  options.choice_count = 1;
  ASSERT_EQ(open_toy(options), ETB_OK) << error_.text;
  const etb_value input = vector();
  etb_value output = ETB_VALUE_INIT;
  ASSERT_EQ(etb_module_call(module_, nullptr, &input, 1, nullptr, &output, 1, &error_), ETB_OK)
      << error_.text;
  EXPECT_EQ(static_cast<const float*>(output.tensor.data)[0], 1 + 10 + 0.5F);
  EXPECT_TRUE(toy_device_was_shared());
}

TEST_F(Application, PassesThePriorityAndTheNumberOfARun) {
  ASSERT_EQ(open_toy(), ETB_OK) << error_.text;
  const etb_value input = vector();
  const auto call = [&](const etb_run_limits* limits) {
    etb_value output = ETB_VALUE_INIT;
    return etb_module_call(module_, nullptr, &input, 1, limits, &output, 1, &error_);
  };
  ASSERT_EQ(call(nullptr), ETB_OK) << error_.text;
  const uint64_t first = latest_toy_run().run_id;
  EXPECT_NE(first, 0U);
  EXPECT_EQ(latest_toy_run().priority, 500U);
  etb_run_limits limits = ETB_RUN_LIMITS_INIT;
  ASSERT_EQ(call(&limits), ETB_OK) << error_.text;
  EXPECT_EQ(latest_toy_run().run_id, first + 1);
  limits.priority = 900;
  limits.run_id = 77;
  ASSERT_EQ(etb_module_start(module_, nullptr, &limits, nullptr, nullptr, &error_), ETB_OK) << error_.text;
  ASSERT_EQ(etb_module_wait(module_, UINT64_MAX, &error_), ETB_OK) << error_.text;
  EXPECT_EQ(latest_toy_run().run_id, 77U);
  EXPECT_EQ(latest_toy_run().priority, 900U);
  limits.priority = 1001;
  EXPECT_EQ(call(&limits), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "limits: the priority is 1001, expected 1 to 1000, or 0 for 500");
  limits.struct_size = ETB_SIZE_THROUGH(etb_run_limits, timeout_ns);  // an application of before
  ASSERT_EQ(call(&limits), ETB_OK) << error_.text;
  EXPECT_EQ(latest_toy_run().priority, 500U);
}

TEST_F(Application, ChangesAnOptionOfAnOpenModule) {
  ASSERT_EQ(open_toy(), ETB_OK) << error_.text;
  const etb_value input = vector();
  const auto first = [&] {
    etb_value output = ETB_VALUE_INIT;
    EXPECT_EQ(etb_module_call(module_, nullptr, &input, 1, nullptr, &output, 1, &error_), ETB_OK)
        << error_.text;
    return static_cast<const float*>(output.tensor.data)[0];
  };
  const auto set = [&](const char* id, const char* key, const char* text) {
    return etb_module_set_option(module_, id, key, text, &error_);
  };
  EXPECT_EQ(set("ToyBackend", "bias", "0.25"), ETB_OK) << "before the method is loaded: " << error_.text;
  EXPECT_EQ(first(), 2.25F);
  EXPECT_EQ(set("ToyBackend", "bias", "0.5"), ETB_OK) << error_.text;
  EXPECT_EQ(first(), 2.5F);
  EXPECT_EQ(set("ToyBackend", "speed", "9"), ETB_NOT_FOUND);
  EXPECT_THAT(error_.text, HasSubstr("option 'speed': the plugin has 'gain', 'bias', 'share'"));
  EXPECT_EQ(set("ToyBackend", "bias", "much"), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(set("ToyBackend", "share", "true"), ETB_INVALID_STATE);
  EXPECT_EQ(set("Toy", "bias", "1"), ETB_NOT_FOUND);
  EXPECT_STREQ(error_.text, "delegate 'Toy': the program has 'ToyBackend'");
  EXPECT_EQ(set("ToyBackend", "bias", nullptr), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "text is NULL");
  EXPECT_EQ(first(), 2.5F);
}

TEST_F(Application, AModuleWithoutPluginsHasNoOptions) {
  etb_module_options options = ETB_MODULE_OPTIONS_INIT;
  options.flags = ETB_MODULE_NO_PLUGINS;
  ASSERT_EQ(open_toy(options), ETB_OK) << error_.text;
  EXPECT_EQ(etb_module_set_option(module_, "ToyBackend", "bias", "1", &error_), ETB_NOT_SUPPORTED);
}

TEST_F(Application, RefusesASettingThatThePluginLacks) {
  etb_module_options options = ETB_MODULE_OPTIONS_INIT;
  const etb_setting unknown = {ETB_INIT_SIZE(etb_setting), 0, "ToyBackend", "speed", "9"};
  options.settings = &unknown;
  options.setting_count = 1;
  ASSERT_EQ(open_toy(options), ETB_OK) << error_.text;
  EXPECT_EQ(etb_module_load_method(module_, nullptr, &error_), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(error_.text, HasSubstr("option 'speed'"));
}

TEST_F(Application, NamesThePlacesWhenNoPluginServesADelegate) {
  bytes_ = toy_program("NoSuchBackend");
  etb_registry_options linked = toy_registry_options();
  ASSERT_EQ(etb_registry_open(&linked, &registry_, &error_), ETB_OK) << error_.text;
  etb_module_options options = ETB_MODULE_OPTIONS_INIT;
  options.registry = registry_;
  ASSERT_EQ(etb_module_open_bytes(bytes_.view(), &options, &module_, &error_), ETB_OK) << error_.text;
  EXPECT_EQ(etb_module_load_method(module_, nullptr, &error_), ETB_NOT_FOUND);
  EXPECT_THAT(etb_last_error(), HasSubstr("NoSuchBackend"));
  EXPECT_EQ(etb_module_decision_count(module_), 1U);
}

TEST_F(Application, TracesKernelsAndDelegates) {
  std::vector<uint32_t> kinds;
  etb_trace_sink sink{};
  sink.struct_size = ETB_INIT_SIZE(etb_trace_sink);
  sink.ctx = &kinds;
  sink.put = [](void* ctx, const etb_trace_event* event) -> etb_status {
    EXPECT_LE(event->begin_ns, event->end_ns);
    static_cast<std::vector<uint32_t>*>(ctx)->push_back(event->kind);
    return ETB_OK;
  };
  etb_module_options options = ETB_MODULE_OPTIONS_INIT;
  options.trace = &sink;
  ASSERT_EQ(open_toy(options), ETB_OK) << error_.text;
  const etb_value input = vector();
  ASSERT_EQ(etb_module_call(module_, nullptr, &input, 1, nullptr, nullptr, 0, &error_), ETB_OK)
      << error_.text;
  EXPECT_THAT(kinds, testing::ElementsAre(ETB_TRACE_INIT_METHOD, ETB_TRACE_LOAD_METHOD, ETB_TRACE_DELEGATE,
                                          ETB_TRACE_EXECUTE));
}

// Counts the blocks that the module takes, and allocates them from the C library.
struct CountingMemory {
  int64_t blocks = 0;
  int64_t total = 0;
  bool is_exhausted = false;
  etb_alloc_service service{};
  CountingMemory() {
    service.struct_size = ETB_INIT_SIZE(etb_alloc_service);
    service.ctx = this;
    service.allocate = [](void* ctx, uint64_t nbytes, uint64_t alignment, const char*) -> void* {
      auto* const self = static_cast<CountingMemory*>(ctx);
      if (self->is_exhausted) return nullptr;
      ++self->blocks;
      ++self->total;
      void* const memory = std::aligned_alloc(alignment, (nbytes + alignment - 1) / alignment * alignment);
      std::memset(memory, 0xcd, nbytes);
      return memory;
    };
    service.free = [](void* ctx, void* memory) {
      if (memory != nullptr) --static_cast<CountingMemory*>(ctx)->blocks;
      std::free(memory);
    };
  }
};

TEST_F(Application, TakesMemoryFromTheApplicationsAllocator) {
  CountingMemory memory;
  etb_module_options options = ETB_MODULE_OPTIONS_INIT;
  options.allocator = &memory.service;
  ASSERT_EQ(open("conv.pte", &options), ETB_OK) << error_.text;
  ASSERT_EQ(etb_module_load_method(module_, nullptr, &error_), ETB_OK) << error_.text;
  EXPECT_GT(memory.total, 0);
  etb_module_close(module_);
  module_ = nullptr;
  EXPECT_EQ(memory.blocks, 0);
  memory.is_exhausted = true;
  ASSERT_EQ(open("conv.pte", &options), ETB_OK) << error_.text;
  EXPECT_EQ(etb_module_load_method(module_, nullptr, &error_), ETB_OUT_OF_MEMORY);
}

TEST_F(Application, OpensAPartOfAFile) {
  const std::string path = testing::TempDir() + "etb_application_part";
  std::ifstream from(fixture("add.pte"), std::ios::binary);
  std::ofstream(path, std::ios::binary) << std::string(4096, 'x') << from.rdbuf() << "tail";
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(etb_module_open_descriptor(descriptor, 4096, 0, nullptr, &module_, &error_), ETB_OK)
      << error_.text;
  ::close(descriptor);
  const etb_value inputs[] = {matrix(), matrix()};
  EXPECT_EQ(etb_module_call(module_, nullptr, inputs, 2, nullptr, nullptr, 0, &error_), ETB_OK)
      << error_.text;
  etb_module* second = nullptr;
  EXPECT_EQ(etb_module_open_descriptor(-1, 0, 0, nullptr, &second, &error_), ETB_ACCESS_FAILED);
  EXPECT_EQ(second, nullptr);
}

TEST_F(Application, OpensAProgramAgainForASecondThread) {
  ASSERT_EQ(open("add.pte"), ETB_OK) << error_.text;
  etb_module* second = nullptr;
  ASSERT_EQ(etb_module_open_again(module_, nullptr, &second, &error_), ETB_OK) << error_.text;
  etb_module_close(module_);
  module_ = second;
  const etb_value inputs[] = {matrix(), matrix()};
  EXPECT_EQ(etb_module_call(module_, nullptr, inputs, 2, nullptr, nullptr, 0, &error_), ETB_OK)
      << error_.text;
}

// Modules on one program with one registry share its delegates; each has contexts of its own.
TEST(ApplicationContexts, AreThoseOfOneDelegate) {
  constexpr uint32_t kModules = 4;
  etb_error error = ETB_ERROR_INIT;
  const etb_registry_options linked = toy_registry_options();
  etb_module_options options = ETB_MODULE_OPTIONS_INIT;
  ASSERT_EQ(etb_registry_open(&linked, &options.registry, &error), ETB_OK) << error.text;
  const AlignedBytes program = toy_program();
  const ToyCounts before = toy_counts();
  etb_module* modules[kModules] = {};
  ASSERT_EQ(etb_module_open_bytes(program.view(), &options, &modules[0], &error), ETB_OK) << error.text;
  for (uint32_t i = 1; i < kModules; ++i)
    ASSERT_EQ(etb_module_open_again(modules[0], &options, &modules[i], &error), ETB_OK) << error.text;
  etb_registry_close(options.registry);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kModules; ++i)
    threads.emplace_back([module = modules[i], i] {
      float x[] = {static_cast<float>(i), 1, 2, 3};
      int64_t sizes[] = {4};
      const etb_value value = etb_value_tensor(ETB_DTYPE_FLOAT32, 1, sizes, x, sizeof x);
      etb_value output = ETB_VALUE_INIT;
      for (int run = 0; run < 100; ++run) {
        etb_error failed = ETB_ERROR_INIT;
        ASSERT_EQ(etb_module_call(module, nullptr, &value, 1, nullptr, &output, 1, &failed), ETB_OK)
            << failed.text;
        EXPECT_EQ(static_cast<const float*>(output.tensor.data)[0], static_cast<float>(i + 1));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(toy_counts().delegates_made - before.delegates_made, 1);
  EXPECT_EQ(toy_counts().contexts_made - before.contexts_made, static_cast<int>(kModules));
  for (uint32_t i = 0; i < kModules; ++i) {
    EXPECT_EQ(toy_counts().delegates_alive - before.delegates_alive, 1) << "until the last module is closed";
    etb_module_close(modules[i]);
  }
  EXPECT_EQ(toy_counts().delegates_alive, before.delegates_alive);
  EXPECT_EQ(toy_counts().contexts_alive, before.contexts_alive);
}

// ---- Runs on a thread

struct End {
  std::atomic<int> count{0};
  std::atomic<etb_status> status{-1};
  static void ETB_CALL put(void* ctx, etb_status status, const etb_error*) {
    static_cast<End*>(ctx)->status = status;
    ++static_cast<End*>(ctx)->count;
  }
};

TEST_F(Application, RunsOnItsThread) {
  ASSERT_EQ(open("add.pte"), ETB_OK) << error_.text;
  EXPECT_EQ(etb_module_wait(module_, 0, &error_), ETB_INVALID_STATE);
  End end;
  EXPECT_EQ(etb_module_start(module_, nullptr, nullptr, &End::put, &end, &error_), ETB_INVALID_STATE);
  EXPECT_STREQ(error_.text, "input 0 was never set");
  const etb_value value = matrix();
  for (uint32_t i = 0; i < 2; ++i)
    ASSERT_EQ(etb_module_set_input(module_, nullptr, i, &value, &error_), ETB_OK);
  for (int run = 1; run <= 3; ++run) {
    ASSERT_EQ(etb_module_start(module_, nullptr, nullptr, &End::put, &end, &error_), ETB_OK) << error_.text;
    ASSERT_EQ(etb_module_wait(module_, UINT64_MAX, &error_), ETB_OK) << error_.text;
    etb_value output = ETB_VALUE_INIT;
    ASSERT_EQ(etb_module_get_output(module_, nullptr, 0, &output, &error_), ETB_OK) << error_.text;
    EXPECT_EQ(static_cast<const float*>(output.tensor.data)[5], 12);
  }
  etb_module_close(module_);  // waits for the last `done`
  module_ = nullptr;
  EXPECT_EQ(end.count, 3);
  EXPECT_EQ(end.status, ETB_OK);
}

TEST_F(Application, CancelsAStartedRun) {
  ASSERT_EQ(open_endless(), ETB_OK) << error_.text;
  End end;
  etb_run_limits limits = ETB_RUN_LIMITS_INIT;
  limits.max_instructions = UINT64_MAX;
  ASSERT_EQ(etb_module_start(module_, nullptr, &limits, &End::put, &end, &error_), ETB_OK) << error_.text;
  EXPECT_EQ(etb_module_wait(module_, 1000000, &error_), ETB_DEADLINE_EXCEEDED);
  EXPECT_STREQ(error_.reason, "module.running");
  etb_value output = ETB_VALUE_INIT;
  EXPECT_EQ(etb_module_get_output(module_, nullptr, 0, &output, &error_), ETB_BUSY);
  EXPECT_EQ(etb_module_load_method(module_, nullptr, &error_), ETB_BUSY);
  etb_module_cancel(module_);
  EXPECT_EQ(etb_module_wait(module_, UINT64_MAX, &error_), ETB_CANCELLED);
  limits.max_instructions = 1000;
  EXPECT_EQ(etb_module_execute(module_, nullptr, &limits, nullptr), ETB_OUT_OF_RESOURCES);
  etb_module_close(module_);  // waits for `done`, which writes to `end`
  module_ = nullptr;
  EXPECT_EQ(end.status, ETB_CANCELLED);
}

TEST_F(Application, ClosesDuringAStartedRun) {
  ASSERT_EQ(open_endless(), ETB_OK) << error_.text;
  End end;
  etb_run_limits limits = ETB_RUN_LIMITS_INIT;
  limits.max_instructions = UINT64_MAX;
  ASSERT_EQ(etb_module_start(module_, nullptr, &limits, &End::put, &end, &error_), ETB_OK) << error_.text;
  etb_module_close(module_);
  module_ = nullptr;
  EXPECT_EQ(end.status, ETB_CANCELLED);
}

TEST(ApplicationSteps, DescribeSetExecuteAndGet) {
  etb_error error = ETB_ERROR_INIT;
  etb_module* module = nullptr;
  ASSERT_EQ(etb_module_open(fixture("add.pte").c_str(), nullptr, &module, &error), ETB_OK) << error.text;
  EXPECT_EQ(etb_module_method_count(module), 1U);
  EXPECT_STREQ(etb_module_method_name(module, 0), "forward");
  EXPECT_EQ(etb_module_method_name(module, 1), nullptr);
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  ASSERT_EQ(etb_module_io_count(module, "forward", &inputs, &outputs, &error), ETB_OK);
  EXPECT_EQ(inputs, 2U);
  EXPECT_EQ(outputs, 1U);
  etb_value spec = ETB_VALUE_INIT;
  ASSERT_EQ(etb_module_input_spec(module, "forward", 1, &spec, &error), ETB_OK) << error.text;
  EXPECT_EQ(spec.kind, ETB_VALUE_TENSOR);
  EXPECT_EQ(spec.tensor.dtype, ETB_DTYPE_FLOAT32);
  EXPECT_EQ(spec.tensor.rank, 2U);
  EXPECT_EQ(spec.tensor.sizes[1], 3);
  int64_t sizes[] = {2, 3};
  float x[] = {1, 2, 3, 4, 5, 6};
  const etb_value value = etb_value_tensor(ETB_DTYPE_FLOAT32, 2, sizes, x, sizeof(x));
  ASSERT_EQ(etb_module_set_input(module, "forward", 0, &value, &error), ETB_OK) << error.text;
  EXPECT_EQ(etb_module_execute(module, "forward", nullptr, &error), ETB_INVALID_STATE);
  EXPECT_STREQ(error.text, "input 1 was never set");
  ASSERT_EQ(etb_module_set_input(module, "forward", 1, &value, &error), ETB_OK) << error.text;
  ASSERT_EQ(etb_module_execute(module, "forward", nullptr, &error), ETB_OK) << error.text;
  etb_value output = ETB_VALUE_INIT;
  ASSERT_EQ(etb_module_get_output(module, "forward", 0, &output, &error), ETB_OK) << error.text;
  EXPECT_EQ(static_cast<const float*>(output.tensor.data)[5], 12);
  etb_module_close(module);
}

// ---- Threads

TEST(ApplicationThreads, LoadRunAndUnloadOnEight) {
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&failed, t] {
      const AlignedBytes program = toy_program();
      for (int round = 0; round < 20; ++round) {
        etb_error error = ETB_ERROR_INIT;
        etb_registry* registry = nullptr;
        etb_module* module = nullptr;
        etb_module* own = nullptr;
        const etb_registry_options linked = toy_registry_options();
        etb_module_options options = ETB_MODULE_OPTIONS_INIT;
        int64_t count = 4;
        float x[4] = {1, 2, 3, static_cast<float>(t)};
        const etb_value input = etb_value_tensor(ETB_DTYPE_FLOAT32, 1, &count, x, sizeof x);
        etb_value output = ETB_VALUE_INIT;
        etb_status status = etb_registry_open(&linked, &registry, &error);
        options.registry = registry;
        if (status == ETB_OK) status = etb_module_open_bytes(program.view(), &options, &module, &error);
        etb_registry_close(registry);  // the module keeps what it needs
        if (status == ETB_OK)
          status = etb_module_call(module, nullptr, &input, 1, nullptr, &output, 1, &error);
        if (status == ETB_OK && static_cast<const float*>(output.tensor.data)[3] != static_cast<float>(t) + 1)
          ++failed;
        if (status == ETB_OK) status = etb_module_open(fixture("add.pte").c_str(), nullptr, &own, &error);
        if (status != ETB_OK) ++failed;
        etb_module_close(own);
        etb_module_close(module);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0) << etb_last_error();
}

}  // namespace
}  // namespace etb::host
