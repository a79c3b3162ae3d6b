// SPDX-License-Identifier: Apache-2.0
// Processor time of whole networks with residuals, in the sizes that people use. Weights are pseudo-random numbers.
// residual_table.sh compares two builds by them.
#include <benchmark/benchmark.h>

#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/networks.hpp"

namespace etb::gpu {
namespace {

// Counts the dispatched nodes, and measures runs.
void measure(benchmark::State& state, const GpuGraph& graph, const Shape& output) {
  FloatRun run(graph, output, "auto", state.range(0) == 0 ? "off" : "on");
  int count = 0;
  const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &count, [](void* ctx, const etb_event*) {
                                 ++*static_cast<int*>(ctx);
                                 return etb_status{ETB_OK};
                               }};
  if (!run.run() || !run.run(&sink))
    return state.SkipWithError(run.error());  // drivers compile at the first run
  for (auto _ : state)
    if (!run.run()) return state.SkipWithError(run.error());
  state.counters["nodes"] = count;
}

void resnet18(benchmark::State& state) { measure(state, resnet_graph(), shape_of({1, 1000})); }
void transformer_384(benchmark::State& state) {
  measure(state, transformer_graph(64, 384, 6), shape_of({64, 384}));
}
void transformer_192(benchmark::State& state) {
  measure(state, transformer_graph(197, 192, 3), shape_of({197, 192}));
}

// Argument 0: without fusion; 1: with fusion.
#define ETB_MEASURE_NETWORK(name) \
  BENCHMARK(name)->Arg(0)->Arg(1)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond)
ETB_MEASURE_NETWORK(resnet18);
ETB_MEASURE_NETWORK(transformer_384);
ETB_MEASURE_NETWORK(transformer_192);

}  // namespace
}  // namespace etb::gpu
