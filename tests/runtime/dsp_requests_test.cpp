// SPDX-License-Identifier: Apache-2.0
// Programs on the plugin's asynchronous runs: two branches on two contexts, and several requests in flight.
#include <thread>

#include "api/testing/program_builder.hpp"
#include "host/delegates/plugin_delegates.hpp"
#include "host/module/module.hpp"
#include "plugins/dsp_stub/testing/dsp_fixture.hpp"

namespace etb::dsp_stub {
namespace {

constexpr int64_t kCount = kSumsSizes[0] * kSumsSizes[1] * kSumsSizes[2];

const etb_static_plugin kPlugins[] = {
    {ETB_INIT_SIZE(etb_static_plugin), 0, &etb_plugin_query_dsp_stub, "EtbDspStubBackend"}};

class DspStubRequests : public DspStub {
 protected:
  // Two branches with the same payload.
  std::vector<std::byte> make_program() {
    std::vector<std::byte> payload;
    EXPECT_EQ(compile(sums_model().image(), payload), ETB_OK) << error_.text;
    format::MethodSpec method;
    for (uint64_t i = 0; i < 4; ++i) {
      format::TensorSpec tensor;
      tensor.dtype = static_cast<int8_t>(ETB_DTYPE_INT8);
      for (const int64_t size : kSumsSizes) tensor.sizes.push_back(static_cast<int32_t>(size));
      tensor.memory_id = 1;
      tensor.memory_offset = i * static_cast<uint64_t>(kCount);
      method.values.emplace_back(tensor);
    }
    method.inputs = {0, 1};
    method.outputs = {2, 3};
    method.delegates = {{"EtbDspStubBackend", 1, 0, {}}, {"EtbDspStubBackend", 1, 0, {}}};
    method.instructions = {{2, 0, 0, {0, 2}}, {2, 1, 0, {1, 3}}};
    method.arena_sizes = {0, 4 * kCount};
    format::ProgramSpec program;
    program.methods = {method};
    program.segments = {{reinterpret_cast<const char*>(payload.data()), payload.size()}};
    return format::build_program(program);
  }

  static host::OwnedTensor codes(uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<int8_t> made(static_cast<size_t>(kCount));
    for (int8_t& code : made) code = static_cast<int8_t>(random());
    return host::OwnedTensor::make<int8_t>(std::span(kSumsSizes), std::span<const int8_t>(made));
  }

  // Returns the outputs of a request.
  static std::vector<std::vector<std::byte>> forward(host::Module& module, uint32_t seed) {
    host::OwnedTensor x = codes(seed), y = codes(seed + 1000);
    const auto outputs = module.forward({x.value(), y.value()});
    EXPECT_TRUE(outputs) << outputs.error().message;
    std::vector<std::vector<std::byte>> out;
    if (!outputs) return out;
    for (const host::EValue& each : *outputs) {
      const auto* data = static_cast<const std::byte*>(each.tensor().data());
      out.emplace_back(data, data + each.tensor().nbytes());
    }
    return out;
  }
};

TEST_F(DspStubRequests, SeveralRequestsInFlightHaveTheResultsOfTheProgramsOrder) {
  constexpr uint32_t kRequests = 6, kThreads = 3;
  host::RegistryOptions registry_options;
  registry_options.static_plugins = kPlugins;
  host::Registry registry(registry_options);
  const std::vector<std::byte> bytes = make_program();
  std::vector<std::vector<std::vector<std::byte>>> expected;
  host::PluginDelegates in_order(registry), asynchronous(registry);
  asynchronous.allow_async_runs();
  host::ModuleOptions options;
  options.delegates = &in_order;
  auto first = host::Module::from_bytes(bytes, options);
  ASSERT_TRUE(first) << first.error().message;
  for (uint32_t seed = 0; seed < kRequests; ++seed) expected.push_back(forward(*first, seed));
  EXPECT_NE(expected[0], expected[1]);
  options.delegates = &asynchronous;
  options.async = true;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      auto module = host::Module::from_program(first->program(), options);
      ASSERT_TRUE(module) << module.error().message;
      for (uint32_t i = 0; i < kRequests; ++i) {
        const uint32_t seed = (i + t) % kRequests;
        EXPECT_EQ(forward(*module, seed), expected[seed]) << "thread " << t << ", request " << seed;
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// A run that is over its time ends both branches, and the module runs again.
TEST_F(DspStubRequests, ADeadlineEndsRunsInFlight) {
  host::RegistryOptions registry_options;
  registry_options.static_plugins = kPlugins;
  host::Registry registry(registry_options);
  const std::vector<std::byte> bytes = make_program();
  host::PluginDelegates delegates(registry);
  delegates.allow_async_runs();
  host::ModuleOptions options;
  options.delegates = &delegates;
  options.async = true;
  auto module = host::Module::from_bytes(bytes, options);
  ASSERT_TRUE(module) << module.error().message;
  const auto expected = forward(*module, 1);
  host::OwnedTensor x = codes(1), y = codes(1001);
  const host::EValue values[] = {x.value(), y.value()};
  host::RunLimits limits;
  limits.deadline_ns = host::kDefaultPlatformHooks.now_ns(host::kDefaultPlatformHooks.self) + 1000000;
  const auto late = module->execute("forward", values, limits);
  ASSERT_FALSE(late);
  EXPECT_TRUE(late.error().code == Code::DEADLINE_EXCEEDED || late.error().code == Code::CANCELLED)
      << late.error().message;
  EXPECT_EQ(forward(*module, 1), expected);
}

}  // namespace
}  // namespace etb::dsp_stub
