// SPDX-License-Identifier: Apache-2.0
// Time to list the devices of the plugin. Argument 0: in a plugin that was just started, which opens the driver; 1: in one that
// has listed them before.
#include <benchmark/benchmark.h>

#include <utility>

#include "plugins/gpu/testing/tested_plugin.hpp"

namespace etb::gpu {
namespace {

const void* ETB_CALL find_service(const etb_host*, const char*) { return nullptr; }
constexpr etb_host kHost = {
    ETB_INIT_SIZE(etb_host), 0, ETB_ABI_VERSION, 0, "benchmark", "0", "", nullptr, find_service, nullptr};

void enumerate(benchmark::State& state) {
  const etb_plugin_table& table = *tested_plugin().query(&kHost, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
  etb_error error = ETB_ERROR_INIT;
  etb_plugin* plugin = nullptr;
  uint64_t device_count = 0;
  const etb_device_sink sink = {ETB_INIT_SIZE(etb_device_sink), 0, &device_count,
                                [](void* ctx, const etb_device_info*) -> etb_status {
                                  ++*static_cast<uint64_t*>(ctx);
                                  return ETB_OK;
                                }};
  const auto list = [&] { return table.device->enumerate(plugin, &sink, &error) == ETB_OK; };
  const auto start = [&] { return table.init(&kHost, nullptr, 0, &plugin, &error) == ETB_OK; };
  const bool is_known = state.range(0) != 0;
  if (is_known && (!start() || !list())) return state.SkipWithError(error.text);
  for (auto _ : state) {
    if (!is_known && !start()) return state.SkipWithError(error.text);
    if (!list()) return state.SkipWithError(error.text);
    if (!is_known) (void)table.deinit(std::exchange(plugin, nullptr), &error);
  }
  if (plugin != nullptr) (void)table.deinit(plugin, &error);
  if (device_count == 0) state.SkipWithError(tested_plugin().hint);
}
BENCHMARK(enumerate)->Arg(0)->Arg(1)->ArgName("listed_before")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace etb::gpu
