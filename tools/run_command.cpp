// SPDX-License-Identifier: Apache-2.0
// `etbackend run FILE`: loads a program, runs a method, prints and stores its outputs. Compiles an archive
// first.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/bundle/bundled_module.hpp"
#include "host/module/module.hpp"
#include "host/module/shared_program.hpp"
#include "tools/bundle/bundle_options.hpp"
#include "tools/bundle/case_report.hpp"
#include "tools/bundle/case_runs.hpp"
#include "tools/command.hpp"
#include "tools/file_kind.hpp"
#include "tools/option_values.hpp"
#include "tools/plugin_registry.hpp"
#include "tools/portable_program.hpp"
#include "tools/quantity.hpp"
#include "tools/run/blame_files.hpp"
#include "tools/run/delegate_memory.hpp"
#include "tools/run/describe_value.hpp"
#include "tools/run/input_options.hpp"
#include "tools/run/limit_options.hpp"
#include "tools/run/load_mode.hpp"
#include "tools/run/plugin_options.hpp"
#include "tools/run/profile_options.hpp"
#include "tools/run/searched_delegates.hpp"
#include "tools/run/serve.hpp"
#include "tools/run/timing.hpp"
#include "tools/run/warnings.hpp"
#include "tools/run/write_outputs.hpp"
#include "tools/session_layers.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {

namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string file;
  std::string method;  // empty: "forward", or the first if there is none
  InputOptions inputs;
  std::string input_shapes;
  std::string output_dir;
  std::string output_file;
  std::string print_output = "summary";
  std::vector<std::string> data_files;
  uint32_t repeat = 1;
  uint32_t warmup = 0;
  int32_t threads = 1;
  PluginOptions plugins;
  std::vector<std::string> layers;
  std::string load_mode;  // empty: mmap, or file with --serve
  LimitOptions limits;
  uint64_t run_id = 0;  // of the first run; 0: Module counts
  BundleOptions bundle;
  ProfileOptions profile;
  bool json = false;
  bool serve = false;
};

// The time of each run is stored: 80 MB at this limit.
constexpr uint32_t kMaxRuns = 10'000'000;

struct Times {
  double load_us = 0;
  double init_us = 0;
  double first_us = 0;
  std::vector<double> runs_us;
};

// A mapped file that becomes shorter ends the process. A server outlives updates of its files, so it copies.
host::LoadMode load_mode_of(const Options& options) {
  return to_load_mode(options.load_mode.empty() && options.serve ? "file" : options.load_mode);
}

// Runs the first run, warm-up runs, and measured runs. Sets inputs before each, as an application does. If
// the program changes its state, outputs are those of the last run.
Result<Times> run_times(const Options& options, host::Module& module, const MethodInputs& inputs,
                        Times times) {
  uint64_t run_id = options.run_id;
  const auto run_once = [&]() -> Result<double> {
    host::RunLimits limits = limits_from_now(options.limits);
    if (run_id != 0) limits.run_id = run_id++;
    const Stopwatch watch;
    ETB_TRY(blame_files(module.set_inputs(options.method, inputs.values())));
    ETB_TRY(blame_files(module.run(options.method, limits)));
    return watch.us();
  };
  ETB_ASSIGN(times.first_us, run_once());
  if (options.repeat == 1 && options.warmup == 0) {
    times.runs_us.push_back(times.first_us);
    return times;
  }
  for (uint32_t i = 0; i < options.warmup; ++i) ETB_TRY(run_once());
  for (uint32_t i = 0; i < options.repeat; ++i) {
    ETB_ASSIGN(const double us, run_once());
    times.runs_us.push_back(us);
  }
  return times;
}

Json to_json(const SearchedDelegates& delegates) {
  Json list = Json::array();
  for (const auto& decision : delegates.decisions()) {
    const host::Candidate* winner = decision->winner();
    list.push_back({{"id", decision->name},
                    {"plugin", winner == nullptr ? "" : winner->id},
                    {"decision", Json::parse(host::to_json(*decision), nullptr, false)}});
  }
  return list;
}

// Arguments of delegates, counted over all runs.
Json to_json(const host::TransferCounts& counts) {
  return {{"host_arguments", counts.host_arguments.load()},
          {"host_bytes", counts.host_bytes.load()},
          {"device_arguments", counts.device_arguments.load()}};
}

// Facts that plugins reported for programs (diag/1).
Json to_json(const std::vector<host::DiagRecord>& facts) {
  Json list = Json::array();
  for (const host::DiagRecord& fact : facts) {
    Json fields = Json::object();
    for (const host::Field& field : fact.fields) fields[field.key] = field.value;
    list.push_back({{"topic", fact.topic}, {"fields", std::move(fields)}});
  }
  return list;
}

Json to_json(const Options& options, const Times& times, const SearchedDelegates& delegates,
             const std::vector<host::EValue>& outputs, const MethodInputs& inputs, const Session& session) {
  Json report{{"file", with_input_named(options.file, session)},
              {"method", options.method},
              {"load_us", times.load_us},
              {"init_us", times.init_us},
              {"first_us", times.first_us},
              {"min_us", percentile(times.runs_us, 0)},
              {"p50_us", percentile(times.runs_us, 0.5)},
              {"p90_us", percentile(times.runs_us, 0.9)},
              {"runs", times.runs_us.size()},
              {"peak_rss_kb", peak_rss_kb()},
              {"backends", to_json(delegates)}};
  Json list = Json::array();
  for (const host::EValue& output : outputs) {
    if (!output.is_tensor()) {
      list.push_back({{"kind", host::to_text(output.tag())}, {"value", describe_value(output)}});
      continue;
    }
    const auto sizes = output.tensor().sizes();
    list.push_back({{"dtype", host::to_text(output.tensor().dtype())},
                    {"shape", std::vector<int64_t>(sizes.begin(), sizes.end())}});
  }
  report["outputs"] = std::move(list);
  if (const auto holdings = delegates.holdings(); !holdings.empty())
    report["delegate_memory"] = tools::to_json(std::span<const host::DelegateHolding>(holdings));
  if (delegates.transfers() != nullptr) report["transfers"] = to_json(*delegates.transfers());
  if (!inputs.notes().empty()) report["notes"] = inputs.notes();
  return report;
}

void print_text(const Options& options, const Times& times, const std::vector<host::EValue>& outputs,
                const MethodInputs& inputs, const host::TransferCounts* transfers, std::ostream& out) {
  for (const std::string& note : inputs.notes()) out << note << '\n';
  if (options.print_output != "none") {
    const bool shows_all = options.print_output == "all";
    for (size_t i = 0; i < outputs.size(); ++i)
      out << fmt::format("output {}: {}\n", i, describe_value(outputs[i], shows_all));
  }
  out << fmt::format("load {:.1f} us, init {:.1f} us, first run {:.1f} us", times.load_us, times.init_us,
                     times.first_us);
  if (times.runs_us.size() > 1 || options.warmup != 0) {
    out << fmt::format("; {} runs: min {:.1f}, p50 {:.1f}, p90 {:.1f} us", times.runs_us.size(),
                       percentile(times.runs_us, 0), percentile(times.runs_us, 0.5),
                       percentile(times.runs_us, 0.9));
  }
  out << "; peak " << nbytes_text(static_cast<uint64_t>(peak_rss_kb()) * 1024) << '\n';
  if (transfers != nullptr && transfers->device_arguments != 0)
    out << fmt::format(
        "arguments of delegates: {} stayed in device memory, {} passed memory of the host ({})\n",
        transfers->device_arguments.load(), transfers->host_arguments.load(),
        nbytes_text(transfers->host_bytes));
}

// Opens a program. An archive is compiled first, to a file without a name that leaves nothing on the disk.
Result<host::Module> open_module(const std::string& file, const host::ModuleOptions& options, Times& times) {
  std::optional<PortableProgram> compiled;
  if (is_archive(file)) {
    ETB_ASSIGN(compiled, PortableProgram::make(file));
  }
  const Stopwatch watch;
  ETB_ASSIGN(host::Module module, compiled
                                      ? host::Module::from_descriptor(compiled->descriptor(), 0, 0, options)
                                      : host::Module::open(file, options));
  times.load_us = watch.us();
  return module;
}

// Replaces "-" by the path of standard input.
Status open_inputs(Options& options, Session& session) {
  if (options.serve && session.input != nullptr)
    return make_error(Code::INVALID_ARGUMENT,
                      "--serve reads requests from standard input, expected other files");
  InputOptions& inputs = options.inputs;
  if (!inputs.input_list.empty()) inputs.inputs = split_commas(inputs.input_list);
  for (std::string& input : inputs.inputs) {
    ETB_ASSIGN(input, input_path(input, session));
  }
  return {};
}

// The inputs are in the bundle.
Status check_bundle_options(const Options& options) {
  const InputOptions& inputs = options.inputs;
  const bool has_inputs = !inputs.inputs.empty() || !inputs.input_list.empty() || inputs.random_seed ||
                          inputs.ones || !options.input_shapes.empty();
  if (has_inputs)
    return make_error(Code::INVALID_ARGUMENT,
                      "options of inputs for a bundled program, which has the inputs of its test cases\n"
                      "hint: `etbackend bundle FILE --extract PROGRAM.pte` writes the program alone");
  if (options.serve)
    return make_error(Code::INVALID_ARGUMENT, "--serve runs programs (.pte), found a bundled program");
  return {};
}

Result<ExitCode> run_bundle(const Options& options, host::BundledModule& bundled,
                            host::EtdumpRecording* recording, const SearchedDelegates& delegates,
                            Session& session) {
  CaseOptions cases;
  cases.method = options.method;
  cases.index = options.bundle.index;
  cases.tolerances = {options.bundle.rtol.value_or(kRunnerTolerance),
                      options.bundle.atol.value_or(kRunnerTolerance)};
  ETB_ASSIGN(cases.models, split_models(options.bundle.models, bundled.module().method_names()));
  cases.repeat = options.repeat;
  cases.warmup = options.warmup;
  cases.limits = options.limits;
  cases.shows_all = options.print_output == "all";
  cases.output_dir = options.output_dir;
  cases.output_file = options.output_file;
  if (recording != nullptr)
    cases.before_run = [recording](int32_t index) { recording->tracer().set_bundled_input_index(index); };
  ETB_ASSIGN(const CaseRuns runs, run_cases(bundled, cases));
  ETB_TRY(write_recording(options.profile, options.file, recording, session));
  if (options.json) {
    Json report{{"file", with_input_named(options.file, session)}};
    report.update(report_cases(runs, cases));
    report["backends"] = to_json(delegates);
    session.out << report.dump(2, ' ', true, Json::error_handler_t::replace) << '\n';
  } else {
    (options.profile.profile == kStandardFile ? session.err : session.out)
        << format_cases(runs, cases, options.print_output);
  }
  return runs.count(CaseVerdict::kFail) == 0 ? ExitCode::OK : ExitCode::NEGATIVE;
}

Result<ExitCode> run_program(Options options, Session& session, const SessionLayers& layers) {
  if (options.serve && !options.profile.profile.empty())
    return make_error(Code::INVALID_ARGUMENT, "--profile and --serve exclude each other");
  if (options.plugins.is_async && !options.profile.profile.empty())
    return make_error(Code::INVALID_ARGUMENT,
                      "--profile and --async exclude each other: a recorded run is in order");
  ETB_ASSIGN(const std::unique_ptr<host::EtdumpRecording> recording,
             start_recording(options.profile, options.json, session));
  const host::PlatformHooks platform = warnings_to(session.err);
  host::ModuleOptions module_options;
  module_options.platform = &platform;
  if (recording != nullptr) module_options.tracer = &recording->tracer();
  module_options.load_mode = load_mode_of(options);
  module_options.data_files = options.data_files;
  module_options.kernel_libraries = options.plugins.kernel_libraries;
  module_options.secure = session.secure;
  module_options.async = options.plugins.is_async;
  module_options.limits = options.limits.limits;
  ETB_ASSIGN(options.file, input_path(options.file, session));
  const bool is_bundle = find_file_kind(options.file) == FileKind::kBundle;
  if (is_bundle) ETB_TRY(check_bundle_options(options));
  if (!is_bundle && options.bundle.is_set()) {
    ETB_TRY(expect_kind(options.file, {}, "a bundled program (.bpte)"));
    return make_error(
        Code::INVALID_DATA,
        "'" + options.file + "': found a file of an unknown kind, expected a bundled program (.bpte)");
  }
  ETB_TRY(expect_kind(options.file, {FileKind::kProgram, FileKind::kArchive, FileKind::kBundle},
                      "a program (.pte), an archive (.pt2) or a bundled program (.bpte)"));
  for (std::string& data : module_options.data_files) {
    ETB_ASSIGN(data, input_path(data, session));
    ETB_TRY(expect_kind(data, {FileKind::kExternalData}, "external weights (.ptd)"));
  }
  ETB_TRY(open_inputs(options, session));
  ETB_ASSIGN(DelegateChoices choices, parse_choices(options.plugins));
  // Shared by kernels and plugins.
  host::ThreadPool pool(static_cast<uint32_t>(std::max(options.threads, 0)));
  module_options.pool = &pool;
  host::RegistryOptions registry = registry_options(session);
  registry.layers = layers.layers();
  registry.services.pool = &pool;
  host::DiagCollector facts;
  registry.services.diag = &facts;
  SearchedDelegates delegates(std::move(registry), std::move(choices));
  module_options.delegates = &delegates;
  if (is_bundle) {
    ETB_ASSIGN(host::BundledModule bundled, host::BundledModule::open(options.file, module_options));
    ETB_TRY(delegates.check_choices(bundled.module()));
    return run_bundle(options, bundled, recording.get(), delegates, session);
  }
  Times times;
  ETB_ASSIGN(host::Module module, open_module(options.file, module_options, times));
  delegates.lend_file(module.program()->mapped_file());
  ETB_TRY(delegates.check_choices(module));
  if (options.method.empty()) options.method = choose_method(module);
  ETB_ASSIGN(const host::MethodMeta meta, module.method_meta(options.method));
  if (options.serve) {
    ETB_TRY(serve(module, options.method, options.limits, std::cin, session.out));
    return ExitCode::OK;
  }
  const Stopwatch init_watch;
  ETB_TRY(blame_files(module.load_method(options.method)));
  times.init_us = init_watch.us();
  MethodInputs inputs(meta);
  ETB_TRY(fill_inputs(options.inputs, options.input_shapes, options.method, inputs));
  ETB_ASSIGN(times, run_times(options, module, inputs, times));
  ETB_ASSIGN(const std::vector<host::EValue> outputs, module.get_outputs(options.method));
  if (!options.output_dir.empty()) ETB_TRY(write_npy_files(options.output_dir, outputs));
  if (!options.output_file.empty()) ETB_TRY(write_raw_files(options.output_file, outputs));
  ETB_TRY(write_recording(options.profile, options.file, recording.get(), session));
  if (options.json) {
    Json report = to_json(options, times, delegates, outputs, inputs, session);
    if (const auto reported = facts.take(); !reported.empty()) report["facts"] = to_json(reported);
    session.out << report.dump(2, ' ', true, Json::error_handler_t::replace) << '\n';
  } else {
    print_text(options, times, outputs, inputs, delegates.transfers(),
               options.profile.profile == kStandardFile ? session.err : session.out);
  }
  return ExitCode::OK;
}

Result<ExitCode> run(const Options& options, Session& session) {
  ETB_ASSIGN(const std::unique_ptr<SessionLayers> layers, SessionLayers::make(options.layers, session));
  const Result<ExitCode> code = run_program(options, session, *layers);
  const ExitCode found = layers->finish(ExitCode::OK);  // also if the run failed
  return code && *code == ExitCode::OK ? found : code;
}

void add_output_options(CLI::App& command, Options& options) {
  command.add_option("--output-dir", options.output_dir, "Write outputs to 0.npy, 1.npy, ... in this folder")
      ->type_name("DIR");
  command
      .add_option("--output-file,--output_file", options.output_file,
                  "Write raw outputs to BASE-0.bin, BASE-1.bin, ...")
      ->type_name("BASE");
  command.add_option("--print-output,--print_output", options.print_output, "Amount of output data to print")
      ->check(one_of({"none", "summary", "all"}));
}

void add_repeat_options(CLI::App& command, Options& options) {
  command
      .add_option("--repeat,--num_executions", options.repeat,
                  "Number of timed runs, after a first run, which the times exclude, and those of --warmup; "
                  "1 without "
                  "--warmup: the first run is the timed one")
      ->check(whole_number(1, kMaxRuns))
      ->capture_default_str();
  command.add_option("--warmup", options.warmup, "Number of runs before the timed ones")
      ->check(whole_number(0, kMaxRuns))
      ->capture_default_str();
  auto* threads = command.add_option("--threads", options.threads, "Threads for kernels; 0: all processors")
                      ->check(whole_number(0, host::ThreadPool::kMaxWorkers, "0: all processors"))
                      ->capture_default_str();
  command
      .add_option("--cpu_threads", options.threads,
                  "As --threads; -1, as in the official runner, also means all processors")
      ->check(
          CLI::Validator([check = whole_number(0, host::ThreadPool::kMaxWorkers, "0 or -1: all processors")](
                             std::string& text) { return text == "-1" ? "" : check(text); },
                         ""))
      ->excludes(threads);
}

}  // namespace

void register_run(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run",
                                         "Run a method of a program (.pte), the graph of an archive (.pt2) "
                                         "on portable kernels, or the test cases of a "
                                         "bundled program (.bpte)");
  command
      ->add_option("FILE,--model_path,--bundled_program_path", options->file,
                   "Program, archive of torch.export, whose graph runs node by node without plugins, or "
                   "bundled program, "
                   "whose test cases run and are compared; - for standard input")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--method,--method_name", options->method,
                   "Name of the method (default: forward, or the first if there is none)")
      ->type_name("NAME");
  add_input_options(*command, options->inputs);
  command
      ->add_option("--input-shapes,--input_shapes", options->input_shapes,
                   "Sizes of dynamic inputs, one entry per input, empty for the largest sizes, such as "
                   "1x98,,2x3")
      ->type_name("SHAPE,...");
  add_output_options(*command, *options);
  command->add_option("--data,--data_path", options->data_files, "External weights (.ptd); repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--load-mode", options->load_mode,
          "Map the file (mmap, the default), map and lock it (mlock), or read it (file, the default with "
          "--serve, where the file may change)")
      ->check(one_of({"mmap", "file", "mlock"}));
  add_plugin_options(*command, options->plugins);
  add_layer_option(*command, options->layers);
  add_repeat_options(*command, *options);
  add_limit_options(*command, options->limits);
  command
      ->add_option("--priority", options->limits.priority,
                   "Priority of runs, for plugins that order the runs of a device: 0 (background) to 1000")
      ->check(whole_number(0, 1000))
      ->capture_default_str();
  command
      ->add_option("--run-id", options->run_id,
                   "Number of the first run in logs and traces of plugins; later runs count on (default: 1)")
      ->check(whole_number(1, uint64_t{1} << 63));
  add_bundle_options(*command, options->bundle);
  add_profile_options(*command, options->profile);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->add_flag(
      "--serve", options->serve,
      R"(Answer requests on standard input, one JSON line each: {"inputs": [...], "output_dir": DIR})");
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
