// SPDX-License-Identifier: Apache-2.0
// `etbackend explain NAME`: prints the plugin that a name resolves to here, the deciding rule, and why others
// are not used.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "api/format/printable_text.hpp"
#include "host/registry/probe.hpp"
#include "host/registry/reason.hpp"
#include "tools/option_values.hpp"
#include "tools/plugin_registry.hpp"

namespace etb::tools {
namespace {

using host::Candidate;
using host::Decision;

struct Options {
  std::string name;
  std::string pin;
  std::optional<uint32_t> payload_version;
  bool no_alias = false;
  bool json = false;
  bool load = false;
  uint32_t deadline_ms = 10000;
};

std::string shown(const std::string& text) { return format::made_printable(text); }

std::string verdict_of(const Decision& decision, size_t index) {
  const Candidate& candidate = decision.candidates[index];
  if (candidate.refusal)
    return fmt::format("refused, {}{}{}", candidate.refusal->reason,
                       candidate.refusal->reason.empty() ? "" : ": ", shown(candidate.refusal->message));
  return index == 0 ? "chosen, " + decision.rule : "usable, but ranked lower";
}

void print(const Decision& decision, std::ostream& out) {
  out << fmt::format("{}: matched by {}\n", shown(decision.name), to_text(decision.matched_by));
  for (size_t i = 0; i < decision.candidates.size(); ++i) {
    const Candidate& candidate = decision.candidates[i];
    out << fmt::format("{}. {} {} ({}{}) {}\n", i + 1, candidate.id.empty() ? "(no id)" : shown(candidate.id),
                       shown(candidate.version), to_text(candidate.tier),
                       candidate.pinned_by.empty() ? "" : ", pinned by " + candidate.pinned_by,
                       shown(candidate.place));
    out << "   " << verdict_of(decision, i) << '\n';
    if (candidate.refusal)
      if (const std::string_view hint = host::hint_of(candidate.refusal->reason); !hint.empty())
        out << "   hint: " << hint << '\n';
  }
  out << "searched:\n";
  for (const std::string& place : decision.places) out << "    " << shown(place) << '\n';
}

// Returns the path of each library that the loader loaded, as observed in a child process.
Result<std::vector<std::string>> loaded_libraries(const host::Registry& registry, const Decision& decision,
                                                  const Options& options, std::ostream& out) {
  out.flush();  // so that the child does not write it again
  const host::PluginEntry& entry = registry.plugins()[decision.winner()->entry_index];
  ETB_ASSIGN(
      const host::ProbeReport report,
      host::probe_plugin(entry, registry.load_options(), std::chrono::milliseconds(options.deadline_ms)));
  return report.libraries;
}

// Rejects a pin that names no plugin: it would have no effect.
Status check_pin(const host::Registry& registry, const std::string& pin) {
  if (pin.empty()) return {};
  std::vector<std::string> names;
  for (const host::PluginEntry& entry : registry.plugins()) {
    if (entry.id.empty()) continue;
    if (entry.id == pin || entry.has_alias(pin)) return {};
    names.push_back(entry.id);
    if (entry.manifest)
      names.insert(names.end(), entry.manifest->aliases.begin(), entry.manifest->aliases.end());
  }
  return make_error(Code::NOT_FOUND, "--pin: no plugin has this id or alias: " + unknown_name(pin, names));
}

Result<ExitCode> run(const Options& options, Session& session) {
  const host::Registry registry(registry_options(session));
  ETB_TRY(check_pin(registry, options.pin));
  host::ResolveOptions resolve;
  resolve.pin = options.pin;
  resolve.allow_aliases = !options.no_alias;
  resolve.payload_version = options.payload_version;
  const std::shared_ptr<const Decision> decision = registry.resolve(options.name, resolve);
  if (!options.json && !decision->candidates.empty()) print(*decision, session.out);
  std::vector<std::string> libraries;
  const bool loads = options.load && decision->winner() != nullptr;
  if (loads) {
    ETB_ASSIGN(libraries, loaded_libraries(registry, *decision, options, session.out));
  }
  if (options.json) {
    auto report = nlohmann::ordered_json::parse(to_json(*decision));
    if (loads) report["loads"] = libraries;
    session.out << report.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) << '\n';
  } else if (loads) {
    session.out << "loads:\n";
    for (const std::string& library : libraries) session.out << "    " << shown(library) << '\n';
  }
  if (decision->winner() == nullptr) return tl::make_unexpected(to_error(*decision));
  return ExitCode::OK;
}

}  // namespace

void register_explain(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("explain", "Explain which plugin a name selects on this machine, and why");
  command->add_option("NAME", options->name, "Plugin id, delegate id of a program, or alias")->required();
  command->add_option("--pin", options->pin, "Prefer the plugin with this id or alias")->type_name("PLUGIN");
  command->add_option("--payload-version", options->payload_version, "Version of the payload to run")
      ->check(whole_number(0, UINT32_MAX))
      ->type_name("N");
  command->add_flag("--no-alias", options->no_alias, "Do not match aliases, as for a name in a program");
  command->add_flag("--json", options->json, "Print the decision as JSON");
  command->add_flag("--load", options->load,
                    "Also load the chosen plugin in a child process and print every library loaded with it");
  command->add_option("--deadline-ms", options->deadline_ms, "Time limit for loading")
      ->check(whole_number(1, UINT32_MAX))
      ->capture_default_str();
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
