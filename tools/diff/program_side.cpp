// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/program_side.hpp"

#include "host/profile/etdump_recording.hpp"
#include "tools/diff/message.hpp"
#include "tools/diff/recorded_values.hpp"
#include "tools/run/load_mode.hpp"
#include "tools/run/searched_delegates.hpp"

namespace etb::diff {
namespace {

// Requests to the process of the program.
constexpr char kOutputs = 'O', kTensors = 'T';

// `take` gets the outputs while the module lives.
Status run(const std::string& path, const SideOptions& options, const std::vector<host::EValue>& inputs,
           host::EventTracer* tracer, const std::function<void(const std::vector<host::EValue>&)>& take) {
  tools::SearchedDelegates delegates(options.registry, {});
  host::ModuleOptions load;
  load.delegates = &delegates;
  load.kernel_libraries = options.kernel_libraries;
  load.tracer = tracer;
  ETB_ASSIGN(host::Module module, host::Module::open(path, load));
  ETB_ASSIGN(const std::vector<host::EValue> outputs,
             module.execute(tools::choose_method(module), inputs));
  take(outputs);
  return {};
}

// Answers a request about one run: its outputs, or its events and their tensors.
Result<std::string> answer(std::string_view request, const std::string& path, const SideOptions& options,
                           const std::vector<host::EValue>& inputs) {
  MessageWriter out;
  const bool has_tensors = request[0] == kTensors;
  host::RecordingOptions recorded;
  recorded.debug_level = host::DebugLevel::kIntermediateOutputs;
  ETB_ASSIGN(const auto recording, host::EtdumpRecording::make(recorded));
  const auto take = [&](const std::vector<host::EValue>& outputs) {
    if (has_tensors) return;
    out.number(outputs.size());
    for (const host::EValue& output : outputs) write(copy_of(output), out);
  };
  ETB_TRY(run(path, options, inputs, has_tensors ? &recording->tracer() : nullptr, take));
  if (!has_tensors) return out.take();
  ETB_ASSIGN(const std::vector<std::byte> events, recording->to_bytes());
  const auto values = recording->debug_bytes();
  out.text({reinterpret_cast<const char*>(events.data()), events.size()});
  out.text({reinterpret_cast<const char*>(values.data()), values.size()});
  return out.take();
}

// Runs in a process of its own if the plugins of the program are isolated.
Result<std::string> ask(char request, const std::string& path, const SideOptions& options,
                        const std::vector<host::EValue>& inputs) {
  if (!options.is_isolated) return answer(std::string_view(&request, 1), path, options, inputs);
  Worker worker([&](std::string_view asked) { return answer(asked, path, options, inputs); }, options.timeout_ms);
  return worker.ask(std::string(1, request));
}

struct Trace {
  std::vector<format::EtdumpBlock> blocks;
  std::string values;
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(values)); }
};

Result<Trace> trace(const Side& side, const std::vector<host::EValue>& inputs) {
  ETB_ASSIGN(const std::string text, ask(kTensors, side.name(), side.options(), inputs));
  MessageReader in(text);
  const std::string events = in.text();
  Trace out;
  out.values = in.text();
  ETB_ASSIGN(out.blocks, format::read_etdump(std::as_bytes(std::span(events))));
  return out;
}

}  // namespace

std::unique_ptr<Side> open_program(const std::string& path, const SideOptions& options) {
  return Side::of_program(
      path, options,
      [path, options](const std::vector<host::EValue>& inputs) -> Result<std::vector<TensorData>> {
        ETB_ASSIGN(const std::string text, ask(kOutputs, path, options, inputs));
        MessageReader in(text);
        std::vector<TensorData> out(in.number());
        for (TensorData& output : out) output = read_tensor(in);
        return out;
      });
}

Status locate_in_program(Model& model, const Comparison& comparison, SearchResult& result) {
  const bool is_b = comparison.b().is_program();
  const Side& program = is_b ? comparison.b() : comparison.a();
  const Side& other = is_b ? comparison.a() : comparison.b();
  const ResultComparison* const wrong = result.blocks[0].find_wrong();
  if (wrong == nullptr || !program.is_program()) return {};
  ETB_ASSIGN(const Trace traced, trace(program, model.inputs()));
  const TensorData& output = is_b ? wrong->b.value : wrong->a.value;
  const std::string instruction = find_instruction(traced.blocks, traced.bytes(), output);
  if (!instruction.empty())
    result.notes.push_back(program.name() + ": '" + model.name_of(wrong->value) + "' is the result of " + instruction);
  ETB_ASSIGN(RecordedValues recorded, assign_values(model, traced.blocks, traced.bytes()));
  if (recorded.values.empty()) return {};
  model.replace_values(recorded.values);
  result.recording = Side::of_recording(program.name(), SideKind::kRecorded);
  result.recording->set_recording(std::move(recorded.values), std::move(recorded.instructions));
  const Side* of_nodes = &other;
  if (other.kind() == SideKind::kOutputs || other.is_recorded()) {
    ETB_ASSIGN(result.substitute, Side::open("eager", {}));
    of_nodes = result.substitute.get();
  }
  auto inner_comparison = std::make_unique<Comparison>(model, is_b ? *of_nodes : *result.recording,
                                                       is_b ? *result.recording : *of_nodes, CompareOptions{});
  ETB_ASSIGN(SearchResult inner, search(*inner_comparison, {}));
  if (inner.locations.empty()) return {};
  result.substituted = std::move(inner_comparison);
  result.locations = std::move(inner.locations);
  for (size_t i = 0; i < inner.blocks.size(); ++i) {
    result.blocks.push_back(std::move(inner.blocks[i]));
    result.is_region.push_back(inner.is_region[i]);
  }
  return {};
}

}  // namespace etb::diff
