// SPDX-License-Identifier: Apache-2.0
// Measures a call through a plugin's table with 0, 1 and 2 layers before it. docs/layers.md has the command and the
// figures.
#include <benchmark/benchmark.h>

#include "host/layers/compare/comparison.hpp"
#include "host/layers/fault/fault.hpp"
#include "host/layers/record/recorder.hpp"
#include "host/layers/trace/trace.hpp"
#include "host/testing/layer_fixture.hpp"
#include "host/testing/scratch_dir.hpp"

namespace etb::host {
namespace {

enum Stack { NONE, TRACE, TRACE_TWICE, VALIDATE, TRACE_AND_VALIDATE, GUARD_PAGES, RECORD, FAULT, COMPARE };

constexpr int kRecordedCalls = 50'000;  // some 20 MB of file

// Layers of a benchmark and their objects. The trace counts its calls and writes no text.
struct Layered {
  explicit Layered(Stack stack)
      : trace([this](const TracedCall&) { ++call_count; }),
        validation([&] {
          ValidateOptions options;
          if (stack == GUARD_PAGES) options.memory = ValidateOptions::Memory::GUARD_PAGES;
          return options;
        }()),
        // A rule that is asked at every call and never acts.
        faults(*fault::parse_rules("status,status=busy,at=*,nth=1000000000000+seed=1"),
               [](const std::string&) {}),
        comparison([&] {
          ComparisonOptions options;
          options.open = [&]() -> Result<std::shared_ptr<const PluginContext>> {
            ETB_ASSIGN(PluginContext opened, start_plugin(nullptr, other.plugin, {}));
            return std::make_shared<const PluginContext>(std::move(opened));
          };
          return options;
        }()) {
    std::vector<Layer> layers;
    if (stack == TRACE || stack == TRACE_TWICE || stack == TRACE_AND_VALIDATE)
      layers.push_back(trace.layer());
    if (stack == TRACE_TWICE) layers.push_back(trace.layer());
    if (stack == VALIDATE || stack == TRACE_AND_VALIDATE || stack == GUARD_PAGES)
      layers.push_back(validation.layer());
    if (stack == RECORD) {
      recorder = *Recorder::open(dir.path("calls.etbt"));
      layers.push_back(recorder->layer());
    }
    if (stack == FAULT) layers.push_back(faults.layer());
    if (stack == COMPARE) layers.push_back(comparison.layer());
    fixture.emplace(std::move(layers));
    // Returns at once, because the benchmark measures the table and the layers.
    for (ToyPlugin* toy : {&fixture->toy, &other})
      toy->delegate.execute = [](etb_context*, const etb_exec_args*, etb_error*) -> etb_status {
        return ETB_OK;
      };
    fixture->start();
    context = fixture->context();
  }

  uint64_t call_count = 0;
  Trace trace;
  Validation validation;
  Faults faults;
  ToyPlugin other;
  Comparison comparison;
  ScratchDir dir;
  std::unique_ptr<Recorder> recorder;
  std::optional<LayerFixture> fixture;
  etb_context* context = nullptr;
};

void execute(benchmark::State& state, Stack stack) {
  Layered layered(stack);
  const etb_delegate_table& table = layered.fixture->delegates();
  const etb_exec_args& args = layered.fixture->run.args;
  etb_error error = ETB_ERROR_INIT;
  for (auto _ : state) benchmark::DoNotOptimize(table.execute(layered.context, &args, &error));
  if (layered.validation.violation_count() != 0)
    state.SkipWithError("the validate layer reports a violation");
}

void query(benchmark::State& state, Stack stack) {
  Layered layered(stack);
  const etb_delegate_table& table = layered.fixture->delegates();
  etb_delegate* const delegate = layered.fixture->delegate();
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  etb_error error = ETB_ERROR_INIT;
  for (auto _ : state) benchmark::DoNotOptimize(table.query(delegate, &info, &error));
  if (layered.validation.violation_count() != 0)
    state.SkipWithError("the validate layer reports a violation");
}

BENCHMARK_CAPTURE(query, no_layer, NONE);
BENCHMARK_CAPTURE(query, trace, TRACE);
BENCHMARK_CAPTURE(query, trace_trace, TRACE_TWICE);
BENCHMARK_CAPTURE(query, validate, VALIDATE);
BENCHMARK_CAPTURE(query, trace_validate, TRACE_AND_VALIDATE);
BENCHMARK_CAPTURE(query, validate_guard_pages, GUARD_PAGES);
BENCHMARK_CAPTURE(query, fault, FAULT);
BENCHMARK_CAPTURE(query, compare, COMPARE);
BENCHMARK_CAPTURE(query, record, RECORD)->Iterations(kRecordedCalls);
BENCHMARK_CAPTURE(execute, no_layer, NONE);
BENCHMARK_CAPTURE(execute, trace, TRACE);
BENCHMARK_CAPTURE(execute, trace_trace, TRACE_TWICE);
BENCHMARK_CAPTURE(execute, validate, VALIDATE);
BENCHMARK_CAPTURE(execute, trace_validate, TRACE_AND_VALIDATE);
BENCHMARK_CAPTURE(execute, validate_guard_pages, GUARD_PAGES);
BENCHMARK_CAPTURE(execute, fault, FAULT);
BENCHMARK_CAPTURE(execute, compare, COMPARE);
BENCHMARK_CAPTURE(execute, record, RECORD)->Iterations(kRecordedCalls);

}  // namespace
}  // namespace etb::host
