// `etbackend run FILE.pte`: loads a program, runs a method, shows and stores its outputs.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/delegates/plugin_delegates.hpp"
#include "host/module/module.hpp"
#include "tools/command.hpp"
#include "tools/plugin_registry.hpp"
#include "tools/run/describe_value.hpp"
#include "tools/run/method_inputs.hpp"
#include "tools/run/npy.hpp"
#include "tools/run/serve.hpp"
#include "tools/run/timing.hpp"
#include "tools/session_layers.hpp"

namespace etb::tools {

namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string file;
  std::string method = "forward";
  std::vector<std::string> inputs;
  std::optional<uint64_t> random_seed;
  bool ones = false;
  std::string output_dir;
  std::vector<std::string> data_files;
  uint32_t repeat = 1;
  uint32_t warmup = 0;
  uint32_t threads = 1;
  std::vector<std::string> backend_pins;
  std::vector<std::string> layers;
  std::vector<std::string> kernel_libraries;
  std::string load_mode = "mmap";
  uint64_t timeout_ms = 0;
  bool json = false;
  bool serve = false;
};

struct Times {
  double load_us = 0;
  double init_us = 0;
  double first_us = 0;
  std::vector<double> runs_us;
};

host::LoadMode to_load_mode(const std::string& text) {
  if (text == "file") return host::LoadMode::kFile;
  if (text == "mlock") return host::LoadMode::kMmapLock;
  return host::LoadMode::kMmap;
}

Status fill_inputs(const Options& options, MethodInputs& inputs) {
  if (options.random_seed) return inputs.fill_random(*options.random_seed);
  if (options.ones) return inputs.fill_ones();
  if (options.inputs.size() != inputs.count()) {
    return make_error(Code::INVALID_ARGUMENT,
                      fmt::format("{} --input given, method '{}' expects {}; or use --random SEED or --ones",
                                  options.inputs.size(), options.method, inputs.count()));
  }
  for (uint32_t i = 0; i < inputs.count(); ++i) ETB_TRY(inputs.set_text(i, options.inputs[i]));
  return {};
}

// The first run, warm-up runs, and those that count. Inputs are set before each, as an application does; with a program that
// changes its state, outputs are those of the last run.
Result<Times> run_times(const Options& options, host::Module& module, const MethodInputs& inputs,
                        Times times) {
  const auto run_once = [&]() -> Result<double> {
    host::RunLimits limits;
    if (options.timeout_ms != 0) {
      const auto& platform = host::kDefaultPlatformHooks;
      limits.deadline_ns = platform.now_ns(platform.self) + options.timeout_ms * 1000000;
    }
    const Stopwatch watch;
    ETB_TRY(module.set_inputs(options.method, inputs.values()));
    ETB_TRY(module.run(options.method, limits));
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

Status write_outputs(const Options& options, const std::vector<host::EValue>& outputs) {
  if (options.output_dir.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(options.output_dir, error);
  if (error)
    return make_error(Code::ACCESS_FAILED, fmt::format("{}: {}", options.output_dir, error.message()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string path = (std::filesystem::path(options.output_dir) / fmt::format("{}.npy", i)).string();
    if (outputs[i].is_tensor()) {
      ETB_TRY(write_npy(path, outputs[i].tensor()));
      continue;
    }
    // A number is stored as NumPy stores one: an array of rank 0.
    auto scalar = outputs[i].is_double() ? host::OwnedTensor::make<double>({}, {outputs[i].to_double()})
                  : outputs[i].is_int()
                      ? host::OwnedTensor::make<int64_t>({}, {outputs[i].to_int()})
                      : host::OwnedTensor::make<bool>({}, {outputs[i].is_bool() && outputs[i].to_bool()});
    if (outputs[i].is_scalar()) ETB_TRY(write_npy(path, scalar.tensor()));
  }
  return {};
}

// "id=plugin" pairs.
Result<std::map<std::string, std::string>> parse_pins(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> pins;
  for (const std::string& text : texts) {
    const size_t at = text.find('=');
    if (at == 0 || at == std::string::npos || at + 1 == text.size()) {
      return make_error(Code::INVALID_ARGUMENT, fmt::format("--backend-pin '{}', expected id=plugin", text));
    }
    pins[text.substr(0, at)] = text.substr(at + 1);
  }
  return pins;
}

// Searches for plugins when a program first names one, so that other programs do not wait for the search.
class SearchedDelegates final : public host::DelegateResolver {
 public:
  SearchedDelegates(host::RegistryOptions options, std::map<std::string, std::string> pins)
      : options_(std::move(options)), pins_(std::move(pins)) {}

  etb_status create(const host::DelegateRequest& request, host::MethodDelegate** out,
                    etb_error* error) noexcept override {
    if (delegates_ == nullptr) {
      registry_ = std::make_unique<host::Registry>(options_);
      delegates_ = std::make_unique<host::PluginDelegates>(*registry_);
      for (const auto& [id, plugin] : pins_) delegates_->pin(id, plugin);
    }
    return delegates_->create(request, out, error);
  }

  Json to_json() const {
    Json list = Json::array();
    if (delegates_ == nullptr) return list;
    for (const auto& decision : delegates_->decisions()) {
      const host::Candidate* winner = decision->winner();
      list.push_back({{"id", decision->name},
                      {"plugin", winner == nullptr ? "" : winner->id},
                      {"decision", Json::parse(host::to_json(*decision), nullptr, false)}});
    }
    return list;
  }

 private:
  host::RegistryOptions options_;
  std::map<std::string, std::string> pins_;
  std::unique_ptr<host::Registry> registry_;
  std::unique_ptr<host::PluginDelegates> delegates_;
};

Json to_json(const Options& options, const Times& times, const SearchedDelegates& delegates,
             const std::vector<host::EValue>& outputs, const MethodInputs& inputs) {
  Json report{{"file", options.file},
              {"method", options.method},
              {"load_us", times.load_us},
              {"init_us", times.init_us},
              {"first_us", times.first_us},
              {"min_us", percentile(times.runs_us, 0)},
              {"p50_us", percentile(times.runs_us, 0.5)},
              {"p90_us", percentile(times.runs_us, 0.9)},
              {"runs", times.runs_us.size()},
              {"peak_rss_kb", peak_rss_kb()},
              {"backends", delegates.to_json()}};
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
  if (!inputs.notes().empty()) report["notes"] = inputs.notes();
  return report;
}

void print_text(const Options& options, const Times& times, const std::vector<host::EValue>& outputs,
                const MethodInputs& inputs, std::ostream& out) {
  for (const std::string& note : inputs.notes()) out << note << '\n';
  for (size_t i = 0; i < outputs.size(); ++i)
    out << fmt::format("output {}: {}\n", i, describe_value(outputs[i]));
  out << fmt::format("load {:.1f} us, init {:.1f} us, first run {:.1f} us", times.load_us, times.init_us,
                     times.first_us);
  if (times.runs_us.size() > 1 || options.warmup != 0) {
    out << fmt::format("; {} runs: min {:.1f}, p50 {:.1f}, p90 {:.1f} us", times.runs_us.size(),
                       percentile(times.runs_us, 0), percentile(times.runs_us, 0.5),
                       percentile(times.runs_us, 0.9));
  }
  out << fmt::format("; peak {} KB\n", peak_rss_kb());
}

Result<ExitCode> run_program(const Options& options, Session& session, const SessionLayers& layers) {
  host::ModuleOptions module_options;
  module_options.load_mode = to_load_mode(options.load_mode);
  module_options.data_files = options.data_files;
  module_options.kernel_libraries = options.kernel_libraries;
  ETB_ASSIGN(auto pins, parse_pins(options.backend_pins));
  host::ThreadPool pool(options.threads);  // kernels and plugins share it
  module_options.pool = &pool;
  host::RegistryOptions registry = registry_options(session);
  registry.layers = layers.layers();
  registry.services.pool = &pool;
  SearchedDelegates delegates(std::move(registry), std::move(pins));
  module_options.delegates = &delegates;
  Times times;
  const Stopwatch load_watch;
  ETB_ASSIGN(host::Module module, host::Module::open(options.file, module_options));
  times.load_us = load_watch.us();
  ETB_ASSIGN(const host::MethodMeta meta, module.method_meta(options.method));
  if (options.serve) {
    ETB_TRY(serve(module, options.method, std::cin, session.out));
    return ExitCode::OK;
  }
  const Stopwatch init_watch;
  ETB_TRY(module.load_method(options.method));
  times.init_us = init_watch.us();
  MethodInputs inputs(meta);
  ETB_TRY(fill_inputs(options, inputs));
  ETB_ASSIGN(times, run_times(options, module, inputs, times));
  ETB_ASSIGN(const std::vector<host::EValue> outputs, module.get_outputs(options.method));
  ETB_TRY(write_outputs(options, outputs));
  if (options.json) {
    session.out << to_json(options, times, delegates, outputs, inputs)
                       .dump(2, ' ', false, Json::error_handler_t::replace)
                << '\n';
  } else {
    print_text(options, times, outputs, inputs, session.out);
  }
  return ExitCode::OK;
}

Result<ExitCode> run(const Options& options, Session& session) {
  ETB_ASSIGN(const std::unique_ptr<SessionLayers> layers, SessionLayers::make(options.layers, session.err));
  const Result<ExitCode> code = run_program(options, session, *layers);
  const ExitCode found = layers->finish(ExitCode::OK, session.err);  // also when the run failed
  return code && *code == ExitCode::OK ? found : code;
}

}  // namespace

void register_run(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "Runs a method of a program (.pte)");
  command->add_option("FILE", options->file, "The program")->required();
  command->add_option("--method", options->method, "Which method")->capture_default_str();
  auto* inputs =
      command
          ->add_option(
              "--input", options->inputs,
              "One per input, in order: x.npy, x.bin (raw, the method's own shape), a number, true or false")
          ->type_name("FILE")
          ->allow_extra_args(false);
  auto* random = command->add_option("--random", options->random_seed, "Random inputs from this seed")
                     ->type_name("SEED");
  auto* ones = command->add_flag("--ones", options->ones, "All inputs are one");
  random->excludes(inputs)->excludes(ones);
  ones->excludes(inputs);
  command->add_option("--output-dir", options->output_dir, "Write 0.npy, 1.npy, ... here")->type_name("DIR");
  command->add_option("--data", options->data_files, "External weights (.ptd), may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command->add_option("--repeat", options->repeat, "Timed runs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--warmup", options->warmup, "Runs before them")->capture_default_str();
  command->add_option("--threads", options->threads, "Threads for kernels, 0: all of the machine")
      ->capture_default_str();
  command
      ->add_option("--kernels", options->kernel_libraries,
                   "Shared library with kernels of your own, may be repeated")
      ->type_name("LIB")
      ->allow_extra_args(false);
  command
      ->add_option("--backend-pin", options->backend_pins,
                   "Use this plugin for this delegate id, may be repeated")
      ->type_name("ID=PLUGIN")
      ->allow_extra_args(false);
  add_layer_option(*command, options->layers);
  command->add_option("--load-mode", options->load_mode, "How the file comes into memory")
      ->check(CLI::IsMember({"mmap", "file", "mlock"}))
      ->capture_default_str();
  command->add_option("--timeout-ms", options->timeout_ms, "Stop a run after this time, 0: never")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print one JSON object");
  command->add_flag(
      "--serve", options->serve,
      R"(Answer one JSON line {"inputs": [...], "output_dir": DIR} after another from standard input)");
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
