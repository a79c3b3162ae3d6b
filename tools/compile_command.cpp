// SPDX-License-Identifier: Apache-2.0
// `etbackend compile MODEL.pt2 -o PROGRAM.pte`: compiles a torch.export archive to a program and delegates
// parts to plugins.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "api/format/output_file.hpp"
#include "api/format/printable_text.hpp"
#include "partitioner_sdk/emit/emit.hpp"
#include "partitioner_sdk/import/import.hpp"
#include "partitioner_sdk/import/input_bounds.hpp"
#include "partitioner_sdk/import/training_mode.hpp"
#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/passes/pipeline.hpp"
#include "tools/command.hpp"
#include "tools/compile/compilation_record.hpp"
#include "tools/compile/constant_methods.hpp"
#include "tools/compile/delegation.hpp"
#include "tools/compile/extensions.hpp"
#include "tools/compile/memory_option.hpp"
#include "tools/compile/plugin_progress.hpp"
#include "tools/compile/program_summary.hpp"
#include "tools/compile/record_options.hpp"
#include "tools/compile/record_values.hpp"
#include "tools/compile/step_times.hpp"
#include "tools/file_kind.hpp"
#include "tools/option_values.hpp"
#include "tools/page_facts.hpp"
#include "tools/plugin_registry.hpp"
#include "tools/portable_target.hpp"
#include "tools/progress.hpp"
#include "tools/session_layers.hpp"
#include "tools/standard_files.hpp"
#include "tools/verify/interruptible.hpp"

namespace etb::tools {

namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string input;
  std::vector<std::string> methods;  // NAME=FILE.pt2
  std::string model;
  std::string output;
  RecordOptions record;
  std::string external_data;           // .ptd
  std::vector<std::string> constants;  // NAME=VALUE
  std::vector<std::string> bounds;     // SYMBOL=SIZE
  std::vector<std::string> dump_after;
  ExtensionOptions extensions;
  DelegationOptions delegation;
  std::vector<std::string> layers;
  std::vector<std::string> memories;  // NAME=SIZE
  bool ignores_missing_kernels = false;
  bool leaves_inputs = false, leaves_outputs = false;  // to the caller
  bool keeps_branches_apart = false;
  bool uses_integer_kernels = false;
  bool times = false;
  bool json = false;
};

// Returns method name and file of each method to compile.
Result<std::vector<std::pair<std::string, std::string>>> list_methods(const Options& options) {
  std::vector<std::pair<std::string, std::string>> out;
  if (!options.input.empty()) out.emplace_back("forward", options.input);
  for (const std::string& text : options.methods) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return make_error(Code::INVALID_ARGUMENT, "--method '" + text + "', expected NAME=FILE.pt2");
    }
    const std::string name = text.substr(0, equals);
    for (const auto& [other, file] : out)
      if (other == name)
        return make_error(
            Code::INVALID_ARGUMENT,
            fmt::format("--method '{}': '{}' is a method already, from '{}'", text, name, file));
    out.emplace_back(name, text.substr(equals + 1));
  }
  if (out.empty())
    return make_error(Code::INVALID_ARGUMENT,
                      "no model is named\nhint: give MODEL.pt2 or --method NAME=FILE.pt2");
  return out;
}

// Passes whose graphs --dump-after prints.
Status check_dumps(const std::vector<std::string>& wanted) {
  std::vector<std::string> names{"import"};
  for (const std::string_view name : passes::pass_names()) names.emplace_back(name);
  names.emplace_back("all");
  for (const std::string& name : wanted)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return tl::make_unexpected(unknown_value("--dump-after", name, names));
  return {};
}

// Sets the bounds of --bound. Returns a warning for each that is assumed.
Result<std::vector<std::string>> bound_sizes(const std::vector<std::string>& texts, ir::Module& module) {
  std::map<std::string, int64_t> bounds;
  for (const std::string& text : texts) {
    const size_t equals = std::min(text.find('='), text.size());
    int64_t bound = 0;
    const char* const end = text.data() + text.size();
    const char* const begin = std::min(text.data() + equals + 1, end);
    const auto [next, error] = std::from_chars(begin, end, bound);
    if (equals == 0 || error != std::errc() || next != end || bound < 0)
      return make_error(Code::INVALID_ARGUMENT,
                        "--bound '" + text + "', expected SYMBOL=SIZE, as in s31=512");
    bounds[text.substr(0, equals)] = bound;
  }
  return pt2::bound_inputs(module, bounds);
}

// State shared by the steps of a compilation.
struct Job {
  const Options& options;
  std::ostream& out;
  std::ostream& err;
  Progress progress;
  StepTimes watch = {};
  Extensions extensions = {};
  std::optional<Delegation> delegation = {};
  std::vector<std::string> warnings = {};
  std::set<std::string> ops = {};  // of the graphs before each pass, where --decompose needs them

  void note(const std::string& text) {
    progress.erase();
    err << "note: " << format::made_printable(text) << '\n';
  }

  void warn(const std::string& text) {
    progress.erase();
    err << "warning: " << format::made_printable(text) << '\n';
    warnings.push_back(text);
  }

  void observe(std::string_view pass, ir::Module& module) {
    if (!options.extensions.formulas.empty())
      for (const ir::Graph& graph : module.graphs)
        for (const ir::Node& node : graph.nodes) ops.insert(module.op(node).name);
    dump(pass, module);
  }

  void dump(std::string_view pass, ir::Module& module) {
    for (const std::string& wanted : options.dump_after) {
      if (wanted != pass && wanted != "all") continue;
      progress.erase();
      out << "# after " << pass << "\n" << ir::print(module, {.has_sources = true}) << "\n";
    }
  }

  passes::PipelineOptions pipeline() {
    passes::PipelineOptions made = portable_pipeline();
    made.decompose.formulas = options.extensions.formulas;
    made.rules = extensions.rules();
    made.uses_integer_kernels = options.uses_integer_kernels;
    made.on_rule_fault = [this](const std::string& owner, const Error& error) {
      delegation->add_rule_error(owner, error);
    };
    made.after_pass = [this](std::string_view pass, ir::Module& module) {
      watch.lap(std::string(pass));
      progress.show_often(module.name + ": after pass " + std::string(pass));
      observe(pass, module);
    };
    return made;
  }
};

// Compiles a method to the edge dialect, the form that plugins see.
Result<ir::Module> compile_method(Job& job, const std::string& name, const std::string& path,
                                  CompilationRecord& record) {
  const Options& options = job.options;
  job.progress.show(name + ": reading the archive");
  ETB_ASSIGN(ir::Module module, pt2::import_archive(path, {options.model, job.extensions.custom_ops()}));
  ETB_ASSIGN(const std::vector<std::string> assumptions, bound_sizes(options.bounds, module));
  for (const std::string& assumption : assumptions) job.warn(assumption);
  if (const std::string text = pt2::describe_training_mode(module); !text.empty()) job.warn(text);
  module.name = name;
  job.watch.lap("import");
  job.observe("import", module);
  if (options.record.is_set()) {
    ETB_TRY(record.add_exported(module));
    if (name == "forward") record.add_inputs(path, options.model);
  }
  passes::PipelineOptions pipeline = job.pipeline();
  pipeline.decompose.preserved = job.delegation->preserved_ops();
  const bool has_plugins = !options.delegation.backends.names.empty();
  if (has_plugins || options.uses_integer_kernels)
    pipeline.quantized_constants = passes::QuantizedConstants::kKeep;
  ETB_TRY(passes::to_edge(module, pipeline));
  for (const std::string& assumption : pt2::bound_data_sizes(module)) job.warn(assumption);
  if (options.record.is_set()) ETB_TRY(record.add_edge(module));
  ETB_TRY(passes::simplify(module, pipeline));
  return module;
}

// Contents of the output files.
struct Parts {
  std::vector<ir::Module> modules;
  CompilationRecord record;  // if one is requested
  DelegateData delegates;
  std::vector<plan::Memory> memories;
};

Result<emit::Program> emit_program(const Options& options, Parts& parts) {
  emit::EmitOptions emit_options;
  if (!options.ignores_missing_kernels) {
    ETB_ASSIGN(emit_options.has_kernel, portable_kernels());
  }
  emit_options.delegates = parts.delegates.delegates;
  emit_options.named_data = parts.delegates.named_data;
  ETB_ASSIGN(emit_options.constant_methods, parse_constant_methods(options.constants));
  emit_options.has_external_data = !options.external_data.empty();
  emit_options.plans_inputs = !options.leaves_inputs;
  emit_options.plans_outputs = !options.leaves_outputs;
  emit_options.keeps_branches_apart = options.keeps_branches_apart;
  emit_options.memories = parts.memories;
  return emit::emit(parts.modules, emit_options);
}

// Standard output receives a copy of a complete file.
Status write_program(const emit::Program& program, const std::string& output,
                     std::span<const ir::FileBytes> files, bool has_record, CompilationRecord& record,
                     Session& session) {
  const auto identify = [&](const std::string& path) -> Status {
    std::error_code failed;
    if (!has_record || !std::filesystem::is_regular_file(path, failed)) return {};  // a device has no digest
    ETB_ASSIGN(format::ProgramIdentity identity, format::identify_program(path));
    if (output == kStandardFile) identity.name = "standard output";
    record.set_program(std::move(identity));
    return {};
  };
  if (output != kStandardFile) {
    ETB_TRY(emit::write_file(program, output, files));
    return identify(output);
  }
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(failed);
  if (failed) return make_error(Code::ACCESS_FAILED, "no folder for temporary files: " + failed.message());
  ETB_ASSIGN(format::OutputFile file, format::OutputFile::open_unnamed(folder.string()));
  ETB_TRY(emit::write_file(program, file, files));
  ETB_TRY(identify("/proc/self/fd/" + std::to_string(file.descriptor())));
  return copy_to_output(file.descriptor(), session);
}

Result<emit::Program> write_files(const Options& options, Parts& parts, const std::string& output, Job& job,
                                  Session& session) {
  ETB_ASSIGN(emit::Program program, emit_program(options, parts));
  job.watch.lap("emit");
  ETB_ASSIGN(const auto notes, add_record_values(options.record, program, parts.record));
  for (const std::string& note : notes) job.note(note);
  std::vector<ir::FileBytes> files;
  for (const ir::Module& module : parts.modules)
    files.insert(files.end(), module.files.begin(), module.files.end());
  if (!options.external_data.empty())
    ETB_TRY(emit::write_external_file(program, options.external_data, files));
  const bool has_record = options.record.is_set();
  ETB_TRY(write_program(program, output, files, has_record, parts.record, session));
  if (has_record) {
    parts.record.add_maps(program, parts.delegates.delegates);
    ETB_TRY(parts.record.write(options.record.path));
  }
  job.watch.lap("write");
  return program;
}

Json summary_json(const emit::Program& program, const WrittenFiles& files, const Job& job) {
  Json report = compilation_json(program, files);
  report["delegation"] = job.delegation->summary();
  report["warnings"] = job.warnings;
  if (job.options.times) report["times_ms"] = job.watch.to_json();
  return report;
}

// Keeps freed memory for later buffers. Weights pass through a few buffers of megabytes each. If they go back
// to the system each time, page faults take half of the time to compile a convolutional net.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kMostThatGlibcTakes = 32 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kMostThatGlibcTakes);
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

// Replaces "-" by the path of standard input.
Result<std::vector<std::pair<std::string, std::string>>> open_methods(const Options& options,
                                                                      Session& session) {
  ETB_ASSIGN(auto methods, list_methods(options));
  for (auto& [name, path] : methods) {
    ETB_ASSIGN(path, input_path(path, session));
    ETB_TRY(expect_kind(path, {FileKind::kArchive}, "an archive of torch.export.save (.pt2)"));
  }
  return methods;
}

Result<std::string> output_of(const Options& options) {
  if (!options.output.empty()) return options.output;
  const std::string& input =
      options.input.empty() ? options.methods[0].substr(options.methods[0].find('=') + 1) : options.input;
  if (input == kStandardFile)
    return make_error(
        Code::INVALID_ARGUMENT,
        "the model comes from standard input, and the program has no name\nhint: -o FILE, or -o - "
        "for standard output");
  return std::filesystem::path(input).replace_extension(".pte").string();
}

// Plugins claim nodes and compile regions, which may take long.
Status delegate(std::vector<ir::Module>& modules, const passes::PipelineOptions& pipeline, Job& job,
                Session& session) {
  const BackendRequest& backends = job.options.delegation.backends;
  const std::string names = fmt::format("{}", fmt::join(backends.names, ", "));
  if (names.empty() || job.options.delegation.prints_report)
    job.progress.erase();
  else
    job.progress.show("compiling regions for " + names);
  // The first signal asks the plugin to stop. A second one ends the program, because a plugin need not ask.
  std::optional<Interruptible> interruptible;
  if (!names.empty() && !backends.isolate) interruptible.emplace(Interruptible::Repeated::kEndsProgram);
  ETB_TRY(job.delegation->run(modules, pipeline, job.out, session));
  if (interruptible && was_interrupted().load())
    return make_error(Code::CANCELLED, "interrupted while " + names + " compiled; no program was written");
  job.watch.lap("lower");
  return {};
}

Result<emit::Program> compile_methods(const std::vector<std::pair<std::string, std::string>>& methods,
                                      const std::string& output, Job& job, Session& session) {
  Parts parts;
  ETB_ASSIGN(parts.memories, parse_memories(job.options.memories));
  if (job.options.record.weights) parts.record.store_weights();
  ETB_ASSIGN(const auto modules, list_modules(job.options.record));
  ETB_TRY(parts.record.add_modules(modules, job.extensions.custom_ops()));
  for (const auto& [name, path] : methods) {
    ETB_ASSIGN(ir::Module module, compile_method(job, name, path, parts.record));
    parts.modules.push_back(std::move(module));
  }
  ETB_TRY(job.extensions.check_formulas(job.options.extensions, job.ops));
  passes::PipelineOptions pipeline = job.pipeline();
  ETB_TRY(delegate(parts.modules, pipeline, job, session));
  for (ir::Module& module : parts.modules) ETB_TRY(passes::to_portable(module, pipeline));
  parts.delegates = job.delegation->data();
  job.progress.show("writing the program");
  return write_files(job.options, parts, output, job, session);
}

pages::CompileResult result_for_page(const std::string& output, const Job& job,
                                     const Result<emit::Program>& program) {
  pages::CompileResult result;
  result.warnings = job.warnings;
  result.steps_ms = job.watch.laps();
  if (!program) {
    result.warnings.push_back("no program was written: " + program.error().message);
    return result;
  }
  for (const emit::MethodReport& method : program->methods)
    result.methods.push_back({method.name, method.instruction_count, method.delegate_calls.size(),
                              method.arena_nbytes, method.arena_lower_bound_nbytes});
  result.program_nbytes = output == kStandardFile ? 0 : nbytes_of(output).value_or(0);
  return result;
}

Result<ExitCode> compile_program(const Options& options, const SessionLayers& layers, Session& session) {
  keep_freed_memory();
  ETB_TRY(check_dumps(options.dump_after));
  ETB_TRY(check_record_options(options.record));
  for (const auto& [option, path] :
       {std::pair("--external-data", &options.external_data), {"--etrecord", &options.record.path}})
    if (*path == kStandardFile)
      return make_error(Code::INVALID_ARGUMENT, std::string(option) + " -: expected the path of a file");
  ETB_ASSIGN(const bool has_output, uses_standard_output({{"-o", options.output, true},
                                                          {"--report-json", options.delegation.report_json},
                                                          {"--report-html", options.delegation.report_html},
                                                          {"--json", options.json ? kStandardFile : ""}},
                                                         session));
  DelegationOptions delegation = options.delegation;
  Job job{options, has_output ? session.err : session.out, session.err, Progress(session.quiet)};
  ETB_ASSIGN(const auto methods, open_methods(options, session));
  ETB_ASSIGN(const std::string output, output_of(options));
  host::RegistryOptions with_layers = registry_options(session);
  with_layers.layers = layers.layers();
  host::Registry registry(with_layers);
  ETB_ASSIGN(job.extensions, Extensions::open(options.extensions));
  PluginProgress plugin_progress(job.progress, fmt::format("{}", fmt::join(delegation.backends.names, ", ")));
  delegation.backends.watch = plugin_progress.watch();
  ETB_ASSIGN(job.delegation, Delegation::open(registry, delegation, job.extensions));
  job.watch.lap("plugins");
  const auto program = compile_methods(methods, output, job, session);
  job.progress.erase();
  // The page states why the rest failed.
  const Status page = job.delegation->write_page(result_for_page(output, job, program),
                                                 page_facts(methods[0].second, session), session);
  if (!program) return tl::make_unexpected(program.error());
  ETB_TRY(page);
  const WrittenFiles files{output, options.external_data,
                           options.record.is_set() ? options.record.path : std::string()};
  if (options.json) {
    session.out << summary_json(*program, files, job).dump(2, ' ', true, Json::error_handler_t::replace)
                << '\n';
  } else {
    print_summary(*program, files, options.delegation.prints_report, job.out);
    if (options.times) job.watch.print(job.out);
  }
  return job.delegation->finish(session.err);
}

Result<ExitCode> run(const Options& options, Session& session) {
  // A child process would have layers of its own, which end with it.
  if (!options.layers.empty() && options.delegation.backends.isolate)
    return make_error(Code::INVALID_ARGUMENT, "--layer and --isolate exclude each other");
  if (options.delegation.prints_report && options.delegation.backends.names.empty() &&
      options.memories.empty())
    return make_error(Code::INVALID_ARGUMENT, "--report requires --backend or --memory");
  ETB_ASSIGN(const std::unique_ptr<SessionLayers> layers, SessionLayers::make(options.layers, session));
  const Result<ExitCode> code = compile_program(options, *layers, session);
  const ExitCode found = layers->finish(ExitCode::OK);  // also if the compilation failed
  return code && *code == ExitCode::OK ? found : code;
}

}  // namespace

void register_compile(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("compile", "Make a program (.pte) from a torch.export archive (.pt2)");
  command->add_option("MODEL", options->input,
                      "Archive of torch.export.save, - for standard input; becomes method 'forward'");
  command->add_option("-o,--output", options->output,
                      "Program to write, - for standard output (default: MODEL with the ending .pte)");
  command->add_option("--method", options->methods, "Add a method from an archive of its own; repeatable");
  command->add_option("--constant", options->constants,
                      "Add a method that returns this number, text or [list]; repeatable");
  command->add_option("--external-data", options->external_data,
                      "Write the weights to this data file (.ptd); the program reads them by name");
  add_record_options(*command, options->record);
  command->add_option("--model", options->model, "Name of the model in an archive with several");
  command->add_option(
      "--bound", options->bounds,
      "Largest value of a dynamic size without one, by its symbol, such as s31=512; repeatable");
  command->add_option("--dump-after", options->dump_after,
                      "Print the graph after this pass: import, functionalize, decompose, ..., or all");
  name_values(*command, {{"--output", "FILE"},
                         {"--method", "NAME=FILE"},
                         {"--constant", "NAME=VALUE"},
                         {"--external-data", "FILE"},
                         {"--model", "NAME"},
                         {"--bound", "SYMBOL=SIZE"},
                         {"--dump-after", "PASS"}});
  add_extension_options(*command, options->extensions);
  add_delegation_options(*command, options->delegation);
  add_layer_option(*command, options->layers);
  command->add_flag("--allow-missing-kernels", options->ignores_missing_kernels,
                    "Accept ops without a kernel in this build, for another runtime that has one");
  command->add_flag("--unplanned-inputs", options->leaves_inputs,
                    "Plan no memory for inputs; the application passes its own");
  command->add_flag("--unplanned-outputs", options->leaves_outputs,
                    "Plan no memory for outputs; the application passes its own");
  command->add_flag("--integer-kernels", options->uses_integer_kernels,
                    "Compute int8 layers that no plugin takes with integers, in portable kernels of cortex_m");
  command->add_flag("--concurrent-branches", options->keeps_branches_apart,
                    "Plan memory that independent branches do not share, so that asynchronous runs overlap");
  add_memory_option(*command, options->memories);
  command->get_option("--concurrent-branches")->excludes("--memory");
  command->add_flag("--times", options->times, "Print the time of each step");
  command->add_flag("--json", options->json,
                    "Print a summary as one JSON object; other text goes to standard error");
  run_as(command, session, [options, &session]() -> Result<ExitCode> { return run(*options, session); });
}

}  // namespace etb::tools
