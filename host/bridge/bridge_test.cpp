// SPDX-License-Identifier: Apache-2.0
// Delegates of another runtime on plugins, wrong plugins included. Needs nothing of that runtime.
#include "host/bridge/bridge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "host/testing/linked_only.hpp"
#include "host/testing/toy_plugin.hpp"

namespace etb::host {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// The toy whose functions a test has replaced; the query function of a static plugin has no argument for it.
ToyPlugin* toy_of_test = nullptr;
const etb_plugin_table* ETB_CALL query_toy(const etb_host*, uint32_t, uint32_t) {
  return &toy_of_test->plugin;
}
const etb_static_plugin kPlugins[] = {{ETB_INIT_SIZE(etb_static_plugin), 0, &query_toy, kToyBackend}};

struct BridgeTest : testing::Test {
  BridgeTest() { toy_of_test = &toy; }

  static RegistryOptions registry() { return linked_only(kPlugins); }
  static BridgeOptions one_thread() {
    BridgeOptions options;
    options.thread_count = 1;
    return options;
  }
  static BridgedRequest request(const char* payload = kToyPayload) {
    BridgedRequest request;
    request.backend_id = kToyBackend;
    request.method_name = "forward";
    request.payload = DataBlock({reinterpret_cast<const std::byte*>(payload), std::strlen(payload)});
    return request;
  }
  // y = delegate(x)
  etb_status run(BridgedDelegate& delegate) {
    const ForeignValue values[] = {ForeignTensor{6, sizes, {}, x.data(), is_resizable},
                                   ForeignTensor{6, sizes, {}, y.data(), is_resizable}};
    error = ETB_ERROR_INIT;
    return delegate.execute(values, &error);
  }

  ToyPlugin toy;
  std::vector<int32_t> sizes = {4};
  std::vector<float> x = {1, 2, 3, 4}, y = std::vector<float>(4);
  bool is_resizable = false;
  etb_error error = ETB_ERROR_INIT;
};

TEST_F(BridgeTest, RunsTheNamedPlugin) {
  Bridge bridge(registry(), one_thread());
  const auto delegate = bridge.create(request());
  ASSERT_TRUE(delegate) << delegate.error().message;
  ASSERT_EQ(run(**delegate), ETB_OK) << error.text;
  EXPECT_THAT(y, ElementsAre(2, 3, 4, 5));
  EXPECT_STREQ((*delegate)->plugin_id(), toy.ident.id);
  EXPECT_EQ((*delegate)->input_count(), 1U);
}

TEST_F(BridgeTest, CarriesSizesThatChange) {
  Bridge bridge(registry(), one_thread());
  const auto delegate = bridge.create(request());
  ASSERT_TRUE(delegate);
  is_resizable = true;
  for (const int32_t count : {4, 2, 3}) {
    sizes = {count};
    ASSERT_EQ(run(**delegate), ETB_OK) << error.text;
    EXPECT_THAT((*delegate)->sizes(1), ElementsAre(count));
  }
}

TEST_F(BridgeTest, RunsDelegatesOnSeveralThreads) {
  Bridge bridge(registry(), one_thread());
  std::vector<std::thread> threads;
  std::atomic<int> good_count{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 50; ++j) {
        const auto delegate = bridge.create(request());
        std::vector<float> from(4, 1), to(4);
        const ForeignValue values[] = {ForeignTensor{6, sizes, {}, from.data()},
                                       ForeignTensor{6, sizes, {}, to.data()}};
        etb_error failure = ETB_ERROR_INIT;
        if (delegate && (*delegate)->execute(values, &failure) == ETB_OK && to[3] == 2) ++good_count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good_count, 400);
}

TEST_F(BridgeTest, NamesThePluginThatRejectsAPayload) {
  Bridge bridge(registry(), one_thread());
  const auto delegate = bridge.create(request("?"));
  ASSERT_FALSE(delegate);
  EXPECT_THAT(delegate.error().message, HasSubstr(toy.ident.id));
}

TEST_F(BridgeTest, ReportsAnIdThatNoPluginHas) {
  Bridge bridge(registry(), one_thread());
  BridgedRequest wanted = request();
  wanted.backend_id = "ToyBakend";
  const auto delegate = bridge.create(std::move(wanted));
  ASSERT_FALSE(delegate);
  EXPECT_EQ(delegate.error().code, Code::NOT_FOUND);
  EXPECT_THAT(delegate.error().message, HasSubstr("ToyBakend"));
}

TEST_F(BridgeTest, NamesThePluginOfAnotherNumberOfTensors) {
  toy.delegate.query = [](etb_delegate* delegate, etb_delegate_info* info, etb_error* why) -> etb_status {
    const etb_status status = toy_tables().delegate.query(delegate, info, why);
    info->input_count = 5;
    return status;
  };
  toy.delegate.query_io = [](etb_delegate*, const etb_io_req_sink* sink, etb_error*) -> etb_status {
    for (uint32_t i = 0; i < 6; ++i) {
      etb_io_req req{};
      req.struct_size = ETB_INIT_SIZE(etb_io_req);
      req.role = i < 5 ? ETB_ROLE_INPUT : ETB_ROLE_OUTPUT;
      req.index = i < 5 ? i : 0;
      if (const etb_status status = sink->put(sink->ctx, &req); status != ETB_OK) return status;
    }
    return ETB_OK;
  };
  Bridge bridge(registry(), one_thread());
  const auto delegate = bridge.create(request());
  ASSERT_TRUE(delegate) << delegate.error().message;
  EXPECT_EQ(run(**delegate), ETB_INCOMPATIBLE);
  EXPECT_THAT(error.text, HasSubstr(toy.ident.id));
  EXPECT_THAT(error.text, HasSubstr("passes 2 arguments, the plugin expects 5 inputs and 1 outputs"));
  EXPECT_EQ(run(**delegate), ETB_INCOMPATIBLE) << "and again in each later run";
}

TEST_F(BridgeTest, NamesThePluginThatReturnsLargerSizes) {
  is_resizable = true;
  toy.delegate.execute = [](etb_context*, const etb_exec_args* args, etb_error*) -> etb_status {
    args->outputs[0].sizes[0] = 1000;
    return ETB_OK;
  };
  Bridge bridge(registry(), one_thread());
  const auto delegate = bridge.create(request());
  ASSERT_TRUE(delegate);
  EXPECT_NE(run(**delegate), ETB_OK);
  EXPECT_THAT(error.text, HasSubstr(toy.ident.id));
  EXPECT_THAT(error.text, HasSubstr("sizes that do not fit"));
}

// Keeps the address of an input and reads it in the next run.
TEST_F(BridgeTest, NamesThePluginThatKeepsAPointer) {
  static const volatile float* kept;
  static volatile float sum;
  kept = nullptr;
  toy.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* why) -> etb_status {
    if (kept != nullptr) sum = sum + *kept;
    kept = static_cast<const float*>(args->inputs[0].data);
    return toy_tables().delegate.execute(context, args, why);
  };
  BridgeOptions options = one_thread();
  options.validates = true;
  options.reports_crashes = false;
  Bridge bridge(registry(), options);
  const auto delegate = bridge.create(request());
  ASSERT_TRUE(delegate) << delegate.error().message;
  EXPECT_EQ(run(**delegate), ETB_OK) << error.text;
  EXPECT_THAT(bridge.take_violations(), testing::IsEmpty());
  (void)run(**delegate);
  EXPECT_THAT(bridge.take_violations(), Contains(HasSubstr("plugin, delegate.execute")));
}

using BridgeDeathTest = BridgeTest;

TEST_F(BridgeDeathTest, NamesThePluginThatAborts) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  toy.delegate.execute = [](etb_context*, const etb_exec_args*, etb_error*) -> etb_status { std::abort(); };
  EXPECT_EXIT(
      {
        Bridge bridge(registry(), one_thread());
        const auto delegate = bridge.create(request());
        if (delegate) (void)run(**delegate);
      },
      testing::KilledBySignal(SIGABRT), "SIGABRT in plugin '.*', delegate 'ToyBackend', function execute");
}

#if !ETB_SANITIZERS_BUILT  // a sanitizer reports the fault itself
TEST_F(BridgeDeathTest, NamesThePluginThatCrashesAtCreation) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  toy.delegate.create = [](etb_plugin*, const etb_delegate_args*, etb_delegate**, etb_error*) -> etb_status {
    std::raise(SIGSEGV);
    return ETB_OK;
  };
  EXPECT_EXIT(
      {
        Bridge bridge(registry(), one_thread());
        (void)bridge.create(request());
      },
      testing::KilledBySignal(SIGSEGV), "SIGSEGV in plugin '.*', delegate 'ToyBackend', function create");
}
#endif

TEST(BridgeOptions, AreReadFromTheEnvironment) {
  std::map<std::string, std::string> variables = {{"ETB_BRIDGE_REGISTER", "0"},
                                                  {"ETB_BRIDGE_VALIDATE", "1"},
                                                  {"ETB_BRIDGE_THREADS", "3"},
                                                  {"ETB_BRIDGE_ALIASES", "A=XnnpackBackend,B=ToyBackend"}};
  const auto environment = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  const auto options = read_bridge_options(environment);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_FALSE(options->registers_at_load);
  EXPECT_TRUE(options->reports_crashes);
  EXPECT_TRUE(options->validates);
  EXPECT_EQ(options->thread_count, 3U);
  EXPECT_EQ(options->aliases.at("B"), "ToyBackend");
  for (const auto& [name, text] : {std::pair("ETB_BRIDGE_VALIDATE", "yes"),
                                   {"ETB_BRIDGE_THREADS", "-1"},
                                   {"ETB_BRIDGE_THREADS", "9999"},
                                   {"ETB_BRIDGE_ALIASES", "A"},
                                   {"ETB_BRIDGE_ALIASES", "A=,B=C"}}) {
    variables = {{name, text}};
    const auto wrong = read_bridge_options(environment);
    ASSERT_FALSE(wrong) << name << "=" << text;
    EXPECT_THAT(wrong.error().message, HasSubstr(name));
  }
}

TEST_F(BridgeTest, FindsTheIdsWithoutRunningAPlugin) {
  EXPECT_THAT(find_delegate_ids(registry()), Contains(kToyBackend));
}

}  // namespace
}  // namespace etb::host
