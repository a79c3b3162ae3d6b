// SPDX-License-Identifier: Apache-2.0
// `etbackend list`: prints every plugin found, and why it would not load. Runs no plugin's code, except with
// --devices, which tries each plugin in a child process, and with --ops, which tries one.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "api/format/output_file.hpp"
#include "api/format/printable_text.hpp"
#include "host/registry/reason.hpp"
#include "host/registry/registry_json.hpp"
#include "tools/option_values.hpp"
#include "tools/plugin_registry.hpp"
#include "tools/quantity.hpp"
#include "tools/screen.hpp"

namespace etb::tools {
namespace {

struct Options {
  bool json = false;
  bool devices = false;
  bool digests = false;
  bool places = false;
  std::string ops_of;  // a plugin's name
  std::string target_dir;
  uint32_t deadline_ms = 10000;
};

using host::PluginEntry;

host::ProbeResults probe_all(const host::Registry& registry, const Options& options) {
  host::ProbeResults results;
  if (!options.devices) return results;
  for (size_t i = 0; i < registry.plugins().size(); ++i)
    if (registry.plugins()[i].is_usable())
      results.emplace(i, host::probe_plugin(registry.plugins()[i], registry.load_options(),
                                            std::chrono::milliseconds(options.deadline_ms)));
  return results;
}

// Manifests are checked already. Texts of libraries, folders and rejected files are escaped here.
std::string shown(const std::string& text) { return format::made_printable(text); }

std::string title(const PluginEntry& entry) { return entry.id.empty() ? "(no id)" : shown(entry.id); }

std::string provides(const PluginEntry& entry) {
  std::string text;
  if (entry.manifest)
    for (const host::ProvidedId& provided : entry.manifest->provides)
      text += (text.empty() ? "" : ",") + shown(provided.id);
  return text;
}

// The short names that a user types: `etbackend compile -b xnnpack`.
std::string aliases(const PluginEntry& entry) {
  std::string text;
  if (entry.manifest)
    for (const std::string& alias : entry.manifest->aliases) text += (text.empty() ? "" : ",") + shown(alias);
  return text.empty() ? "-" : text;
}

std::string memory_text(uint64_t nbytes) { return nbytes == 0 ? "?" : nbytes_text(nbytes); }

// "clock_hz=500000000, tcm_kib=256": what a plugin states besides the fields of every device.
std::string attributes_text(const host::ProbedDevice& device) {
  std::string text;
  const auto attributes = nlohmann::json::parse(device.attributes, nullptr, false);
  if (!attributes.is_object()) return text;
  for (const auto& [key, value] : attributes.items())
    text += (text.empty() ? "" : ", ") + shown(key) + "=" +
            shown(value.is_string() ? value.get<std::string>()
                                    : value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  return text;
}

void print_devices(const host::ProbeReport& report, std::ostream& out) {
  if (report.devices.empty())
    out << "    no device" << (report.no_device_reason.empty() ? "" : ": " + report.no_device_reason) << '\n';
  if (!report.no_device_hint.empty()) out << "    hint: " << report.no_device_hint << '\n';
  // Every line has every field, in this order. A line of attributes follows if there are some.
  for (const host::ProbedDevice& device : report.devices) {
    out << fmt::format(
        "    device {} '{}'  memory {}  free {}  driver {}  uuid {}\n", shown(device.kind),
        shown(device.name), memory_text(device.memory_total_bytes), memory_text(device.memory_free_bytes),
        device.driver_version.empty() ? "-" : shown(device.driver_version), shown(device.uuid));
    if (const std::string attributes = attributes_text(device); !attributes.empty())
      out << "        attributes " << attributes << '\n';
  }
}

std::string joined(const std::vector<std::string>& items) {
  return items.empty() ? "-" : fmt::format("{}", fmt::join(items, ","));
}

// One line for each row of the op table, with every field.
void print_ops(const PluginEntry& entry, const host::ProbeReport& report, std::ostream& out) {
  out << fmt::format("{}: {}\n", title(entry), count_of(report.ops.size(), "row"));
  constexpr const char* kLine = "{:<{}}  {:<{}}  {:<5}  {:<7}  {:<24}  {:<{}}  {}\n";
  size_t op = 2, dtypes = 6, schemes = 12;
  for (const host::ProbedOp& row : report.ops) {
    op = std::max(op, row.op.size());
    dtypes = std::max(dtypes, joined(row.dtypes).size());
    schemes = std::max(schemes, joined(row.quant_schemes).size());
  }
  if (report.ops.empty()) return;
  out << Style::kHeading
      << fmt::format(kLine, "OP", op, "DTYPES", dtypes, "RANKS", "DYNAMIC", "LAYOUTS", "QUANTISATION",
                     schemes, "CONSTRAINT")
      << Style::kPlain;
  for (const host::ProbedOp& row : report.ops)
    out << fmt::format(kLine, row.op, op, joined(row.dtypes), dtypes,
                       fmt::format("{}-{}", row.min_rank, row.max_rank), row.has_dynamic_sizes ? "yes" : "no",
                       joined(row.layouts), joined(row.quant_schemes), schemes,
                       row.constraint.empty() ? "-" : row.constraint);
}

struct Widths {
  size_t id = 2, alias = 5;
};

void print_entry(const PluginEntry& entry, const Result<host::ProbeReport>* probe, const Widths& widths,
                 std::ostream& out) {
  const Error* problem = entry.problem                 ? &*entry.problem
                         : probe != nullptr && !*probe ? &probe->error()
                                                       : nullptr;
  out << fmt::format("{:<{}}  {:<{}}  {:<10}  {:<12}  {:<9}  ", title(entry), widths.id, aliases(entry),
                     widths.alias, shown(entry.version()), to_text(entry.tier), to_text(entry.digest))
      << (problem != nullptr ? Style::kError : Style::kGood)
      << fmt::format("{:<9}", problem != nullptr ? "REFUSED" : "ok") << Style::kPlain << "  "
      << provides(entry) << '\n';
  out << "    " << shown(place_of(entry)) << '\n';
  if (problem != nullptr) {
    out << fmt::format("    {}{}{}\n", problem->reason, problem->reason.empty() ? "" : ": ",
                       shown(problem->message));
    if (const std::string_view hint = host::hint_of(problem->reason); !hint.empty())
      out << "    hint: " << hint << '\n';
  }
  for (const std::string& warning : entry.warnings) out << "    warning: " << shown(warning) << '\n';
  if (probe != nullptr && *probe) print_devices(**probe, out);
}

void print_table(const host::Registry& registry, const host::ProbeResults& probes, const Options& options,
                 std::ostream& out) {
  Widths widths;
  for (const PluginEntry& entry : registry.plugins()) {
    widths.id = std::max(widths.id, title(entry).size());
    widths.alias = std::max(widths.alias, aliases(entry).size());
  }
  if (!registry.plugins().empty())
    out << Style::kHeading
        << fmt::format("{:<{}}  {:<{}}  {:<10}  {:<12}  {:<9}  {:<9}  {}\n", "ID", widths.id, "ALIAS",
                       widths.alias, "VERSION", "TIER", "DIGEST", "STATE", "PROVIDES")
        << Style::kPlain;
  for (size_t i = 0; i < registry.plugins().size(); ++i) {
    const auto probe = probes.find(i);
    print_entry(registry.plugins()[i], probe == probes.end() ? nullptr : &probe->second, widths, out);
  }
  if (registry.plugins().empty()) out << "no plugins found\n";
  if (!registry.plugins().empty() && !options.places) return;
  out << "searched:\n";
  for (const host::FolderReport& report : registry.places()) out << "    " << shown(to_text(report)) << '\n';
}

// Writes DIR/NAME-N.json for device N of each plugin, NAME as in `compile -b`.
Status write_targets(const host::Registry& registry, const host::ProbeResults& probes,
                     const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return make_error(Code::ACCESS_FAILED,
                      fmt::format("cannot make folder '{}': {}", folder, failed.message()));
  for (const auto& [index, probe] : probes) {
    if (!probe) continue;
    const PluginEntry& entry = registry.plugins()[index];
    const bool has_alias = entry.manifest && !entry.manifest->aliases.empty();
    const std::string& name = has_alias ? entry.manifest->aliases.front() : entry.id;
    for (size_t i = 0; i < probe->devices.size(); ++i)
      ETB_TRY(
          format::write_file(fmt::format("{}/{}-{}.json", folder, name, i), target_json(probe->devices[i])));
  }
  return {};
}

// Prints the op table of one plugin.
Result<ExitCode> list_ops(const host::Registry& registry, const Options& options, Session& session) {
  host::ResolveOptions resolve;
  resolve.profiles = ETB_PROFILE_AOT;
  const auto decision = registry.resolve(options.ops_of, resolve);
  if (decision->winner() == nullptr) return tl::make_unexpected(to_error(*decision));
  const PluginEntry& entry = registry.plugins()[decision->winner()->entry_index];
  session.out.flush();  // so that the child does not write it again
  ETB_ASSIGN(
      const host::ProbeReport report,
      host::probe_plugin(entry, registry.load_options(), std::chrono::milliseconds(options.deadline_ms),
                         {.devices = false, .ops = true}));
  if (!report.has_ops)
    return make_error(Code::NOT_SUPPORTED,
                      "plugin '" + shown(entry.id) + "' compiles nothing, so it lists no ops");
  if (options.json)
    session.out << ops_json(entry, report) << '\n';
  else
    print_ops(entry, report, session.out);
  return ExitCode::OK;
}

Result<ExitCode> run(const Options& options, Session& session) {
  host::RegistryOptions registry_opts = registry_options(session);
  registry_opts.check_digests = options.digests;
  const host::Registry registry(registry_opts);
  if (!options.ops_of.empty()) return list_ops(registry, options, session);
  session.out.flush();  // so that a child does not write it again
  const host::ProbeResults probes = probe_all(registry, options);
  if (!options.target_dir.empty()) ETB_TRY(write_targets(registry, probes, options.target_dir));
  if (options.json) {
    session.out << to_json(registry, probes) << '\n';
    return ExitCode::OK;
  }
  print_table(registry, probes, options, session.out);
  for (const std::string& warning : registry.warnings()) session.err << "warning: " << shown(warning) << '\n';
  // A rejected folder may hide plugins, so the user must see a warning.
  for (const host::FolderReport& report : registry.places())
    if (report.state == host::FolderState::kRefused)
      session.err << "warning: " << shown(to_text(report)) << '\n';
  return ExitCode::OK;
}

}  // namespace

void register_list(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "list", "List every plugin found, and why a plugin would not load; runs no plugin code");
  command->add_flag("--json", options->json, "Print JSON");
  CLI::Option* const devices = command->add_flag("--devices", options->devices,
                                                 "Load each plugin in a child process and list its devices");
  command
      ->add_option("--target-dir", options->target_dir,
                   "Write a target file of each device to this folder, for `etbackend compile --target`")
      ->type_name("DIR")
      ->needs(devices);
  command
      ->add_option(
          "--ops", options->ops_of,
          "Load this plugin in a child process and list the ops that it can compile, with their dtypes, "
          "ranks, layouts and quantisation schemes")
      ->type_name("PLUGIN")
      ->excludes(devices);
  command->add_flag("--digests", options->digests, "Hash every library now instead of at load time");
  command->add_flag("--places", options->places, "Also print every folder searched");
  command
      ->add_option("--deadline-ms", options->deadline_ms, "Time limit of one plugin with --devices or --ops")
      ->check(whole_number(1, UINT32_MAX))
      ->capture_default_str();
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
