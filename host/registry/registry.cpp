// SPDX-License-Identifier: Apache-2.0
#include "host/registry/registry.hpp"

#include <utility>

#include "host/registry/digest_records.hpp"

namespace etb::host {
namespace {

// Limit of kept decisions. Names come from programs, so a hostile program could use ever new ones.
constexpr size_t kMaxKeptDecisions = 4096;

ScanOptions to_scan_options(const RegistryOptions& options, const LoadOptions& load) {
  ScanOptions out;
  out.search.application_paths = options.application_paths;
  out.search.distribution_paths = options.distribution_paths;
  out.search.admin_path = options.admin_path;
  out.search.disabled = options.disabled;
  out.search.secure = load.secure;
  out.search.environment = options.environment;
  out.trust = load.trust;
  out.platform = options.platform;
  out.check_digests = options.check_digests;
  out.no_shadow = options.no_shadow;
  out.judge_certificate = options.judge_certificate;
  return out;
}

LoadOptions to_load_options(const RegistryOptions& options) {
  LoadOptions out{make_code_policy(options.secure)};
  if (options.record_digests && !out.secure) out.digest_records = digest_record_folder(options.environment);
  out.seal = options.seal;
  out.host = options.host;
  return out;
}

SharedServices to_services(const RegistryOptions& options, const LoadOptions& load) {
  SharedServices out = options.services;
  if (out.cache != nullptr || load.secure) return out;
  const std::string folder =
      options.plugin_cache ? *options.plugin_cache : plugin_cache_folder(options.environment);
  if (!folder.empty())
    out.cache = std::make_shared<DiskCache>(DiskCacheOptions{.folder = folder, .trust = load.trust});
  return out;
}

std::vector<ProvidedId> split_provided(const char* text) {
  std::vector<ProvidedId> out;
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const size_t at = std::min(rest.find(' '), rest.size());
    if (at != 0) out.push_back({std::string(rest.substr(0, at)), std::nullopt});
    rest.remove_prefix(std::min(at + 1, rest.size()));
  }
  return out;
}

// Makes a manifest for a plugin that is linked into the program.
Manifest to_manifest(const PluginIdent& ident, const char* provides) {
  Manifest out;
  out.id = ident.id;
  out.version = ident.version;
  out.vendor = ident.vendor;
  out.abi = {ident.abi_min, ident.abi_max};
  out.profiles = ident.profiles;
  out.provides = split_provided(provides);
  out.flags.unloadable = (ident.flags & ETB_PLUGIN_UNLOADABLE) != 0;
  out.flags.own_threads = (ident.flags & ETB_PLUGIN_OWN_THREADS) != 0;
  return out;
}

std::string cache_key(std::string_view name, const ResolveOptions& options) {
  std::string key;
  key.reserve(name.size() + options.pin.size() + 32);
  key.append(name).append(1, '\0').append(options.pin).append(1, '\0');
  key.append(options.allow_aliases ? "a" : "-").append(std::to_string(options.profiles));
  if (options.payload_version) key.append(1, ' ').append(std::to_string(*options.payload_version));
  return key;
}

}  // namespace

Registry::Registry(const RegistryOptions& options)
    : load_options_(to_load_options(options)),
      services_(to_services(options, load_options_)),
      memory_cap_bytes_(options.memory_cap_bytes),
      plugin_options_(options.plugin_options),
      layers_(options.layers) {
  ScanResult found = scan_plugins(to_scan_options(options, load_options_));
  entries_ = std::move(found.entries);
  places_ = std::move(found.places);
  warnings_ = std::move(found.warnings);
  for (const FolderReport& report : places_) place_texts_.push_back(to_text(report));
  for (size_t i = 0; i < entries_.size(); ++i) slots_.push_back(std::make_unique<Slot>());
  for (size_t i = 0; i < options.static_plugins.size(); ++i)
    add_static(*ETB_AT(etb_static_plugin, options.static_plugins.data(), i));
}

// Checks the program's entry for the plugin, before any of the plugin's code runs.
Status Registry::verify_static(const etb_static_plugin& plugin) {
  if (plugin.struct_size < ETB_SIZE_THROUGH(etb_static_plugin, provides))
    return refuse(Reason::kTable, "static plugin: struct_size " + std::to_string(plugin.struct_size) +
                                      ", version 1.0 has " +
                                      std::to_string(ETB_SIZE_THROUGH(etb_static_plugin, provides)));
  if (plugin.flags != 0)
    return refuse(Reason::kTable, "static plugin: flags " + std::to_string(plugin.flags) + ", expected 0");
  if (plugin.query == nullptr) return refuse(Reason::kTable, "static plugin: query is NULL");
  return {};
}

void Registry::add_static(const etb_static_plugin& plugin) {
  PluginEntry entry;
  entry.tier = Tier::kStatic;
  auto slot = std::make_unique<Slot>();
  if (Status status = verify_static(plugin); !status) {
    entry.problem = std::move(status).error();
  } else {
    entry.static_query = plugin.query;
    slot->plugin = LoadedPlugin::link(plugin.query, load_options_);
    if (*slot->plugin) {
      entry.ident = (**slot->plugin)->ident();
      entry.id = entry.ident->id;
      entry.manifest = to_manifest(*entry.ident, plugin.provides == nullptr ? "" : plugin.provides);
    } else {
      entry.problem = slot->plugin->error();
    }
  }
  for (const PluginEntry& other : entries_)
    if (!entry.problem && other.id == entry.id)
      entry.problem = refuse(Reason::kShadowed, "shadowed by " + place_of(other)).value();
  entries_.push_back(std::move(entry));
  slots_.push_back(std::move(slot));
}

std::shared_ptr<const Decision> Registry::resolve(std::string_view name,
                                                  const ResolveOptions& options) const {
  const auto decide_now = [&] {
    Decision decision = decide(entries_, name, options);
    decision.places = place_texts_;
    return std::make_shared<const Decision>(std::move(decision));
  };
  if (options.judge_payload) return decide_now();
  std::string key = cache_key(name, options);
  {
    const std::shared_lock lock(decisions_mutex_);
    if (const auto it = decisions_.find(key); it != decisions_.end()) return it->second;
  }
  std::shared_ptr<const Decision> decision = decide_now();
  const std::unique_lock lock(decisions_mutex_);
  if (decisions_.size() >= kMaxKeptDecisions) decisions_.clear();
  return decisions_.emplace(std::move(key), std::move(decision)).first->second;
}

Result<std::shared_ptr<LoadedPlugin>> Registry::load_locked(const PluginEntry& entry, Slot& slot) const {
  if (!slot.plugin) slot.plugin = LoadedPlugin::load(entry, load_options_);
  return *slot.plugin;
}

Result<std::shared_ptr<LoadedPlugin>> Registry::load(const PluginEntry& entry) {
  if (entry.problem) return tl::make_unexpected(*entry.problem);
  Slot& slot = slot_of(entry);
  const std::lock_guard lock(slot.mutex);
  return load_locked(entry, slot);
}

Result<std::shared_ptr<const PluginContext>> Registry::initialise(const PluginEntry& entry,
                                                                  std::span<const etb_option> options) {
  if (entry.problem) return tl::make_unexpected(*entry.problem);
  Slot& slot = slot_of(entry);
  const std::lock_guard lock(slot.mutex);
  if (slot.context) return slot.context;
  ETB_ASSIGN(const std::shared_ptr<LoadedPlugin> plugin, load_locked(entry, slot));
  if (plugin->is_layer())
    return make_error(Code::INVALID_ARGUMENT, entry.id + ": a layer, which wraps plugins and is not one");
  StartArgs args;
  args.layers = layers_;
  args.services = services_;
  args.memory_cap_bytes = memory_cap_bytes_;
  args.application = load_options_.host;
  args.plugin_dir = plugin->host().plugin_dir;
  args.host_flags = plugin->host().flags;
  std::vector<etb_option> given(options.begin(), options.end());
  if (const auto texts = plugin_options_.find(entry.id); given.empty() && texts != plugin_options_.end()) {
    ETB_ASSIGN(given, read_init_options(entry, texts->second));
  }
  args.options = given;
  ETB_ASSIGN(PluginContext context, start_plugin(plugin, plugin->table(), args));
  slot.context = std::make_shared<const PluginContext>(std::move(context));
  return slot.context;
}

Result<Selection> Registry::open(std::string_view name, const ResolveOptions& options) {
  std::shared_ptr<const Decision> decision = resolve(name, options);
  std::optional<Decision> changed;  // a copy, once a candidate failed
  while (const Candidate* winner = (changed ? *changed : *decision).winner()) {
    Result<std::shared_ptr<const PluginContext>> plugin = initialise(entries_[winner->entry_index]);
    if (plugin)
      return Selection{std::move(*plugin),
                       changed ? std::make_shared<const Decision>(std::move(*changed)) : std::move(decision)};
    if (!changed) changed = *decision;
    Candidate failed = std::move(changed->candidates.front());
    changed->candidates.erase(changed->candidates.begin());
    failed.refusal = std::move(plugin).error();
    failed.refusal->message = made_printable(failed.refusal->message);  // the plugin wrote this text
    changed->candidates.push_back(std::move(failed));
    changed->rule = "next candidate, since a better one failed";
  }
  return tl::make_unexpected(to_error(changed ? *changed : *decision));
}

}  // namespace etb::host
