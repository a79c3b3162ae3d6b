// SPDX-License-Identifier: Apache-2.0
// Programs on devices that take their time: one instruction after another, and with ModuleOptions::async.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "host/delegates/plugin_delegates.hpp"
#include "host/module/module.hpp"
#include "host/testing/method_fixture.hpp"
#include "host/testing/toy_plugin.hpp"

namespace etb::host {
namespace {

constexpr auto kDeviceTime = std::chrono::milliseconds(2);

// A device has one run at a time.
template <char kName>
etb_status run_slowly(etb_context* context, const etb_exec_args* args, etb_error* error) {
  static std::mutex device;
  {
    const std::lock_guard lock(device);
    std::this_thread::sleep_for(kDeviceTime);
  }
  return toy_tables().delegate.execute(context, args, error);
}

// A plugin of this name without asynchronous runs: the host gives it a thread.
template <char kName, bool kIsSlow>
const etb_plugin_table* ETB_CALL query(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin toy;
  const char id[] = {'x', '.', kName, '\0'};
  std::strcpy(toy.ident.id, id);
  toy.delegate.caps &= ~ETB_DELEGATE_CAP_EXECUTE_ASYNC;
  toy.delegate.execute_async = nullptr;
  if (kIsSlow) toy.delegate.execute = &run_slowly<kName>;
  return &toy.plugin;
}

const etb_static_plugin kPlugins[] = {{ETB_INIT_SIZE(etb_static_plugin), 0, &query<'a', true>, "SlowA"},
                                      {ETB_INIT_SIZE(etb_static_plugin), 0, &query<'b', true>, "SlowB"},
                                      {ETB_INIT_SIZE(etb_static_plugin), 0, &query<'c', false>, "FastA"},
                                      {ETB_INIT_SIZE(etb_static_plugin), 0, &query<'d', false>, "FastB"}};

// sum = a(x) + b(x), or b(a(x)) + x.
std::vector<std::byte> program_of(const char* a, const char* b, bool is_chain) {
  format::ProgramSpec program = format::add_program(4);
  auto& method = program.methods[0];
  method.values.emplace_back(vector_spec(4, 48));
  method.values.emplace_back(vector_spec(4, 64));
  method.arena_sizes[1] = 80;
  method.inputs = {0};
  method.delegates = {{a, 1, 0, {}}, {b, 1, 0, {}}};
  method.instructions = {
      {2, 0, 0, {0, 4}}, {2, 1, 0, {is_chain ? 4 : 0, 5}}, {1, 0, 0, {is_chain ? 0 : 4, 5, 3, 2, 2}}};
  program.segments = {kToyPayload};
  return format::build_program(program);
}

void run(benchmark::State& state, const char* a, const char* b, bool is_chain) {
  RegistryOptions registry_options;
  registry_options.static_plugins = kPlugins;
  Registry registry(registry_options);
  PluginDelegates delegates(registry);
  const bool is_async = state.range(0) != 0;
  if (is_async) delegates.allow_async_runs();
  KernelRegistry kernels;
  const auto bytes = program_of(a, b, is_chain);
  ModuleOptions options;
  options.kernels = &kernels;
  options.delegates = &delegates;
  options.async = is_async;
  if (kernels.add(kAddTable) != ETB_OK) return state.SkipWithError("kernels");
  auto module = Module::from_bytes(bytes, options);
  if (!module) return state.SkipWithError(module.error().message.c_str());
  FloatVector x({1, 2, 3, 4});
  for (auto _ : state) {
    const auto outputs = module->forward({x.value()});
    if (!outputs) return state.SkipWithError(outputs.error().message.c_str());
  }
}

// Requests for b(a(x)) + x, each on a module of its own and all on one program: while b has one, a has the next.
void pipeline(benchmark::State& state) {
  constexpr int kRequests = 8;
  RegistryOptions registry_options;
  registry_options.static_plugins = kPlugins;
  Registry registry(registry_options);
  PluginDelegates delegates(registry);
  KernelRegistry kernels;
  const auto bytes = program_of("SlowA", "SlowB", true);
  ModuleOptions options;
  options.kernels = &kernels;
  options.delegates = &delegates;
  if (kernels.add(kAddTable) != ETB_OK) return state.SkipWithError("kernels");
  std::vector<Module> modules;
  const int module_count = static_cast<int>(state.range(0));
  for (int i = 0; i < module_count; ++i) {
    auto made =
        i == 0 ? Module::from_bytes(bytes, options) : Module::from_program(modules[0].program(), options);
    if (!made) return state.SkipWithError(made.error().message.c_str());
    modules.push_back(std::move(*made));
  }
  std::atomic<int> failures{0};
  const auto serve = [&](Module& module) {
    FloatVector x({1, 2, 3, 4});
    for (int i = 0; i < kRequests / module_count; ++i)
      if (!module.forward({x.value()})) ++failures;
  };
  for (auto _ : state) {
    std::vector<std::thread> threads;
    for (Module& module : modules) threads.emplace_back(serve, std::ref(module));
    for (std::thread& thread : threads) thread.join();
    if (failures != 0) return state.SkipWithError("a request failed");
  }
  state.SetItemsProcessed(state.iterations() * kRequests);
}
BENCHMARK(pipeline)->Arg(1)->Arg(2)->ArgName("requests_at_once")->UseRealTime();

BENCHMARK_CAPTURE(run, two_slow_branches, "SlowA", "SlowB", false)
    ->Arg(0)
    ->Arg(1)
    ->ArgName("async")
    ->UseRealTime();
BENCHMARK_CAPTURE(run, slow_chain, "SlowA", "SlowB", true)->Arg(0)->Arg(1)->ArgName("async")->UseRealTime();
BENCHMARK_CAPTURE(run, two_fast_branches, "FastA", "FastB", false)
    ->Arg(0)
    ->Arg(1)
    ->ArgName("async")
    ->UseRealTime();
BENCHMARK_CAPTURE(run, fast_chain, "FastA", "FastB", true)->Arg(0)->Arg(1)->ArgName("async")->UseRealTime();

}  // namespace
}  // namespace etb::host
