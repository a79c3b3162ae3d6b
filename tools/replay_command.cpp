// SPDX-License-Identifier: Apache-2.0
// `etbackend replay FILE`: repeats recorded calls on a plugin and compares its answers with the recorded ones.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <sstream>

#include "api/format/call_trace_reader.hpp"
#include "api/format/printable_text.hpp"
#include "conformance/report/precision_rows.hpp"
#include "host/layers/calls.hpp"
#include "host/layers/replay/replay.hpp"
#include "host/layers/start_plugin.hpp"
#include "tools/command.hpp"
#include "tools/file_kind.hpp"
#include "tools/option_values.hpp"
#include "tools/quantity.hpp"
#include "tools/replay/judge_run.hpp"
#include "tools/replay/replay_child.hpp"
#include "tools/session_layers.hpp"
#include "tools/standard_files.hpp"
#include "tools/verify/find_subject.hpp"

namespace etb::tools {
namespace {

using Json = nlohmann::ordered_json;
namespace replay = host::replay;

struct Options {
  std::vector<std::string> files;
  std::string plugin;  // "": the recorded one
  std::string from;    // id of a recorded plugin
  std::string tolerance = "exact";
  std::vector<std::string> ignored;
  std::vector<std::string> layers;
  uint64_t timeout_ms = 600'000;
  bool recompiles = false;
  bool in_process = false;
  bool lists = false;
  bool json = false;
};

// The recorded calls of all files.
class Traces {
 public:
  static Result<Traces> open(const std::vector<std::string>& paths, Session& session) {
    Traces traces;
    for (const std::string& path : paths) {
      ETB_ASSIGN(const std::string file, input_path(path, session));
      ETB_TRY(expect_kind(file, {FileKind::kCallTrace}, "a call trace (.etbt)"));
      ETB_ASSIGN(traces.files_.emplace_back(), format::CallTraceFile::open(file));
    }
    for (const format::CallTraceFile& file : traces.files_) traces.traces_.push_back(&file.trace());
    return traces;
  }
  std::span<const format::CallTrace* const> span() const { return traces_; }

  // The first recorded plugin with this id, or of any id for "".
  const format::TraceBegin* find_plugin(const std::string& id) const {
    for (const format::CallTrace* trace : traces_)
      for (const format::TracedCallRecord& call : trace->calls)
        if (call.begin.function == to_text(host::Function::plugin_init) &&
            (id.empty() || call.begin.plugin_id == id))
          return &call.begin;
    return nullptr;
  }

 private:
  Traces() = default;
  std::deque<format::CallTraceFile> files_;
  std::vector<const format::CallTrace*> traces_;
};

// ---- the plugin

// Keeps the library alive and passes the status of deinit on.
struct ReplayedLife final : host::PluginLife {
  ReplayedLife(std::shared_ptr<host::LoadedPlugin> loaded, std::shared_ptr<host::PluginLife> next)
      : library(std::move(loaded)), observer(std::move(next)) {}
  void on_deinit(etb_status status) noexcept override {
    library->on_deinit(status);
    observer->on_deinit(status);
  }
  std::shared_ptr<host::LoadedPlugin> library;
  std::shared_ptr<host::PluginLife> observer;
};

Result<host::PluginContext> start(const conformance::SubjectSpec& subject, const SessionLayers& layers,
                                  host::ThreadPool& pool, std::span<const etb_option> options,
                                  std::shared_ptr<host::PluginLife> observer) {
  ETB_ASSIGN(auto library, host::LoadedPlugin::load(subject.entry, subject.load_options));
  const etb_plugin_table& table = library->table();
  host::StartArgs args;
  args.layers = layers.layers();
  args.services.pool = &pool;
  args.plugin_dir = subject.entry.directory;
  args.options = options;
  return host::start_plugin(std::make_shared<ReplayedLife>(std::move(library), std::move(observer)), table,
                            args);
}

// ---- options

Result<replay::Options> to_replay_options(const Options& options, const conformance::SubjectSpec& subject) {
  replay::Options out;
  out.recompiles = options.recompiles;
  out.plugin_id = options.from;
  const std::vector<std::string> kinds = replay::difference_kinds();
  for (const std::string& name : options.ignored) {
    const auto kind = std::find(kinds.begin(), kinds.end(), name);
    if (kind == kinds.end()) return tl::make_unexpected(unknown_value("--ignore", name, kinds));
    out.ignored.insert(static_cast<replay::DifferenceKind>(kind - kinds.begin()));
  }
  if (options.tolerance == "model") {
    ETB_ASSIGN(conformance::PrecisionContract contract, conformance::parse_contract("f32"));
    if (!subject.entry.manifest_path.empty()) {
      ETB_ASSIGN(contract.rows, conformance::read_precision_rows(subject.entry.manifest_path));
    }
    out.judge = [contract](const replay::JudgedRun& run) { return judge_run(run, contract); };
  } else if (options.tolerance != "exact") {
    std::istringstream text(options.tolerance);
    char comma = ',';
    if (!(text >> out.rtol) || (!text.eof() && !(text >> comma >> out.atol)) || !text.eof() || comma != ',' ||
        !(out.rtol >= 0 && out.atol >= 0))
      return make_error(
          Code::INVALID_ARGUMENT,
          "--tolerance '" + options.tolerance + "', expected exact, model, or RTOL[,ATOL] such as 1e-5,1e-6");
  }
  // A plugin of another kind has delegate ids of its own.
  out.backend_id = [subject](const std::string& recorded) {
    return subject.entry.find_provided(recorded) != nullptr ? recorded : subject.backend_id;
  };
  return out;
}

// ---- the report as JSON

Json to_json(const replay::Report& report, const std::vector<std::string>& files) {
  Json differences = Json::array(), distances = Json::array(), times = Json::array();
  for (const replay::Difference& difference : report.differences)
    differences.push_back({{"kind", replay::to_text(difference.kind)},
                           {"file", files[difference.trace]},
                           {"call", difference.call},
                           {"function", difference.function},
                           {"object", difference.object},
                           {"text", difference.text}});
  for (const replay::OutputDifference& output : report.distances)
    distances.push_back({{"call", output.call},
                         {"output", output.output},
                         {"elements", output.distance.element_count},
                         {"differing", output.distance.differing_count},
                         {"max_abs", output.distance.max_abs},
                         {"max_rel", output.distance.max_rel},
                         {"first_index", output.distance.first_index},
                         {"accepted", output.is_accepted}});
  for (const auto& [function, time] : report.times)
    times.push_back({{"function", function},
                     {"calls", time.call_count},
                     {"recorded_ns", time.recorded_ns},
                     {"found_ns", time.found_ns}});
  return {{"calls", report.call_count},
          {"replayed", report.replayed_count},
          {"skipped", report.skipped_count},
          {"outputs", report.output_count},
          {"equal_outputs", report.equal_count},
          {"ignored_differences", report.ignored_count},
          {"differences", std::move(differences)},
          {"output_distances", std::move(distances)},
          {"notes", report.notes},
          {"times", std::move(times)}};
}

// ---- the report as text

std::string time_text(uint64_t ns) {
  if (ns < 10'000) return fmt::format("{} ns", ns);
  if (ns < 10'000'000) return fmt::format("{:.1f} us", static_cast<double>(ns) / 1e3);
  return fmt::format("{:.1f} ms", static_cast<double>(ns) / 1e6);
}

std::string number_of(uint64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

void print_text(const Json& report, bool has_several_files, std::ostream& out) {
  const auto text = [](const Json& json, const char* name) { return json.value(name, std::string()); };
  out << fmt::format("{} {} on {} {}\n", text(report["recorded"], "plugin"),
                     text(report["recorded"], "version"), text(report["found"], "plugin"),
                     text(report["found"], "version"));
  if (report.contains("log"))
    for (const Json& line : report["log"]) out << line.get<std::string>() << '\n';
  if (report.contains("death")) {
    const Json& death = report["death"];
    out << fmt::format("the plugin ended the process in call {}, {}: {}\n", death["call"].get<uint64_t>(),
                       text(death, "function"), text(death, "how"));
    return;
  }
  out << fmt::format("repeated {} of {}; {} compared, {} equal bit for bit\n",
                     report["replayed"].get<uint64_t>(),
                     number_of(report["calls"].get<uint64_t>(), "call", "calls"),
                     number_of(report["outputs"].get<uint64_t>(), "output", "outputs"),
                     report["equal_outputs"].get<uint64_t>());
  for (const Json& difference : report["differences"]) {
    const std::string file = has_several_files ? text(difference, "file") + ", " : "";
    out << format::made_printable(
               fmt::format("{}: {}call {}, {}({}): {}", text(difference, "kind"), file,
                           difference["call"].get<uint64_t>(), text(difference, "function"),
                           text(difference, "object"), text(difference, "text")),
               SIZE_MAX)
        << '\n';
  }
  uint64_t accepted = 0;
  for (const Json& distance : report["output_distances"])
    accepted += distance["accepted"].get<bool>() ? 1 : 0;
  if (accepted != 0)
    out << number_of(accepted, "output differs", "outputs differ") << " within the tolerance\n";
  if (const auto ignored = report["ignored_differences"].get<uint64_t>(); ignored != 0)
    out << number_of(ignored, "difference", "differences") << " ignored, as --ignore requests\n";
  for (const Json& note : report["notes"])
    out << "note: " << format::made_printable(note.get<std::string>(), SIZE_MAX) << '\n';
  for (const Json& time : report["times"]) {
    const auto found_ns = time["found_ns"].get<uint64_t>(), recorded_ns = time["recorded_ns"].get<uint64_t>();
    out << fmt::format("{:<26} {:>6}  recorded {:>10}  here {:>10}\n", text(time, "function"),
                       time["calls"].get<uint64_t>(), time_text(recorded_ns), time_text(found_ns));
  }
  const size_t count = report["differences"].size();
  out << (count == 0 ? std::string("no difference\n") : number_of(count, "difference", "differences") + "\n");
}

// ---- commands

void list_calls(const Traces& traces, std::ostream& out) {
  for (const format::CallTrace* trace : traces.span()) {
    out << format::made_printable(
               fmt::format("recorded by {} {} on {}: {}", trace->source.program, trace->source.version,
                           trace->source.machine, trace->source.command),
               SIZE_MAX)
        << '\n';
    for (const format::TracedCallRecord& call : trace->calls) {
      const format::TraceBegin& begin = call.begin;
      const auto name = [](uint32_t kind, uint64_t number) {
        return number == 0 ? std::string()
                           : fmt::format("{} {}", to_text(static_cast<host::ObjectKind>(kind)), number);
      };
      std::string answer = "no end";
      if (call.has_end) {
        answer = to_text(static_cast<Code>(call.end.status));
        if (call.end.status == ETB_OK)
          answer = call.end.made_number != 0 ? name(call.end.made_kind, call.end.made_number) : "ok";
        if (!call.end.text.empty()) answer += ": " + call.end.text;
      }
      out << format::made_printable(fmt::format("{:>6}  {}({}) = {}, {}", begin.number, begin.function,
                                                name(begin.object_kind, begin.object_number), answer,
                                                time_text(call.end.duration_ns)),
                                    SIZE_MAX)
          << '\n';
    }
    for (const std::string& note : trace->notes)
      out << "note: " << format::made_printable(note, SIZE_MAX) << '\n';
    if (!trace->stop_cause.empty())
      out << "note: the recorder stopped: " << format::made_printable(trace->stop_cause, SIZE_MAX) << '\n';
  }
}

// Runs in the child, where standard streams lead nowhere: lines of layers are part of the report.
Result<Json> replay_here(const Options& options, const Traces& traces,
                         const conformance::SubjectSpec& subject, Session& session,
                         const NoteCall& note_call) {
  std::ostringstream log;
  Session own{log, log, session.plugin_paths};
  own.secure = session.secure;
  ETB_ASSIGN(const std::unique_ptr<SessionLayers> layers, SessionLayers::make(options.layers, own));
  host::ThreadPool pool(1);
  ETB_ASSIGN(replay::Options replayed, to_replay_options(options, subject));
  replayed.start = [&](std::span<const etb_option> given, std::shared_ptr<host::PluginLife> life) {
    return start(subject, *layers, pool, given, std::move(life));
  };
  replayed.on_call = note_call;
  ETB_ASSIGN(const replay::Report report, replay::replay(traces.span(), replayed));
  Json json = to_json(report, options.files);
  json["is_clean"] = layers->finish(ExitCode::OK) == ExitCode::OK;
  Json lines = Json::array();
  std::istringstream text(log.str());
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  json["log"] = std::move(lines);
  return json;
}

Result<ExitCode> run(const Options& options, Session& session) {
  ETB_ASSIGN(const Traces traces, Traces::open(options.files, session));
  if (options.lists) {
    list_calls(traces, session.out);
    return ExitCode::OK;
  }
  const format::TraceBegin* const recorded = traces.find_plugin(options.from);
  const std::string id = recorded == nullptr ? options.from : recorded->plugin_id;
  if (id.empty()) return make_error(Code::INVALID_ARGUMENT, "the trace has no call of plugin.init");
  ETB_ASSIGN(const conformance::SubjectSpec subject,
             find_subject(options.plugin.empty() ? id : options.plugin, "", session));
  ETB_ASSIGN(const replay::Options checked, to_replay_options(options, subject));
  ETB_ASSIGN(const std::unique_ptr<SessionLayers> layers, SessionLayers::make(options.layers, session));
  const auto body = [&](const NoteCall& note) {
    return replay_here(options, traces, subject, session, note);
  };
  ETB_ASSIGN(Json report, options.in_process
                              ? body([](uint64_t, const std::string&) {})
                              : run_replay(body, std::chrono::milliseconds(options.timeout_ms)));
  Json out{{"files", options.files},
           {"recorded", {{"plugin", id}, {"version", recorded == nullptr ? "" : recorded->plugin_version}}},
           {"found", {{"plugin", subject.entry.id}, {"version", subject.entry.version()}}}};
  out.update(report);
  if (options.json)
    session.out << out.dump(2, ' ', true, Json::error_handler_t::replace) << '\n';
  else
    print_text(out, options.files.size() > 1, session.out);
  const bool is_same = !out.contains("death") && out["differences"].empty() && out["is_clean"].get<bool>();
  return is_same ? ExitCode::OK : ExitCode::NEGATIVE;
}

}  // namespace

void register_replay(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "replay", "Repeat recorded calls (--layer trace=FILE) on a plugin and compare the answers");
  command
      ->add_option("FILE", options->files,
                   "Call traces, in order: that of a compilation before that of a run; - for standard input")
      ->required();
  command->add_option("--plugin", options->plugin,
                      "Name, id, manifest or library of the plugin, or portable (default: the recorded id)");
  command->add_option("--from", options->from,
                      "Id of the recorded plugin, if the trace has calls of several");
  command
      ->add_option(
          "--tolerance", options->tolerance,
          "Outputs may differ: exact (not at all), model (as much as the error model of verify allows, where "
          "a trace has the compilation), or RTOL[,ATOL]")
      ->capture_default_str();
  command
      ->add_option("--ignore", options->ignored,
                   fmt::format("Do not report differences of this kind: {}; repeatable",
                               fmt::join(replay::difference_kinds(), ", ")))
      ->allow_extra_args(false);
  command->add_flag("--recompile", options->recompiles,
                    "Run what the plugin compiles in the replay, where a trace has the compilation");
  add_layer_option(*command, options->layers);
  command->add_option("--timeout-ms", options->timeout_ms, "Time limit of the replay")
      ->check(whole_number(1, UINT32_MAX))
      ->capture_default_str();
  command->add_flag("--in-process", options->in_process, "Run without a child process, for a debugger");
  command->add_flag("--list", options->lists, "List the recorded calls, and run none");
  command->add_flag("--json", options->json, "Print the report as one JSON object");
  name_values(*command, {{"--plugin", "PLUGIN"},
                         {"--from", "ID"},
                         {"--tolerance", "TOLERANCE"},
                         {"--ignore", "KIND"},
                         {"--timeout-ms", "MS"}});
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
