// SPDX-License-Identifier: Apache-2.0
// Measures what a profile costs: runs of a chain of kernels that do nothing, without and with a tracer, in turns.
//   cmake --preset release && cmake --build build/release --target profile_benchmark && build/release/bin/profile_benchmark
//
// BM_Profile prints as event_ns the difference for one operator, which is two events of the file.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "host/profile/etdump_recording.hpp"
#include "host/testing/method_fixture.hpp"

namespace etb::host {
namespace {

constexpr uint32_t kInstructions = 1000;

etb_status do_nothing(KernelContext&, EValue**) { return ETB_OK; }
constexpr Kernel kRows[] = {Kernel("aten::add.out", "T=T=ST!", &do_nothing)};
const KernelRows kTable(kRows);

// A method of many instructions, and a tracer, or none.
struct Subject {
  explicit Subject(EventTracer* tracer) : fixture(program()) {
    if (registry.add(kTable) != ETB_OK) std::abort();
    fixture.options.kernels = &registry;
    fixture.options.tracer = tracer;
    if (fixture.load() != ETB_OK) std::abort();
    for (uint32_t i = 0; i < 2; ++i)
      if (fixture.method.set_input(i, x.value(), nullptr) != ETB_OK) std::abort();
  }

  static format::ProgramSpec program() {
    format::ProgramSpec spec = format::add_program(4);
    auto& instructions = spec.methods[0].instructions;
    instructions.resize(kInstructions, instructions[0]);
    return spec;
  }

  double run_ns() {
    const auto begin = std::chrono::steady_clock::now();
    if (fixture.method.execute(nullptr) != ETB_OK) std::abort();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  }

  KernelRegistry registry;
  MethodFixture fixture;
  FloatVector x{{1, 2, 3, 4}};
};

RecordingOptions method_level() {
  RecordingOptions options;
  options.profile_level = ProfileLevel::kMethod;
  return options;
}

double median(std::vector<double>& times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

// Runs of both subjects in turns; their medians differ by the cost of a profile.
void paired(benchmark::State& state, const RecordingOptions& options) {
  const auto recording = EtdumpRecording::make(options).value();
  Subject off(nullptr), on(&recording->tracer());
  std::vector<double> off_ns, on_ns;
  for (auto _ : state) {
    off_ns.push_back(off.run_ns());
    on_ns.push_back(on.run_ns());
    state.SetIterationTime(on_ns.back() * 1e-9);
    if (on_ns.size() % 1000 == 0) recording->clear();
  }
  const double plain = median(off_ns), traced = median(on_ns);
  state.counters["off_ns"] = plain / kInstructions;
  state.counters["on_ns"] = traced / kInstructions;
  state.counters["event_ns"] = (traced - plain) / kInstructions;
}

void BM_Profile(benchmark::State& state) { paired(state, {}); }
void BM_MethodLevel(benchmark::State& state) { paired(state, method_level()); }

// Two runs without a tracer: the noise of the comparison.
void BM_Off(benchmark::State& state) {
  Subject a(nullptr), b(nullptr);
  std::vector<double> a_ns, b_ns;
  for (auto _ : state) {
    a_ns.push_back(a.run_ns());
    b_ns.push_back(b.run_ns());
    state.SetIterationTime(b_ns.back() * 1e-9);
  }
  state.counters["off_ns"] = median(a_ns) / kInstructions;
  state.counters["event_ns"] = (median(b_ns) - median(a_ns)) / kInstructions;
}

// The clock of the run time, which each event reads once.
void BM_Clock(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(kDefaultPlatformHooks.now_ns(kDefaultPlatformHooks.self));
}

// Storing an event, without the clock.
void BM_Record(benchmark::State& state) {
  const auto recording = EtdumpRecording::make({}).value();
  EtdumpTracer& tracer = recording->tracer();
  tracer.on_begin(EventKind::kExecute);
  uint64_t count = 0;
  for (auto _ : state) {
    tracer.on_event({EventKind::kKernel, "aten::add.out", 0, 5, count, count + 1});
    if (++count % 1'000'000 == 0) {
      recording->clear();
      tracer.on_begin(EventKind::kExecute);
    }
  }
}

// An event inside of a delegate, which the plugin names.
void BM_RecordInner(benchmark::State& state) {
  const auto recording = EtdumpRecording::make({}).value();
  EtdumpTracer& tracer = recording->tracer();
  tracer.on_begin(EventKind::kExecute);
  const etb_event_sink* const sink = tracer.delegate_events(0, 3);
  etb_event event{};
  event.struct_size = ETB_INIT_SIZE(etb_event);
  event.name = "Convolution (NHWC, F32) IGEMM #1";
  event.debug_id = -1;
  event.ns_numerator = event.ns_denominator = 1;
  uint64_t count = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(sink->put(sink->ctx, &event));
    if (++count % 1'000'000 == 0) {
      recording->clear();
      tracer.on_begin(EventKind::kExecute);
    }
  }
}

BENCHMARK(BM_Profile)->UseManualTime()->MinTime(1);
BENCHMARK(BM_MethodLevel)->UseManualTime();
BENCHMARK(BM_Off)->UseManualTime();
BENCHMARK(BM_Clock);
BENCHMARK(BM_Record);
BENCHMARK(BM_RecordInner);

}  // namespace
}  // namespace etb::host
