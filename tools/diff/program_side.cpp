// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/program_side.hpp"

#include <algorithm>

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
  ETB_ASSIGN(const std::vector<host::EValue> outputs, module.execute(tools::choose_method(module), inputs));
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

// Runs in a process of its own if the plugins of the program are isolated. Sets `death` if that process ended.
Result<std::string> ask(char request, const std::string& path, const SideOptions& options,
                        const std::vector<host::EValue>& inputs, std::string& death) {
  if (!options.is_isolated) return answer(std::string_view(&request, 1), path, options, inputs);
  Worker worker([&](std::string_view asked) { return answer(asked, path, options, inputs); },
                options.timeout_ms);
  auto out = worker.ask(std::string(1, request));
  if (!out && worker.died()) death = out.error().message;
  return out;
}

struct Trace {
  std::vector<format::EtdumpBlock> blocks;
  std::string values;
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(values)); }
};

Result<Trace> trace(const Side& side, const std::vector<host::EValue>& inputs) {
  std::string death;
  ETB_ASSIGN(const std::string text, ask(kTensors, side.name(), side.options(), inputs, death));
  MessageReader in(text);
  const std::string events = in.text();
  Trace out;
  out.values = in.text();
  ETB_TRY(in.expect_whole());
  ETB_ASSIGN(out.blocks, format::read_etdump(std::as_bytes(std::span(events))));
  return out;
}

// Ids of the delegates that a program calls, joined by "+". Runs no code of plugins.
Result<std::string> delegates_of(const Side& program) {
  tools::SearchedDelegates delegates(program.options().registry, {});
  host::ModuleOptions load;
  load.delegates = &delegates;
  ETB_ASSIGN(const host::Module module, host::Module::open(program.name(), load));
  ETB_ASSIGN(const host::MethodMeta meta, module.method_meta(tools::choose_method(module)));
  std::vector<std::string> ids;
  for (uint32_t i = 0; i < meta.view().delegate_count(); ++i) ids.emplace_back(meta.view().delegate(i).id());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::string out;
  for (const std::string& id : ids) out += (out.empty() ? "" : "+") + id;
  return out;
}

}  // namespace

std::unique_ptr<Side> open_program(const std::string& path, const SideOptions& options) {
  return Side::of_program(
      path, options,
      [path, options](const std::vector<host::EValue>& inputs) -> Result<MethodOutputs> {
        MethodOutputs out;
        const auto text = ask(kOutputs, path, options, inputs, out.death);
        if (!out.death.empty()) return out;
        if (!text) return tl::make_unexpected(text.error());
        MessageReader in(*text);
        out.values.resize(in.count());
        for (TensorData& output : out.values) output = read_tensor(in);
        ETB_TRY(in.expect_whole());
        return out;
      });
}

namespace {

class Locator {
 public:
  Locator(Model& model, const Comparison& comparison, SearchResult& result)
      : model_(model),
        is_b_(comparison.b().is_program()),
        program_(is_b_ ? comparison.b() : comparison.a()),
        other_(is_b_ ? comparison.a() : comparison.b()),
        result_(result) {}

  void run() {
    const ResultComparison* const wrong = result_.blocks[0].find_wrong();
    if (wrong == nullptr || !program_.is_program()) return;
    if (!result_.blocks[0].has_death)
      note(search_instructions(*wrong), "the tensors of its instructions were not compared");
    const bool is_found = !result_.locations.empty() && result_.locations[0].nodes.size() == 1;
    if (!is_found) note(search_plugins(), "the nodes of its plugins were not compared");
  }

 private:
  // Adds the error as a note: the result before it stays.
  void note(const Status& searched, const char* what) {
    if (searched) return;
    result_.notes.push_back(program_.name() + ": " + what + ": " + searched.error().message);
  }

  // The tensors of instructions divide the nodes into blocks.
  Status search_instructions(const ResultComparison& wrong) {
    ETB_ASSIGN(const Trace traced, trace(program_, model_.inputs()));
    const TensorData& output = is_b_ ? wrong.b.value : wrong.a.value;
    const std::string instruction = find_instruction(traced.blocks, traced.bytes(), output);
    if (!instruction.empty())
      result_.notes.push_back(program_.name() + ": '" + model_.name_of(wrong.value) + "' is the result of " +
                              instruction);
    ETB_ASSIGN(RecordedValues recorded, assign_values(model_, traced.blocks, traced.bytes()));
    if (recorded.values.empty()) return {};
    model_.replace_values(recorded.values);
    auto recording = Side::of_recording(program_.name(), SideKind::kRecorded);
    recording->set_recording(std::move(recorded.values), std::move(recorded.instructions));
    return search_with(std::move(recording),
                       "the nodes were found with the tensors of the program's instructions");
  }

  // Inside of a delegate the program has no tensors: its plugins compile the model again.
  Status search_plugins() {
    ETB_ASSIGN(const std::string ids, delegates_of(program_));
    if (ids.empty()) return {};
    auto plugins = Side::open(ids, program_.options());
    if (!plugins) {
      result_.notes.push_back("the nodes inside of '" + ids +
                              "' were not compared: " + plugins.error().message);
      return {};
    }
    return search_with(*std::move(plugins), "the nodes were found by compiling the model for " + ids +
                                                " again, because only the program's outputs are known");
  }

  // Keeps what was found if it has fewer nodes.
  Status search_with(std::unique_ptr<Side> side, std::string reason) {
    const Side* of_nodes = &other_;
    if (other_.kind() == SideKind::kOutputs || other_.is_recorded()) {
      ETB_ASSIGN(std::unique_ptr<Side> eager, Side::open("eager", {}));
      of_nodes = eager.get();
      result_.substitutes.push_back(std::move(eager));
    }
    auto by = std::make_unique<Comparison>(model_, is_b_ ? *of_nodes : *side, is_b_ ? *side : *of_nodes,
                                           CompareOptions{});
    result_.substitutes.push_back(std::move(side));
    ETB_ASSIGN(SearchResult inner, search(*by, {}));
    const bool is_closer =
        !inner.locations.empty() &&
        (result_.locations.empty() || inner.locations[0].nodes.size() < result_.locations[0].nodes.size());
    if (is_closer) result_.take(std::move(inner), std::move(by), std::move(reason));
    return {};
  }

  Model& model_;
  bool is_b_;
  const Side& program_;
  const Side& other_;
  SearchResult& result_;
};

}  // namespace

void locate_in_program(Model& model, const Comparison& comparison, SearchResult& result) {
  Locator(model, comparison, result).run();
}

}  // namespace etb::diff
