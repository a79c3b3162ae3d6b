// SPDX-License-Identifier: Apache-2.0
// `etbackend info NAME`: prints a plugin's manifest and its state on this machine. Runs no code of the
// plugin. `etbackend info FILE`: prints the contents of a program (.pte) or archive (.pt2).
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "api/format/printable_text.hpp"
#include "host/bundle/bundle_file.hpp"
#include "host/registry/manifest_lines.hpp"
#include "host/registry/reason.hpp"
#include "partitioner_sdk/import/import.hpp"
#include "tools/bundle/bundle_report.hpp"
#include "tools/compile/ask_plugins.hpp"
#include "tools/file_kind.hpp"
#include "tools/page_facts.hpp"
#include "tools/plugin_registry.hpp"
#include "tools/program_info/archive_report.hpp"
#include "tools/program_info/graph_outputs.hpp"
#include "tools/program_info/program_report.hpp"
#include "tools/quantity.hpp"
#include "tools/run/delegate_memory.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {
namespace {

using host::PluginEntry;

struct Options {
  std::string name;
  bool json = false;
  bool digests = false;
  bool delegate_memory = false;
  GraphOutputs outputs;
  std::string model;
  std::vector<std::string> backends;
};

std::string shown(const std::string& text) { return format::made_printable(text); }

// Returns the best entry for the name. Unlike for use, the entry may be unloadable or have an invalid
// manifest.
Result<const PluginEntry*> find_entry(const host::Registry& registry, const std::string& name, bool is_path) {
  for (const PluginEntry& entry : registry.plugins())
    if (entry.manifest_path == name || entry.library_path == name) return &entry;
  if (is_path)
    return make_error(Code::NOT_FOUND,
                      "'" + name + "': no plugin of its folder has this manifest or library");
  const auto decision = registry.resolve(name);
  if (!decision->candidates.empty()) return &registry.plugins()[decision->candidates.front().entry_index];
  return tl::make_unexpected(to_error(*decision));
}

void print_library(const PluginEntry& entry, std::ostream& out) {
  if (!entry.library_path.empty()) out << "library: " << shown(entry.library_path) << '\n';
  for (const std::string& reason : entry.library_reasons) out << "    not " << shown(reason) << '\n';
  for (const std::string& library : entry.needed) out << "    needs " << shown(library) << '\n';
  out << "digest: " << to_text(entry.digest) << '\n';
  if (!entry.ident) return;
  out << fmt::format("note: id {}, version {}, abi {} to {}, build id '{}', sanitizers: {}\n",
                     shown(entry.ident->id), shown(entry.ident->version),
                     host::format_abi(entry.ident->abi_min), host::format_abi(entry.ident->abi_max),
                     shown(entry.ident->build_id), host::format_sanitizers(entry.ident->sanitizers));
}

void print(const PluginEntry& entry, std::ostream& out) {
  out << fmt::format("{} {}\n", entry.id.empty() ? "(no id)" : shown(entry.id), shown(entry.version()));
  out << "manifest: " << shown(place_of(entry)) << " (" << to_text(entry.tier) << ")\n";
  out << "state: "
      << (entry.problem ? "refused, " + entry.problem->reason + ": " + shown(entry.problem->message)
                        : "would load")
      << '\n';
  if (entry.problem)
    if (const std::string_view hint = host::hint_of(entry.problem->reason); !hint.empty())
      out << "hint: " << hint << '\n';
  for (const std::string& warning : entry.warnings) out << "warning: " << shown(warning) << '\n';
  for (const host::Diagnostic& fault : entry.diagnostics) out << "fault: " << shown(to_text(fault)) << '\n';
  print_library(entry, out);
  if (!entry.overlay_path.empty()) out << "overlay: " << shown(entry.overlay_path) << '\n';
  out << "certificate: " << to_text(entry.certificate) << '\n';
  if (!entry.manifest) return;
  out << '\n';
  for (const std::string& line : host::manifest_lines(*entry.manifest)) out << shown(line) << '\n';
}

void print_json(const nlohmann::ordered_json& report, std::ostream& out) {
  out << report.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

Result<bool> writes_to_standard_output(const Options& options, const Session& session) {
  return uses_standard_output({{"--html", options.outputs.html},
                               {"--dot", options.outputs.dot},
                               {"--model-explorer", options.outputs.model_explorer},
                               {"--json", options.json ? kStandardFile : ""}},
                              session);
}

Result<ExitCode> show_program(const Options& options, const std::string& path, Session& session) {
  ETB_ASSIGN(const bool has_output, writes_to_standard_output(options, session));
  ETB_ASSIGN(ProgramFile file, read_program_file(path));
  file.path = with_input_named(file.path, session);
  nlohmann::ordered_json report = report_program(file);
  std::string bundle_text;
  if (find_file_kind(path) == FileKind::kBundle) {
    ETB_ASSIGN(const host::BundleFile bundle, host::BundleFile::open(path));
    report["bundle"] = report_bundle(bundle.view(), file.path);
    bundle_text = format_bundle(report["bundle"]) + "\n";
  }
  if (options.delegate_memory) {
    ETB_ASSIGN(report["delegate_memory"], measure_delegates(path, registry_options(session)));
  }
  if (options.outputs.any())
    ETB_TRY(write_graph_outputs(options.outputs, program_page(file, report, page_facts(file.path, session)),
                                file.path, session));
  if (options.json)
    print_json(report, session.out);
  else
    (has_output ? session.err : session.out)
        << bundle_text << format_report(report, options.digests)
        << (options.delegate_memory ? format_delegate_memory(report["delegate_memory"]) : "");
  return ExitCode::OK;
}

nlohmann::ordered_json answers_json(const partition::Report& report) {
  nlohmann::ordered_json plugins = nlohmann::ordered_json::array();
  for (uint32_t i = 0; i < report.plugins.size(); ++i) {
    uint64_t regions = 0, nodes = 0;
    for (const partition::ReportRegion& region : report.regions)
      if (region.plugin == i) ++regions, nodes += region.node_count;
    plugins.push_back({{"name", report.plugins[i]}, {"nodes", nodes}, {"regions", regions}});
  }
  return {{"plugins", std::move(plugins)}, {"nodes", report.delegated_count + report.other_count}};
}

std::string format_answers(const nlohmann::ordered_json& answers) {
  std::string text;
  for (const auto& plugin : answers["plugins"])
    text += fmt::format("{} would run {} of {}, in {}\n", shown(plugin["name"].get<std::string>()),
                        plugin["nodes"].get<uint64_t>(), count_of(answers["nodes"].get<uint64_t>(), "node"),
                        count_of(plugin["regions"].get<uint64_t>(), "region"));
  return text;
}

Result<ExitCode> show_archive(const Options& options, const std::string& path, Session& session) {
  ETB_ASSIGN(const bool has_output, writes_to_standard_output(options, session));
  ETB_ASSIGN(const ir::Module module, pt2::import_archive(path, {options.model}));
  std::error_code failed;
  const uint64_t nbytes = std::filesystem::file_size(path, failed);
  const std::string name = with_input_named(path, session);
  nlohmann::ordered_json report = report_archive(module, name, failed ? 0 : nbytes);
  std::optional<AskedModel> asked;
  if (!options.backends.empty()) {
    ETB_ASSIGN(asked, ask_plugins(path, options.model, options.backends, session));
    report["delegation"] = answers_json(asked->report);
    for (const partition::PluginError& error : asked->report.plugin_errors)
      session.err << "etbackend info: skipped plugin '" << shown(error.plugin) << "': " << shown(error.text)
                  << '\n';
  }
  if (options.outputs.any())
    ETB_TRY(write_graph_outputs(options.outputs,
                                archive_page(asked ? asked->module : module, page_facts(name, session),
                                             failed ? 0 : nbytes, asked ? &asked->report : nullptr),
                                name, session));
  if (options.json)
    print_json(report, session.out);
  else
    (has_output ? session.err : session.out)
        << format_archive_report(report) << (asked ? format_answers(report["delegation"]) : "");
  return ExitCode::OK;
}

// Finds a manifest or library by its path; its folder is searched, too.
Result<ExitCode> show_plugin(const Options& options, bool is_path, Session& session) {
  if (options.outputs.any())
    return make_error(Code::INVALID_ARGUMENT,
                      "--html, --dot and --model-explorer draw a program (.pte) or archive "
                      "(.pt2), '" +
                          options.name + "' is neither");
  if (!options.model.empty())
    return make_error(Code::INVALID_ARGUMENT,
                      "--model names a model of an archive (.pt2), '" + options.name + "' is not an archive");
  host::RegistryOptions registry_opts = registry_options(session);
  registry_opts.check_digests = true;
  std::string name = options.name;
  if (is_path) {
    name = std::filesystem::absolute(name).lexically_normal().string();
    registry_opts.application_paths.insert(registry_opts.application_paths.begin(),
                                           std::filesystem::path(name).parent_path().string());
  }
  const host::Registry registry(registry_opts);
  ETB_ASSIGN(const PluginEntry* entry, find_entry(registry, name, is_path));
  if (options.json && entry->manifest)
    session.out << to_json(*entry->manifest) << '\n';
  else if (options.json)
    return tl::make_unexpected(*entry->problem);
  else
    print(*entry, session.out);
  return entry->manifest ? ExitCode::OK : ExitCode::INVALID_INPUT;
}

// A name with a slash or the ending of a model is a path. Another one is a path if it is a model's file.
bool is_path(const std::string& name, FileKind kind) {
  return name.find('/') != std::string::npos || name.ends_with(".pte") || name.ends_with(".pt2") ||
         name.ends_with(".bpte") || (kind != FileKind::kUnknown && kind != FileKind::kText);
}

Result<ExitCode> run(const Options& options, Session& session) {
  ETB_ASSIGN(const std::string path, input_path(options.name, session));
  const FileKind kind = find_file_kind(path);
  if (options.delegate_memory && kind != FileKind::kProgram)
    return make_error(Code::INVALID_ARGUMENT, "--delegate-memory loads the delegates of a program (.pte), '" +
                                                  options.name + "' is none");
  if (!is_path(path, kind) && options.backends.empty()) return show_plugin(options, false, session);
  if (kind == FileKind::kArchive) return show_archive(options, path, session);
  if (!options.backends.empty())
    return make_error(Code::INVALID_ARGUMENT,
                      "--backend asks plugins about an archive (.pt2), '" + options.name + "' is none");
  if (kind == FileKind::kManifest || kind == FileKind::kLibrary || kind == FileKind::kJson)
    return show_plugin(options, true, session);
  ETB_TRY(expect_kind(
      path, {FileKind::kProgram, FileKind::kBundle},
      "a program (.pte), a bundled program (.bpte), an archive (.pt2), or the name or manifest of a plugin"));
  return show_program(options, path, session);
}

}  // namespace

void register_info(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "info", "Print a plugin's manifest and state on this machine, or the contents of a program or archive");
  command
      ->add_option("NAME", options->name,
                   "Plugin id, delegate id, alias, manifest or library of a plugin; or a program (.pte), "
                   "bundled program "
                   "(.bpte) or archive (.pt2), - for standard input")
      ->required();
  command->add_flag("--json", options->json, "Print the manifest, or the report on a file, as JSON");
  command->add_flag("--digests", options->digests, "Also print the keys of a program's named data");
  command->add_flag(
      "--delegate-memory", options->delegate_memory,
      "Load a program's delegates on this machine, and print the memory of each as its plugin states it");
  command->add_option("--model", options->model, "Name of the model in an archive with several")
      ->type_name("NAME");
  command
      ->add_option(
          "-b,--backend", options->backends,
          "Ask this plugin which nodes of an archive it would run, and why not the others; repeatable, "
          "tried in order")
      ->type_name("PLUGIN")
      ->allow_extra_args(false);
  add_graph_outputs(*command, options->outputs,
                    "the graph, the weights by layer, and a program's memory over time");
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
