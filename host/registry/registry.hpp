// SPDX-License-Identifier: Apache-2.0
// Registry: finds plugins by name. It searches once, when it is created, and then serves any thread. It has
// no global state; a program may have several.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "etb/static_plugins.h"
#include "host/layers/start_plugin.hpp"
#include "host/registry/decision.hpp"
#include "host/registry/loaded_plugin.hpp"
#include "host/registry/option_text.hpp"
#include "host/registry/scan.hpp"

namespace etb::host {

struct RegistryOptions {
  std::vector<std::string> application_paths;   // absolute folders, searched first
  std::vector<std::string> distribution_paths;  // absolute folders, searched last
  std::string admin_path = "/etc/etbackend/plugins.d";
  std::vector<std::string> disabled;  // globs on ids and aliases: these plugins are not used
  // Reads an environment variable. Tests replace it; an empty function means no environment.
  std::function<std::optional<std::string>(const char* name)> environment = read_environment;
  bool secure = is_process_secure();  // may be set, never cleared: a process with more rights stays secure
  bool check_digests = false;         // hash every library during the search
  // Keep digests of unchanged libraries in the user's cache folder, so that a later process need not hash them; see
  // digest_records.hpp. Never in secure mode, nor without `environment`.
  bool record_digests = true;
  // The folder of cache/1 for all plugins; "" switches the service off. Not set: as plugin_cache_folder() finds it. Never in
  // secure mode.
  std::optional<std::string> plugin_cache;
  bool no_shadow = false;
  SealPolicy seal = SealPolicy::kForeignFilesystems;
  Platform platform = detect_platform();
  std::span<const etb_static_plugin> static_plugins;  // live as long as the registry
  // The application's own host struct, asked for services first. Outlives every plugin.
  const etb_host* host = nullptr;
  SharedServices services;  // other services that plugins share; outlives every plugin
  uint64_t memory_cap_bytes = AccountedAllocator::kUnbounded;  // limit of alloc/1, for each plugin
  std::map<std::string, OptionTexts> plugin_options;           // for init, by plugin id
  std::vector<Layer> layers;                                   // before each plugin, outermost first
  std::function<CertificateState(const PluginEntry& entry)> judge_certificate;
};

// The result of open(): a name resolved to a plugin that is ready to use.
struct Selection {
  std::shared_ptr<const PluginContext> plugin;
  std::shared_ptr<const Decision> decision;
};

class Registry {
 public:
  explicit Registry(const RegistryOptions& options = {});
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // All plugins found, usable or not, in search order.
  const std::vector<PluginEntry>& plugins() const noexcept { return entries_; }
  const std::vector<FolderReport>& places() const noexcept { return places_; }
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

  // Resolves a name. Always returns a decision; without a winner to_error() explains it. Keeps decisions
  // that did not ask a plugin.
  std::shared_ptr<const Decision> resolve(std::string_view name, const ResolveOptions& options = {}) const;

  // Returns the code of a plugin of plugins(), loaded at the first call. A failure is kept, too.
  [[nodiscard]] Result<std::shared_ptr<LoadedPlugin>> load(const PluginEntry& entry);

  // Returns the plugin's only context in this registry, initialised with the options of the first call; without
  // any, with those of RegistryOptions.
  [[nodiscard]] Result<std::shared_ptr<const PluginContext>> initialise(
      const PluginEntry& entry, std::span<const etb_option> options = {});

  bool has_layers() const noexcept { return !layers_.empty(); }

  // Options that this registry loads with; for probe_plugin.
  const LoadOptions& load_options() const noexcept { return load_options_; }

  // Resolves and initialises. Marks a candidate that fails as refused and tries the next one.
  [[nodiscard]] Result<Selection> open(std::string_view name, const ResolveOptions& options = {});

 private:
  struct Slot {
    std::mutex mutex;
    std::optional<Result<std::shared_ptr<LoadedPlugin>>> plugin;
    std::shared_ptr<const PluginContext> context;
  };

  void add_static(const etb_static_plugin& plugin);
  static Status verify_static(const etb_static_plugin& plugin);
  Result<std::shared_ptr<LoadedPlugin>> load_locked(const PluginEntry& entry, Slot& slot) const;
  Slot& slot_of(const PluginEntry& entry) { return *slots_[static_cast<size_t>(&entry - entries_.data())]; }

  LoadOptions load_options_;
  SharedServices services_;
  uint64_t memory_cap_bytes_;
  std::map<std::string, OptionTexts> plugin_options_;
  std::vector<Layer> layers_;
  std::vector<PluginEntry> entries_;
  std::vector<FolderReport> places_;
  std::vector<std::string> warnings_;
  std::vector<std::string> place_texts_;
  std::vector<std::unique_ptr<Slot>> slots_;
  mutable std::shared_mutex decisions_mutex_;
  mutable std::unordered_map<std::string, std::shared_ptr<const Decision>> decisions_;
};

}  // namespace etb::host
