// SPDX-License-Identifier: Apache-2.0
// Times of single dispatches beside the device's own limits, and what a dispatch and a region cost. Each time is the least of the
// iterations, in microseconds: `us` on the clock, `cpu_us` of all threads of the process, those of a CPU driver included.
// roofline_table.sh makes tables of them.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <string>

#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/graphs.hpp"
#include "plugins/gpu/testing/measured_device.hpp"

namespace etb::gpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

uint64_t now_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Operations and bytes of a dispatch.
struct Work {
  double flop = 0, bytes = 0;
};

// Each iteration calls `run` for so long. Linux adds the time of a thread on another processor when it stops or at a tick, so the
// processor time of a short call is wrong.
constexpr uint64_t kBatchNs = 50'000'000;

// Reports the least times of `count` parts of `run`, each of which does this work: on the clock of single calls, of the processor of
// batches.
void measure(benchmark::State& state, double count, const Work& work, const auto& run) {
  double least = std::numeric_limits<double>::max(), least_cpu = least;
  for (auto _ : state) {
    const uint64_t cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID), begin = now_ns(CLOCK_MONOTONIC);
    uint64_t calls = 0, now = begin;
    while (now - begin < kBatchNs) {
      const uint64_t before = now;
      if (const std::string error = run(); !error.empty()) return state.SkipWithError(error.c_str());
      now = now_ns(CLOCK_MONOTONIC);
      least = std::min(least, static_cast<double>(now - before));
      ++calls;
    }
    const auto spent = static_cast<double>(now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    least_cpu = std::min(least_cpu, spent / static_cast<double>(calls));
  }
  state.counters["us"] = least / 1000 / count;
  state.counters["cpu_us"] = least_cpu / 1000 / count;
  state.counters["flop"] = work.flop;
  state.counters["bytes"] = work.bytes;
}

void measure_trial(benchmark::State& state, MeasuredDevice& device, Trial trial, const Work& work) {
  const size_t fills = trial.fill_count;
  std::string error;
  const auto time = [&](size_t begin, size_t end) {
    const Result<uint64_t> spent = device.time(begin, end);
    return spent ? std::string() : spent.error().message;
  };
  if (Status prepared = device.prepare(std::move(trial)); !prepared)
    return state.SkipWithError(prepared.error().message.c_str());
  error = time(0, fills);
  if (error.empty()) error = time(fills, fills + 1);  // drivers compile at the first run
  if (!error.empty()) return state.SkipWithError(error.c_str());
  measure(state, Trial::kCopies, work, [&] { return time(fills, fills + Trial::kCopies); });
}

// Measures the only dispatch of a graph. Its bytes: operands and result, each once.
void measure_graph(benchmark::State& state, GpuGraph graph, double flop) {
  const auto device = make_measured_device();
  if (!device) return state.SkipWithError(device.error().message.c_str());
  const auto plan = make_execution_plan(std::move(graph), (*device)->family());
  if (!plan) return state.SkipWithError(plan.error().message.c_str());
  if (plan->dispatches.size() != 1) return state.SkipWithError("more than one dispatch");
  const Dispatch& dispatch = plan->dispatches[0];
  double bytes = 0;
  for (uint32_t b = 0; b < dispatch.binding_count; ++b) {
    const auto end = dispatch.bindings.begin() + b;
    if (std::find(dispatch.bindings.begin(), end, dispatch.bindings[b]) == end)
      bytes += static_cast<double>(plan->memory.locations[dispatch.bindings[b]].nbytes);
  }
  state.SetLabel(kKernelNames[index_of(dispatch.kernel)]);
  const KernelCandidate only{{}, dispatch};
  measure_trial(state, **device, make_trial(*plan, {&only, 1}), {flop, bytes});
}

// The device's limits.

// Chains of multiplications and additions in registers.
void peak(benchmark::State& state) {
  const auto device = make_measured_device();
  if (!device) return state.SkipWithError(device.error().message.c_str());
  constexpr uint32_t kTurns = 5000, kInvocations = 4096;
  const bool has_vectors = (*device)->family() == KernelFamily::kVectors;
  const uint32_t count = has_vectors ? kInvocations / 16 : kInvocations, numbers = has_vectors ? 16 : 4,
                 chains = has_vectors ? 8 : 12;  // CHAINS of kernels.def
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({16}));
  graph.outputs.push_back(
      add_node(graph, Operator::kExpand, {x}, {static_cast<int32_t>(count * numbers / 16), 16}));
  const auto plan = make_execution_plan(std::move(graph));
  if (!plan) return state.SkipWithError(plan.error().message.c_str());
  KernelCandidate only{{}, plan->dispatches[0]};  // its buffers
  Dispatch& dispatch = only.dispatch;
  dispatch.kernel = has_vectors ? Kernel::kVectorPeak : Kernel::kPeak;
  dispatch.push_count = 0;
  dispatch.add(count);
  dispatch.add(kTurns);
  dispatch.set_linear(count);
  state.SetLabel(kKernelNames[index_of(dispatch.kernel)]);
  measure_trial(state, **device, make_trial(*plan, {&only, 1}), {2.0 * count * numbers * chains * kTurns, 0});
}

void copy(benchmark::State& state) {
  const auto device = make_measured_device();
  if (!device) return state.SkipWithError(device.error().message.c_str());
  constexpr uint64_t kBytes = 64 << 20;
  state.SetLabel("copy");
  if (Status first = (*device)->copy(kBytes); !first)
    return state.SkipWithError(first.error().message.c_str());
  const Work work{0, 2.0 * kBytes};  // read and written
  measure(state, 1, work, [&] {
    const Status copied = (*device)->copy(kBytes);
    return copied ? std::string() : copied.error().message;
  });
}

// Kernels.

void product(benchmark::State& state) {
  GpuGraph graph;
  const uint32_t a = add_input(graph, shape_of({1024, 1024})), b = add_input(graph, shape_of({1024, 1024}));
  graph.outputs.push_back(add_node(graph, Operator::kMatmul, {a, b}, {0}, {1, 1, -kInfinity, kInfinity}));
  measure_graph(state, std::move(graph), 2.0 * 1024 * 1024 * 1024);
}

void convolve(benchmark::State& state, uint32_t inputs, uint32_t channels, uint32_t groups, uint32_t size,
              uint32_t kernel, int32_t stride) {
  const auto padding = static_cast<int32_t>(kernel / 2);
  const uint32_t out = (size - 1) / static_cast<uint32_t>(stride) + 1;
  const Shape filters = shape_of({channels, inputs / groups, kernel, kernel});
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({1, inputs, size, size})),
                 weight = add_constant(graph, filters, "w");
  graph.outputs.push_back(add_node(graph, Operator::kConvolution, {x, weight},
                                   {stride, stride, padding, padding, 1, 1, static_cast<int32_t>(groups)},
                                   {0, 6}));
  measure_graph(state, std::move(graph), 2.0 * static_cast<double>(filters.numel()) * out * out);
}
void first_layer(benchmark::State& state) { convolve(state, 3, 32, 1, 224, 3, 2); }
void pointwise(benchmark::State& state) { convolve(state, 24, 144, 1, 56, 1, 1); }
void pointwise_7(benchmark::State& state) { convolve(state, 160, 960, 1, 7, 1, 1); }
void convolution_64(benchmark::State& state) { convolve(state, 64, 64, 1, 56, 3, 1); }
void depthwise(benchmark::State& state) { convolve(state, 144, 144, 144, 56, 3, 1); }
void depthwise_2(benchmark::State& state) { convolve(state, 96, 96, 96, 112, 3, 2); }

// Operations of an element: those of exponential functions count as one.
void softmax(benchmark::State& state) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({1024, 1024}));
  graph.outputs.push_back(add_node(graph, Operator::kSoftmax, {x}, {1, 0}));
  measure_graph(state, std::move(graph), 5.0 * 1024 * 1024);
}
void layer_norm(benchmark::State& state) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({1024, 1024})),
                 weight = add_constant(graph, shape_of({1024}), "w"),
                 bias = add_constant(graph, shape_of({1024}), "b");
  graph.outputs.push_back(add_node(graph, Operator::kLayerNorm, {x, weight, bias}, {1}, {1e-5f}));
  measure_graph(state, std::move(graph), 7.0 * 1024 * 1024);
}
void sum(benchmark::State& state) {
  GpuGraph graph;
  const uint32_t a = add_input(graph, shape_of({4096, 4096})), b = add_input(graph, shape_of({4096, 4096}));
  graph.outputs.push_back(add_binary(graph, BinaryFunction::kAdd, a, b));
  measure_graph(state, std::move(graph), 4096.0 * 4096);
}

// Overhead: runs of small graphs through the plugin's table.

GpuGraph small_nodes(int64_t count) {
  GpuGraph graph;
  uint32_t value = add_input(graph, shape_of({4}));
  for (int64_t i = 0; i < count; ++i) value = add_unary(graph, UnaryFunction::kAbs, value);
  graph.outputs.push_back(value);
  return graph;
}

void dispatches(benchmark::State& state) {
  FloatRun run(small_nodes(state.range(0)), shape_of({4}), "auto", "off");
  if (!run.run()) return state.SkipWithError(run.error());
  measure(state, 1, {}, [&] { return run.run() ? std::string() : std::string(run.error()); });
}

void regions(benchmark::State& state) {
  std::vector<std::unique_ptr<FloatRun>> runs;
  for (int64_t i = 0; i < state.range(0); ++i)
    runs.push_back(std::make_unique<FloatRun>(small_nodes(1), shape_of({4}), "auto"));
  const auto run_all = [&] {
    for (const auto& run : runs)
      if (!run->run()) return std::string(run->error());
    return std::string();
  };
  if (const std::string error = run_all(); !error.empty()) return state.SkipWithError(error.c_str());
  measure(state, 1, {}, run_all);
}

#define ETB_MEASURE(name) \
  BENCHMARK(name)->Name("roofline_" #name)->UseRealTime()->Unit(benchmark::kMillisecond)
ETB_MEASURE(peak);
ETB_MEASURE(copy);
ETB_MEASURE(product);
ETB_MEASURE(first_layer);
ETB_MEASURE(convolution_64);
ETB_MEASURE(pointwise);
ETB_MEASURE(pointwise_7);
ETB_MEASURE(depthwise);
ETB_MEASURE(depthwise_2);
ETB_MEASURE(softmax);
ETB_MEASURE(layer_norm);
ETB_MEASURE(sum);
ETB_MEASURE(dispatches)->Arg(1)->Arg(33)->Arg(65)->Arg(129);
ETB_MEASURE(regions)->Arg(1)->Arg(2)->Arg(4)->Arg(8);

}  // namespace
}  // namespace etb::gpu
