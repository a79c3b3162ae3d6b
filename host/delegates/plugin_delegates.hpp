// SPDX-License-Identifier: Apache-2.0
// PluginDelegates: runs a program's delegates on plugins, found by name in a registry, over the C ABI.
//
//   Registry registry(options);
//   PluginDelegates delegates(registry);
//   Module::open("model.pte", {.delegates = &delegates});
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/delegates/delegate_options.hpp"
#include "host/delegates/device_memory.hpp"
#include "host/delegates/device_values.hpp"
#include "host/delegates/living_delegates.hpp"
#include "host/delegates/overlapped_run.hpp"
#include "host/delegates/run_watchdog.hpp"
#include "host/delegates/shared_delegates.hpp"
#include "host/delegates/staging_memory.hpp"
#include "host/registry/registry.hpp"
#include "host/runtime/delegate_resolver.hpp"

namespace etb::host {

class DeviceTarget;
class PluginDelegate;

// Several threads may load methods. The registry outlives this object, which outlives every method loaded
// with it.
class PluginDelegates final : public DelegateResolver {
 public:
  explicit PluginDelegates(Registry& registry) : registry_(registry) {}

  // Sets the plugin (by id) that the application prefers for a delegate id. Call it before a method is
  // loaded.
  void pin(std::string backend_id, std::string plugin_id) {
    pins_[std::move(backend_id)] = std::move(plugin_id);
  }

  // Sets the device for the delegates of an id, or of all ids if it is empty: a uuid, a name, or a part of one
  // name, as OpenDevices::open() reads it; kDefaultDevice: the plugin chooses. Creation fails if the plugin has no such device. Call
  // it before a method is loaded. Without a call the device that the program names decides, else the plugin chooses.
  void set_device(std::string backend_id, std::string device) {
    device_names_[std::move(backend_id)] = std::move(device);
  }

  // Sets an option for the delegates of an id, or for their device, contexts or runs, as the plugin's schema
  // says. Its text is parsed by the schema; creation fails when the plugin has no such option. Call it before a
  // method is loaded.
  void set_option(std::string backend_id, std::string key, std::string text) {
    options_[std::move(backend_id)][std::move(key)] = std::move(text);
  }

  // Changes an option of the living delegates of an id, from their next run on, and sets it for those made later. The option goes
  // to runs or contexts if the plugin's schema allows it, else to the delegates. Without a living delegate the text is checked
  // against the plugin that is first in line. Returns the errors of read_option_change and of the plugin, INVALID_STATE for a delegate
  // that other modules share, NOT_FOUND without a plugin. An error of the plugin may leave some delegates changed, all others none.
  // Neither a run nor create() may be under way.
  [[nodiscard]] Status change_option(const std::string& backend_id, const std::string& key,
                                     const std::string& text);

  // Makes delegates whose runs go on while the host does other work, for ModuleOptions::async. Call it before a method is
  // loaded.
  void allow_async_runs() { is_async_ = true; }

  // Sets how many bytes the delegates of one device may hold, as plugins state them (resident_bytes and context_bytes of
  // etb_delegate_info); 0: no limit. Creation fails with the figures of each delegate if they need more. `shared` counts
  // delegates of other objects, too. Call it before a method is loaded.
  void limit_device_memory(uint64_t max_bytes, std::shared_ptr<DeviceMemory> shared = nullptr) {
    max_device_bytes_ = max_bytes;
    if (shared) device_memory_ = std::move(shared);
  }

  // Sets the delegates that this object shares with others, so that a module whose delegates they make uses those of another
  // module on the same program. Call it before a method is loaded. Without it, only modules of this object share.
  void share_delegates(std::shared_ptr<SharedDelegates> shared) { shared_ = std::move(shared); }

  // Sets the file of the program, which lives as long as the methods: plugins then get its bytes with the descriptor, so that they
  // can read them into the memory of a device. Call it before a method is loaded.
  void lend_file(const FileMapping& file) { file_ = file; }

  etb_status create(const DelegateRequest& request, MethodDelegate** out, etb_error* error) noexcept override;

  // Creates a delegate for another runtime, whose compile specs and options are not in a program view. Ignores
  // `request.compile_specs` and set_option(). End the result with destroy().
  [[nodiscard]] Result<PluginDelegate*> make(const DelegateRequest& request,
                                             std::span<const etb_compile_spec> specs,
                                             const OptionTexts& options);

  // Returns the id of the plugin that is first in line for a delegate id, as far as manifests show it; "" if none is.
  std::string plugin_of(const std::string& backend_id) const;

  // How arguments of all runs were passed to plugins.
  const TransferCounts& transfers() const noexcept { return *transfers_; }

  // Memory of the delegates that live now.
  std::vector<DelegateHolding> holdings() const { return device_memory_->holdings(); }

  // The latest kMaxDecisions decisions, one for each requested delegate, in order, failed ones included.
  static constexpr size_t kMaxDecisions = 4096;
  std::vector<std::shared_ptr<const Decision>> decisions() const;

 private:
  // A device as its name was given.
  struct NamedDevice {
    std::optional<std::string> name = {};  // nothing: the plugin chooses
    bool is_of_program = false;
  };
  Result<NamedDevice> device_name_of(const DelegateRequest& request) const;
  Result<Selection> select(const DelegateRequest& request, std::span<const etb_compile_spec> specs,
                           const NamedDevice& named);
  Result<std::shared_ptr<const Device>> device_of(const std::string& backend_id, const PluginContext& plugin,
                                                  const NamedDevice& named,
                                                  std::span<const etb_option> options);
  std::shared_ptr<const DeviceTarget> target_of(const NamedDevice& named, const PluginContext& plugin);
  void use_device_memory(PluginDelegate& delegate, const PluginContext& plugin,
                         std::shared_ptr<const Device> device);
  std::shared_ptr<StagingMemory> staging_memory_of(const NamedDataMap* method);
  std::optional<AsyncSupport> async_support_of(const PluginContext& plugin);

  ResolveOptions resolve_options(const std::string& backend_id) const;

  Registry& registry_;
  std::map<std::string, std::string> pins_;
  std::map<std::string, std::string> device_names_;  // by delegate id, "" for all others
  std::map<std::string, OptionTexts> options_;       // by delegate id
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<const Decision>> decisions_;
  std::map<const NamedDataMap*, std::weak_ptr<StagingMemory>> copies_;
  bool is_async_ = false;
  std::map<const PluginContext*, std::weak_ptr<DelegateThread>>
      threads_;  // for plugins without asynchronous runs
  std::mutex targets_mutex_;
  // Devices as their plugins describe them, by the name that the application or the program gave; "": none.
  std::map<std::pair<const PluginContext*, std::string>, std::shared_ptr<const DeviceTarget>> targets_;
  std::shared_ptr<SharedDelegates> shared_ = std::make_shared<SharedDelegates>();
  std::shared_ptr<TransferCounts> transfers_ = std::make_shared<TransferCounts>();
  std::shared_ptr<DeviceMemory> device_memory_ = std::make_shared<DeviceMemory>();
  uint64_t max_device_bytes_ = 0;
  FileMapping file_;
  RunWatchdog watchdog_;
  LivingDelegates living_;
};

}  // namespace etb::host
