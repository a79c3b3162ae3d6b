// Finds plugins by name: searched once when it is made, then asked from any thread. Nothing here is global; a program may
// have several.
#pragma once

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
#include "host/registry/scan.hpp"

namespace etb::host {

struct RegistryOptions {
  std::vector<std::string> application_paths;   // absolute folders, searched first
  std::vector<std::string> distribution_paths;  // absolute folders, searched last
  std::string admin_path = "/etc/etbackend/plugins.d";
  // Reads a variable of the environment; replaced in tests, or by an empty function to have none.
  std::function<std::optional<std::string>(const char* name)> environment = read_environment;
  bool secure = is_process_secure();  // may be switched on, never off: what the process is counts too
  bool check_digests = false;         // hash every library during the search
  // Keep digests of unchanged libraries in the user's cache folder, so that a later process need not hash them; see
  // digest_records.hpp. Never in secure mode, nor without `environment`.
  bool record_digests = true;
  bool no_shadow = false;
  SealPolicy seal = SealPolicy::kForeignFilesystems;
  Platform platform = detect_platform();
  std::span<const etb_static_plugin> static_plugins;  // live as long as the registry
  const etb_host* host =
      nullptr;  // the application's own host struct, asked for services first; outlives every plugin
  SharedServices services;  // what plugins share otherwise; outlives every plugin
  uint64_t memory_cap_bytes = AccountedAllocator::kUnbounded;  // of alloc/1, for each plugin
  std::vector<Layer> layers;                                   // in front of each plugin, outermost first
  std::function<CertificateState(const PluginEntry& entry)> judge_certificate;
};

// A name made into a plugin that is ready to use.
struct Selection {
  std::shared_ptr<const PluginContext> plugin;
  std::shared_ptr<const Decision> decision;
};

class Registry {
 public:
  explicit Registry(const RegistryOptions& options = {});
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Everything found, usable or not, in search order.
  const std::vector<PluginEntry>& plugins() const noexcept { return entries_; }
  const std::vector<PlaceReport>& places() const noexcept { return places_; }
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

  // Which plugin `name` means. Always answers; without a winner to_error() says why. Decisions that ask no plugin are kept.
  std::shared_ptr<const Decision> resolve(std::string_view name, const ResolveOptions& options = {}) const;

  // The code of a plugin of plugins(), loaded when it is asked for the first time. A failure is kept, too.
  [[nodiscard]] Result<std::shared_ptr<LoadedPlugin>> load(const PluginEntry& entry);

  // The plugin's one context in this registry, initialised with the options of the first call.
  [[nodiscard]] Result<std::shared_ptr<const PluginContext>> initialise(
      const PluginEntry& entry, std::span<const etb_option> options = {});

  // How this registry loads; for probe_plugin.
  const LoadOptions& load_options() const noexcept { return load_options_; }

  // Resolves and initialises. A candidate that fails is recorded as refused and the next one tried.
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
  std::vector<Layer> layers_;
  std::vector<PluginEntry> entries_;
  std::vector<PlaceReport> places_;
  std::vector<std::string> warnings_;
  std::vector<std::string> place_texts_;
  std::vector<std::unique_ptr<Slot>> slots_;
  mutable std::shared_mutex decisions_mutex_;
  mutable std::unordered_map<std::string, std::shared_ptr<const Decision>> decisions_;
};

}  // namespace etb::host
