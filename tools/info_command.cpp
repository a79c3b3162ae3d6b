// `etbackend info NAME`: all of a plugin's manifest, and what this machine makes of it. Runs no plugin's code.
#include <fmt/format.h>

#include <memory>

#include "host/registry/manifest_lines.hpp"
#include "tools/plugin_registry.hpp"

namespace etb::tools {
namespace {

using host::PluginEntry;

struct Options {
  std::string name;
  bool json = false;
};

// The best entry that the name means; unlike for use, one that would not load will do, and so will an invalid manifest.
Result<const PluginEntry*> find_entry(const host::Registry& registry, const std::string& name) {
  const auto decision = registry.resolve(name);
  if (!decision->candidates.empty()) return &registry.plugins()[decision->candidates.front().entry_index];
  for (const PluginEntry& entry : registry.plugins())
    if (entry.manifest_path == name) return &entry;
  return tl::make_unexpected(to_error(*decision));
}

void print_library(const PluginEntry& entry, std::ostream& out) {
  if (!entry.library_path.empty()) out << "library: " << entry.library_path << '\n';
  for (const std::string& reason : entry.library_reasons) out << "    not " << reason << '\n';
  for (const std::string& library : entry.needed) out << "    needs " << library << '\n';
  out << "digest: " << to_text(entry.digest) << '\n';
  if (!entry.ident) return;
  out << fmt::format("note: id {}, version {}, abi {} to {}, build id '{}', sanitizers: {}\n",
                     entry.ident->id, entry.ident->version, host::format_abi(entry.ident->abi_min),
                     host::format_abi(entry.ident->abi_max), entry.ident->build_id,
                     host::format_sanitizers(entry.ident->sanitizers));
}

void print(const PluginEntry& entry, std::ostream& out) {
  out << fmt::format("{} {}\n", entry.id.empty() ? "(no id)" : entry.id, entry.version());
  out << "manifest: " << place_of(entry) << " (" << to_text(entry.tier) << ")\n";
  out << "state: "
      << (entry.problem ? "refused, " + entry.problem->reason + ": " + entry.problem->message : "would load")
      << '\n';
  for (const std::string& warning : entry.warnings) out << "warning: " << warning << '\n';
  for (const host::Fault& fault : entry.faults) out << "fault: " << to_text(fault) << '\n';
  print_library(entry, out);
  if (!entry.overlay_path.empty()) out << "overlay: " << entry.overlay_path << '\n';
  out << "certificate: " << to_text(entry.certificate) << '\n';
  if (!entry.manifest) return;
  out << '\n';
  for (const std::string& line : host::manifest_lines(*entry.manifest)) out << line << '\n';
}

Result<ExitCode> run(const Options& options, Session& session) {
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
  CLI::App* command =
      app.add_subcommand("info", "Print all of a plugin's manifest and what this machine makes of it");
  command->add_option("NAME", options->name, "Plugin id, delegate id, alias, or path of a manifest found")
      ->required();
  command->add_flag("--json", options->json, "The manifest as JSON");
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
