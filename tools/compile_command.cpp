// `etbackend compile MODEL.pt2 -o PROGRAM.pte`: from a torch.export archive to a program, with what plugins take of it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

#include "host/kernels/portable.hpp"
#include "host/registry/fault.hpp"
#include "partitioner_sdk/emit/emit.hpp"
#include "partitioner_sdk/import/import.hpp"
#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/partition/partition.hpp"
#include "partitioner_sdk/partition/report.hpp"
#include "partitioner_sdk/passes/pipeline.hpp"
#include "tools/command.hpp"
#include "tools/compile/backends.hpp"
#include "tools/evaluate_constants.hpp"
#include "tools/plugin_registry.hpp"

namespace etb::tools {

namespace {

struct Options {
  std::string input;
  std::vector<std::string> methods;  // NAME=FILE.pt2
  std::string model;
  std::string output;
  std::vector<std::string> dump_after;
  BackendRequest backends;
  partition::PartitionOptions partition;
  bool reports = false;
  std::string report_json, report_html;
  bool ignores_missing_kernels = false;
  bool times = false;
};

// Milliseconds that each step took, in order.
class Stopwatch {
 public:
  void lap(std::string step) {
    const auto now = std::chrono::steady_clock::now();
    laps_.emplace_back(std::move(step), std::chrono::duration<double, std::milli>(now - last_).count());
    last_ = now;
  }
  void print(std::ostream& out) const {
    for (const auto& [step, ms] : laps_) out << fmt::format("{:>10.2f} ms  {}\n", ms, step);
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::vector<std::pair<std::string, double>> laps_;
};

// Method name and file of each method to compile.
Result<std::vector<std::pair<std::string, std::string>>> list_methods(const Options& options) {
  std::vector<std::pair<std::string, std::string>> out;
  if (!options.input.empty()) out.emplace_back("forward", options.input);
  for (const std::string& text : options.methods) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return make_error(Code::INVALID_ARGUMENT, "--method '" + text + "', expected NAME=FILE.pt2");
    }
    out.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  if (out.empty())
    return make_error(Code::INVALID_ARGUMENT, "no model: give MODEL.pt2 or --method NAME=FILE.pt2");
  return out;
}

passes::PipelineOptions pipeline_options(const Options& options, std::ostream& out, Stopwatch& watch) {
  passes::PipelineOptions pipeline;
  pipeline.after_pass = [&](std::string_view pass, ir::Module& now) {
    watch.lap(std::string(pass));
    for (const std::string& wanted : options.dump_after) {
      if (wanted != pass && wanted != "all") continue;
      out << "# after " << pass << "\n" << ir::print(now, {.has_sources = true}) << "\n";
    }
  };
  return pipeline;
}

// `preserved`: ops that plugins want whole.
Result<ir::Module> compile_method(const Options& options, const std::string& name, const std::string& path,
                                  const std::set<std::string, std::less<>>& preserved, std::ostream& out,
                                  Stopwatch& watch) {
  ETB_ASSIGN(ir::Module module, pt2::import_archive(path, {options.model}));
  module.name = name;
  watch.lap("import");
  passes::PipelineOptions pipeline = pipeline_options(options, out, watch);
  pipeline.decompose.preserved = preserved;
  for (const std::string& wanted : options.dump_after) {
    if (wanted == "import" || wanted == "all")
      out << "# after import\n" << ir::print(module, {.has_sources = true}) << "\n";
  }
  pipeline.evaluate = evaluate_constants;
  ETB_TRY(passes::to_edge(module, pipeline));
  ETB_TRY(passes::simplify(module, pipeline));
  ETB_TRY(passes::to_portable(module, pipeline));
  return module;
}

using PreservedOps = std::set<std::string, std::less<>>;

// A plugin that cannot even answer this takes no part.
PreservedOps ask_preserved_ops(Backends& backends, std::vector<partition::PluginFault>& faults) {
  PreservedOps preserved;
  auto& compilers = backends.compilers;
  for (auto compiler = compilers.begin(); compiler != compilers.end();) {
    const auto ops = (*compiler)->preserved_ops();
    if (ops) {
      preserved.insert(ops->begin(), ops->end());
      ++compiler;
    } else {
      faults.push_back({(*compiler)->name(), ops.error().message});
      compiler = compilers.erase(compiler);
    }
  }
  return preserved;
}

Status write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return make_error(Code::ACCESS_FAILED, "cannot write '" + path + "'");
  return {};
}

// Reasons are a plugin's own words: nothing in them reaches the terminal as a command.
void print_lines(const std::string& text, std::ostream& out) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    out << host::made_printable(std::string_view(text).substr(begin, end - begin)) << '\n';
    begin = end + 1;
  }
}

Status write_reports(const Options& options, const partition::Report& report, std::ostream& out) {
  if (options.reports) print_lines(partition::to_text(report), out);
  if (!options.report_json.empty()) ETB_TRY(write_text(options.report_json, partition::to_json(report)));
  if (!options.report_html.empty()) ETB_TRY(write_text(options.report_html, partition::to_html(report)));
  return {};
}

bool has_op_of(const ir::Module& module, const PreservedOps& names) {
  return std::any_of(module.graphs.begin(), module.graphs.end(), [&](const ir::Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                       [&](const ir::Node& node) { return names.count(module.op(node).name) != 0; });
  });
}

// Gives plugins what they take; takes apart what was kept whole for them and they did not take.
Result<partition::Partition> run_partition(const Options& options, const Backends& backends,
                                           const PreservedOps& preserved,
                                           const std::vector<partition::PluginFault>& faults,
                                           partition::ConstantKeys& keys, std::span<ir::Module> modules,
                                           std::ostream& out, Stopwatch& watch) {
  ETB_ASSIGN(partition::Partition done,
             partition::partition(modules, backends.compilers, options.partition, keys));
  done.faults.insert(done.faults.begin(), faults.begin(), faults.end());
  watch.lap("partition");
  ETB_TRY(write_reports(options, partition::make_report(modules, done, keys), out));
  ETB_TRY(partition::lower(modules, done));
  watch.lap("lower");
  // Not to_portable: it would turn the operands of delegates into another order than they were compiled for.
  const passes::PipelineOptions pipeline = pipeline_options(options, out, watch);
  for (ir::Module& module : modules)
    if (has_op_of(module, preserved)) ETB_TRY(passes::to_edge(module, pipeline));
  return done;
}

// What the emitter is told of a partition.
struct DelegateData {
  DelegateData(const partition::Partition& done, const partition::ConstantKeys& keys) {
    for (const partition::Region& region : done.regions)
      delegates.push_back(
          {done.backend_ids[region.compiler], region.artifact.payload, region.artifact.specs});
    for (const partition::NamedBlob& blob : done.blobs) {
      const bool is_constant = !blob.constant_key.empty();
      named_data.push_back(
          {blob.key, is_constant ? keys.find(blob.constant_key)->bytes : blob.bytes, blob.alignment});
    }
  }
  std::vector<emit::Delegate> delegates;
  std::vector<emit::NamedBytes> named_data;
};

Result<ExitCode> run(const Options& options, Session& session) {
  Stopwatch watch;
  ETB_ASSIGN(const auto methods, list_methods(options));
  host::Registry registry(registry_options(session));
  ETB_ASSIGN(Backends backends, open_backends(registry, options.backends));
  std::vector<partition::PluginFault> faults;
  const PreservedOps preserved = ask_preserved_ops(backends, faults);
  watch.lap("plugins");
  std::vector<ir::Module> modules;
  for (const auto& [name, path] : methods) {
    ETB_ASSIGN(ir::Module module, compile_method(options, name, path, preserved, session.out, watch));
    modules.push_back(std::move(module));
  }
  partition::ConstantKeys keys;
  partition::Partition partition;
  if (!options.backends.names.empty()) {
    ETB_ASSIGN(partition,
               run_partition(options, backends, preserved, faults, keys, modules, session.out, watch));
  }
  host::KernelRegistry kernels;
  if (host::add_portable_kernels(kernels) != ETB_OK)
    return make_error(Code::INTERNAL, "portable kernels clash");
  emit::EmitOptions emit_options;
  if (!options.ignores_missing_kernels) {
    emit_options.has_kernel = [&](std::string_view name, std::string_view overload) {
      return kernels.has_op(name, overload);
    };
  }
  const DelegateData data(partition, keys);
  emit_options.delegates = data.delegates;
  emit_options.named_data = data.named_data;
  ETB_ASSIGN(const emit::Program program, emit::emit(modules, emit_options));
  watch.lap("emit");
  const std::string output = options.output.empty()
                                 ? std::filesystem::path(methods[0].second).replace_extension(".pte").string()
                                 : options.output;
  ETB_TRY(emit::write_file(program, output));
  watch.lap("write");
  for (const emit::MethodReport& method : program.methods) {
    session.out << fmt::format(
        "{}: {} instructions, {} of them calls of plugins, arena {} bytes (no plan needs less than {})\n",
        method.name, method.instruction_count, method.delegate_calls.size(), method.arena_nbytes,
        method.arena_lower_bound_nbytes);
  }
  session.out << fmt::format("wrote {} ({} bytes)\n", output, std::filesystem::file_size(output));
  if (options.times) watch.print(session.out);
  for (const partition::PluginFault& fault : partition.faults)
    session.err << fmt::format("etbackend compile: plugin '{}' takes no part: {}\n",
                               host::made_printable(fault.plugin), host::made_printable(fault.text));
  return partition.faults.empty() ? ExitCode::OK : ExitCode::NEGATIVE;
}

void add_partition_options(CLI::App& command, Options& options) {
  partition::Filters& filters = options.partition.filters;
  const auto add_patterns = [&](const char* name, std::vector<std::string>& list, const char* text) {
    command.add_option(name, list, text)->type_name("PATTERN")->allow_extra_args(false);
  };
  add_patterns("--only-op", filters.only_ops,
               "Plugins may take only ops like this: aten.add*; may be repeated");
  add_patterns("--skip-op", filters.skip_ops, "Plugins may not take ops like this");
  add_patterns("--only-module", filters.only_modules,
               "Plugins may take only what comes from this module or one inside: layers.1; may be repeated");
  add_patterns("--skip-module", filters.skip_modules, "Plugins may not take what comes from this module");
  add_patterns("--only-node", filters.only_nodes,
               "Plugins may take only nodes with this name in --dump-after; may be repeated");
  add_patterns("--skip-node", filters.skip_nodes, "Plugins may not take nodes with this name");
  command
      .add_option("--min-region", options.partition.min_region_nodes,
                  "Regions of fewer nodes stay with the portable kernels")
      ->type_name("NODES");
  command.add_flag(
      "--isolate", options.backends.isolate,
      "Plugins partition and compile in a child process: one that crashes or hangs is named and left out");
  command
      .add_option_function<uint64_t>(
          "--plugin-timeout-ms",
          [&options](const uint64_t& ms) { options.backends.deadline = std::chrono::milliseconds(ms); },
          "How long one call of an isolated plugin may take; 600000 by default")
      ->type_name("MS");
  command
      .add_option_function<std::vector<std::string>>(
          "--compile-spec",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              const size_t equals = text.find('=');
              if (equals == 0 || equals == std::string::npos)
                throw CLI::ValidationError("--compile-spec", "'" + text + "', expected KEY=VALUE");
              options.backends.specs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
            }
          },
          "Passed to the plugins as it is; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_flag("--report", options.reports, "Print what went where, and why the rest did not");
  command.add_option("--report-json", options.report_json, "Write the report as JSON")->type_name("FILE");
  command
      .add_option("--report-html", options.report_html, "Write the report as one page with the graph drawn")
      ->type_name("FILE");
}

}  // namespace

void register_compile(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("compile", "Makes a program (.pte) from a torch.export archive (.pt2)");
  command->add_option("MODEL", options->input,
                      "Archive that torch.export.save wrote; becomes method 'forward'");
  command->add_option("-o,--output", options->output, "Program to write; by default MODEL with .pte");
  command->add_option("--method", options->methods, "NAME=FILE.pt2: one method of several; may be repeated");
  command->add_option("--model", options->model, "Which model of an archive that holds several");
  command->add_option("--dump-after", options->dump_after,
                      "Print the graph after a pass: import, functionalize, decompose, ..., or all");
  command
      ->add_option("-b,--backend", options->backends.names,
                   "Plugin to compile for, by name; may be repeated, each takes what those before left")
      ->allow_extra_args(false);
  add_partition_options(*command, *options);
  command->add_flag("--allow-missing-kernels", options->ignores_missing_kernels,
                    "Write ops that this build has no kernel for; another run time may");
  command->add_flag("--times", options->times, "Print what each step took");
  run_as(command, session, [options, &session]() -> Result<ExitCode> { return run(*options, session); });
}

}  // namespace etb::tools
