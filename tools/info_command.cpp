// SPDX-License-Identifier: Apache-2.0
// `etbackend info NAME`: prints a plugin's manifest and its state on this machine. Runs no code of the
// plugin. `etbackend info FILE.pte`: prints the contents of a program.
#include <fmt/format.h>

#include <memory>

#include "api/format/output_file.hpp"
#include "api/format/printable_text.hpp"
#include "host/registry/manifest_lines.hpp"
#include "tools/plugin_registry.hpp"
#include "tools/portable_program.hpp"
#include "tools/program_info/program_report.hpp"

namespace etb::tools {
namespace {

using host::PluginEntry;

struct Options {
  std::string name;
  bool json = false;
  std::string html_path;
};

std::string shown(const std::string& text) { return format::made_printable(text); }

// Returns the best entry for the name. Unlike for use, the entry may be unloadable or have an invalid
// manifest.
Result<const PluginEntry*> find_entry(const host::Registry& registry, const std::string& name) {
  const auto decision = registry.resolve(name);
  if (!decision->candidates.empty()) return &registry.plugins()[decision->candidates.front().entry_index];
  for (const PluginEntry& entry : registry.plugins())
    if (entry.manifest_path == name) return &entry;
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
  for (const std::string& warning : entry.warnings) out << "warning: " << shown(warning) << '\n';
  for (const host::Diagnostic& fault : entry.diagnostics) out << "fault: " << shown(to_text(fault)) << '\n';
  print_library(entry, out);
  if (!entry.overlay_path.empty()) out << "overlay: " << shown(entry.overlay_path) << '\n';
  out << "certificate: " << to_text(entry.certificate) << '\n';
  if (!entry.manifest) return;
  out << '\n';
  for (const std::string& line : host::manifest_lines(*entry.manifest)) out << shown(line) << '\n';
}

Result<ExitCode> show_program(const Options& options, Session& session) {
  ETB_ASSIGN(const ProgramFile file, read_program_file(options.name));
  const nlohmann::ordered_json report = report_program(file);
  if (!options.html_path.empty()) {
    ETB_TRY(format::write_file(options.html_path, format_html(file, report)));
  }
  if (options.json)
    session.out << report.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) << '\n';
  else
    session.out << format_report(report);
  return ExitCode::OK;
}

Result<ExitCode> run(const Options& options, Session& session) {
  if (is_archive(options.name))
    return make_error(Code::INVALID_DATA,
                      "'" + options.name +
                          "' is an archive, expected a program (.pte) or the name of a plugin\n"
                          "hint: `etbackend graph FILE` prints an archive");
  if (options.name.ends_with(".pte")) return show_program(options, session);
  if (!options.html_path.empty())
    return make_error(Code::INVALID_ARGUMENT,
                      "--html draws a program (.pte), '" + options.name + "' is not a program");
  host::RegistryOptions registry_opts = registry_options(session);
  registry_opts.check_digests = true;
  const host::Registry registry(registry_opts);
  ETB_ASSIGN(const PluginEntry* entry, find_entry(registry, options.name));
  if (options.json && entry->manifest)
    session.out << to_json(*entry->manifest) << '\n';
  else if (options.json)
    return tl::make_unexpected(*entry->problem);
  else
    print(*entry, session.out);
  return entry->manifest ? ExitCode::OK : ExitCode::INVALID_INPUT;
}

}  // namespace

void register_info(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "info", "Print a plugin's manifest and state on this machine, or the contents of a program");
  command
      ->add_option("NAME", options->name,
                   "Plugin id, delegate id, alias or manifest of a plugin; or a program (.pte)")
      ->required();
  command->add_flag("--json", options->json, "Print the manifest, or the report on a program, as JSON");
  command
      ->add_option("--html", options->html_path,
                   "Also write an HTML page with the program's memory over time")
      ->type_name("FILE");
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
