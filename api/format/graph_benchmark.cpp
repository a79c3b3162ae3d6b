// SPDX-License-Identifier: Apache-2.0
// build/release/bin/graph_benchmark: measures graph images by number of nodes.
#include <benchmark/benchmark.h>

#include "api/format/graph_text.hpp"
#include "api/format/graph_verifier.hpp"
#include "api/testing/graph_generator.hpp"
#include "api/testing/graph_walk.h"

namespace etb::graph {
namespace {

void write(benchmark::State& state) {
  const Builder builder = chain_graph(static_cast<uint32_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(builder.finish_unverified());
  state.SetComplexityN(state.range(0));
}

void verify(benchmark::State& state) {
  const ImageBytes image = chain_graph(static_cast<uint32_t>(state.range(0))).finish_unverified();
  for (auto _ : state) {
    if (!verify_graph_image(image.span())) return state.SkipWithError("refused");
  }
  state.SetComplexityN(state.range(0));
  state.counters["image_bytes"] = static_cast<double>(image.span().size());
}

// Reads every node and argument once, like a plugin's partitioner.
void walk(benchmark::State& state) {
  const ImageBytes image = chain_graph(static_cast<uint32_t>(state.range(0))).finish_unverified();
  const View view = *View::open(image.span());
  for (auto _ : state) {
    uint64_t sum = 0;
    for (const Node node : view.method().nodes()) {
      sum += node.op();
      for (const Argument arg : node.args()) sum += arg.kind();
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetComplexityN(state.range(0));
}

void print(benchmark::State& state) {
  const ImageBytes image = chain_graph(static_cast<uint32_t>(state.range(0))).finish_unverified();
  const View view = *View::open(image.span());
  for (auto _ : state) benchmark::DoNotOptimize(print_graph_image(view));
  state.SetComplexityN(state.range(0));
}

void parse(benchmark::State& state) {
  const ImageBytes image = chain_graph(static_cast<uint32_t>(state.range(0))).finish_unverified();
  const std::string text = print_graph_image(*View::open(image.span()));
  for (auto _ : state) benchmark::DoNotOptimize(parse_graph_text(text));
  state.SetComplexityN(state.range(0));
}

BENCHMARK(write)->RangeMultiplier(10)->Range(1000, 100000)->Unit(benchmark::kMillisecond)->Complexity();
BENCHMARK(verify)->RangeMultiplier(10)->Range(1000, 100000)->Unit(benchmark::kMillisecond)->Complexity();
BENCHMARK(walk)->RangeMultiplier(10)->Range(1000, 100000)->Unit(benchmark::kMillisecond)->Complexity();
BENCHMARK(print)->RangeMultiplier(10)->Range(1000, 100000)->Unit(benchmark::kMillisecond)->Complexity();
BENCHMARK(parse)->RangeMultiplier(10)->Range(1000, 100000)->Unit(benchmark::kMillisecond)->Complexity();

}  // namespace
}  // namespace etb::graph
