// SPDX-License-Identifier: Apache-2.0
// Processor time of products and convolutions on the machine's device. The column CPU counts all threads, those of a CPU
// driver included. Argument 0: the kernels for GPUs ("registers"); 1: those that suit the device ("auto"). Attention has the
// latter; argument 0: without fusion; 1: with fusion.
#include <benchmark/benchmark.h>

#include "plugins/gpu/testing/attention_graph.hpp"
#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void measure(benchmark::State& state, FloatRun& run) {
  if (!run.run()) return state.SkipWithError(run.error());  // drivers compile at the first run
  for (auto _ : state)
    if (!run.run()) return state.SkipWithError(run.error());
}
void measure(benchmark::State& state, const GpuGraph& graph, const Shape& output) {
  FloatRun run(graph, output, state.range(0) == 0 ? "registers" : "auto");
  measure(state, run);
}

void product(benchmark::State& state) {
  GpuGraph graph;
  const uint32_t a = add_input(graph, shape_of({1024, 1024})), b = add_input(graph, shape_of({1024, 1024}));
  graph.outputs.push_back(add_node(graph, Operator::kMatmul, {a, b}, {0}, {1, 1, -kInfinity, kInfinity}));
  measure(state, graph, shape_of({1024, 1024}));
}

void convolve(benchmark::State& state, uint32_t inputs, uint32_t channels, uint32_t groups, uint32_t size,
              uint32_t kernel, int32_t stride) {
  const int32_t padding = static_cast<int32_t>(kernel / 2);
  const uint32_t out = (size - 1) / static_cast<uint32_t>(stride) + 1;
  const Shape filters = shape_of({channels, inputs / groups, kernel, kernel});
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({1, inputs, size, size})),
                 weight = add_constant(graph, filters, std::to_string(filters.numel()));
  graph.outputs.push_back(add_node(graph, Operator::kConvolution, {x, weight},
                                   {stride, stride, padding, padding, 1, 1, static_cast<int32_t>(groups)},
                                   {0, 6}));
  measure(state, graph, shape_of({1, channels, out, out}));
}

// Layers of MobileNetV2.
void first_layer(benchmark::State& state) { convolve(state, 3, 32, 1, 224, 3, 2); }
void pointwise(benchmark::State& state) { convolve(state, 24, 144, 1, 56, 1, 1); }
void pointwise_7(benchmark::State& state) { convolve(state, 160, 960, 1, 7, 1, 1); }
void depthwise(benchmark::State& state) { convolve(state, 144, 144, 144, 56, 3, 1); }
void depthwise_2(benchmark::State& state) { convolve(state, 96, 96, 96, 112, 3, 2); }

// 8 heads of 64 numbers, with the guard of PyTorch's decomposition; a vision transformer's, and windows without guard.
void attend(benchmark::State& state, const AttentionCase& with) {
  FloatRun run(attention_graph(with), shape_of({with.batch, with.heads, with.rows, with.columns}), "auto",
               state.range(0) == 0 ? "off" : "on");
  measure(state, run);
  state.counters["MiB"] = static_cast<double>(run.context_bytes()) / 1048576;
}
void attention_512(benchmark::State& state) {
  attend(state, {.heads = 8, .rows = 512, .keys = 512, .depth = 64, .columns = 64, .mask = {512, 512}});
}
void attention_1024(benchmark::State& state) {
  attend(state, {.heads = 8, .rows = 1024, .keys = 1024, .depth = 64, .columns = 64, .mask = {1024, 1024}});
}
void attention_one_row(benchmark::State& state) {
  attend(state, {.heads = 8, .rows = 1, .keys = 1024, .depth = 64, .columns = 64, .mask = {1, 1024}});
}
void attention_197(benchmark::State& state) {
  attend(state, {.heads = 12, .rows = 197, .keys = 197, .depth = 64, .columns = 64});
}
void attention_windows(benchmark::State& state) {
  attend(state, {.batch = 64,
                 .heads = 4,
                 .rows = 49,
                 .keys = 49,
                 .depth = 32,
                 .columns = 32,
                 .mask = {4, 49, 49},
                 .has_guard = false});
}
void attention_128_columns(benchmark::State& state) {
  attend(state, {.heads = 8,
                 .rows = 256,
                 .keys = 256,
                 .depth = 128,
                 .columns = 128,
                 .mask = {256, 256},
                 .has_guard = false});
}
void attention_small(benchmark::State& state) {
  attend(state, {.batch = 4,
                 .heads = 2,
                 .rows = 16,
                 .keys = 16,
                 .depth = 4,
                 .columns = 4,
                 .mask = {2, 16, 16},
                 .has_guard = false});
}
// Heads that share keys and values, with a mask by `where`: a token of LLaMA, and its prompt.
void attend_shared(benchmark::State& state, uint32_t rows) {
  attend(state, {.heads = 32,
                 .rows = rows,
                 .keys = 512,
                 .depth = 64,
                 .columns = 64,
                 .mask = {rows, 512},
                 .has_guard = false,
                 .masked_by = MaskedBy::kUnsetNumber,
                 .group = 4});
}
void attention_shared_row(benchmark::State& state) { attend_shared(state, 1); }
void attention_shared(benchmark::State& state) { attend_shared(state, 128); }

#define ETB_MEASURE(name) \
  BENCHMARK(name)->Arg(0)->Arg(1)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond)
ETB_MEASURE(product);
ETB_MEASURE(first_layer);
ETB_MEASURE(pointwise);
ETB_MEASURE(pointwise_7);
ETB_MEASURE(depthwise);
ETB_MEASURE(depthwise_2);
ETB_MEASURE(attention_512);
ETB_MEASURE(attention_1024);
ETB_MEASURE(attention_one_row);
ETB_MEASURE(attention_197);
ETB_MEASURE(attention_windows);
ETB_MEASURE(attention_128_columns);
ETB_MEASURE(attention_small);
ETB_MEASURE(attention_shared_row);
ETB_MEASURE(attention_shared);

}  // namespace
}  // namespace etb::gpu
