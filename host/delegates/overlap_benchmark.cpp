// SPDX-License-Identifier: Apache-2.0
// Programs on devices that take their time: one instruction after another, and with ModuleOptions::async.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "host/delegates/plugin_delegates.hpp"
#include "host/module/module.hpp"
#include "host/testing/method_fixture.hpp"
#include "host/testing/toy_plugin.hpp"

namespace etb::host {
namespace {

constexpr auto kDeviceTime = std::chrono::milliseconds(2);

etb_status run_slowly(etb_context* context, const etb_exec_args* args, etb_error* error) {
  std::this_thread::sleep_for(kDeviceTime);
  return toy_tables().delegate.execute(context, args, error);
}

// A plugin of this name without asynchronous runs: the host gives it a thread.
const etb_plugin_table* make_plugin(ToyPlugin& toy, const char* id, bool is_slow) {
  std::strcpy(toy.ident.id, id);
  toy.delegate.caps &= ~ETB_DELEGATE_CAP_EXECUTE_ASYNC;
  toy.delegate.execute_async = nullptr;
  if (is_slow) toy.delegate.execute = &run_slowly;
  return &toy.plugin;
}
template <char kName, bool kIsSlow>
const etb_plugin_table* ETB_CALL query(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin toy;
  const char id[] = {'x', '.', kName, '\0'};
  return make_plugin(toy, id, kIsSlow);
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
