// SPDX-License-Identifier: Apache-2.0
// Time to open a device and to make the pipelines of ResNet-18 and of a transformer. Argument 0: without cache/1; 1: with what an
// earlier load stored there. Lavapipe compiles later, at the first dispatch, so this measures RADV's compiler
// (testing/null_hardware.hpp).
#include <benchmark/benchmark.h>

#include "plugins/gpu/testing/cache_host.hpp"
#include "plugins/gpu/testing/networks.hpp"
#include "plugins/vulkan/testing/null_hardware.hpp"

namespace etb::vulkan {
namespace {

void load(benchmark::State& state, gpu::GpuGraph graph) {
  const auto hardware = find_null_hardware();
  if (!hardware) return state.SkipWithError(hardware.error().message.c_str());
  const auto plan = gpu::make_execution_plan(std::move(graph), gpu::KernelFamily::kGroups);
  if (!plan) return state.SkipWithError(plan.error().message.c_str());
  gpu::CacheHost cache;
  const Host host = state.range(0) == 0 ? Host() : Host(&cache.raw);
  const auto open = [&]() -> Status {
    ETB_ASSIGN(const auto device, hardware->open());
    return device->prepare(*plan, host);
  };
  if (const Status first = open(); !first) return state.SkipWithError(first.error().message.c_str());
  for (auto _ : state)
    if (const Status opened = open(); !opened) return state.SkipWithError(opened.error().message.c_str());
  state.counters["stored_bytes"] =
      cache.cache.entries.empty() ? 0 : static_cast<double>(cache.cache.entries.begin()->second.size());
}

void load_resnet18(benchmark::State& state) { load(state, gpu::resnet_graph()); }
void load_transformer(benchmark::State& state) { load(state, gpu::transformer_graph(64, 384, 6)); }

#define ETB_MEASURE_LOAD(name) \
  BENCHMARK(name)->Arg(0)->Arg(1)->ArgName("cached")->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond)
ETB_MEASURE_LOAD(load_resnet18);
ETB_MEASURE_LOAD(load_transformer);

}  // namespace
}  // namespace etb::vulkan
