// SPDX-License-Identifier: Apache-2.0
// `etbackend explain NAME`: prints the plugin that a name resolves to here, the deciding rule, and why others
// are not used.
#include <fmt/format.h>

#include <memory>

#include "api/format/printable_text.hpp"
#include "host/registry/probe.hpp"
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
  }
  out << "searched:\n";
  for (const std::string& place : decision.places) out << "    " << shown(place) << '\n';
}

// Prints the path of each library that the loader loaded, as observed in a child process.
Status print_loaded(const host::Registry& registry, const Decision& decision, const Options& options,
                    std::ostream& out) {
  out.flush();
  const host::PluginEntry& entry = registry.plugins()[decision.winner()->entry_index];
  ETB_ASSIGN(
      const host::ProbeReport report,
      host::probe_plugin(entry, registry.load_options(), std::chrono::milliseconds(options.deadline_ms)));
  out << "loads:\n";
  for (const std::string& library : report.libraries) out << "    " << shown(library) << '\n';
  return {};
}

Result<ExitCode> run(const Options& options, Session& session) {
  const host::Registry registry(registry_options(session));
  host::ResolveOptions resolve;
  resolve.pin = options.pin;
  resolve.allow_aliases = !options.no_alias;
  resolve.payload_version = options.payload_version;
  const std::shared_ptr<const Decision> decision = registry.resolve(options.name, resolve);
  if (options.json)
    session.out << to_json(*decision) << '\n';
  else if (!decision->candidates.empty())
    print(*decision, session.out);
  if (decision->winner() == nullptr) return tl::make_unexpected(to_error(*decision));
  if (options.load && !options.json) ETB_TRY(print_loaded(registry, *decision, options, session.out));
  return ExitCode::OK;
}

}  // namespace

void register_explain(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("explain", "Explain which plugin a name selects on this machine, and why");
  command->add_option("NAME", options->name, "Plugin id, delegate id of a program, or alias")->required();
  command->add_option("--pin", options->pin, "Prefer the plugin with this id")->type_name("ID");
  command->add_option("--payload-version", options->payload_version, "Version of the payload to run");
  command->add_flag("--no-alias", options->no_alias, "Do not match aliases, as for a name in a program");
  command->add_flag("--json", options->json, "Print the decision as JSON");
  command->add_flag("--load", options->load,
                    "Also load the chosen plugin in a child process and print every library loaded with it");
  command->add_option("--deadline-ms", options->deadline_ms, "Time limit for loading")->capture_default_str();
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
