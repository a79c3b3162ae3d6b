// The delegates of a program, served by plugins: resolved by name in a registry, made over the C ABI.
//
//   Registry registry(options);
//   PluginDelegates delegates(registry);
//   Module::open("model.pte", {.delegates = &delegates});
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/delegates/copy_memory.hpp"
#include "host/delegates/run_watchdog.hpp"
#include "host/registry/registry.hpp"
#include "host/runtime/delegate_resolver.hpp"

namespace etb::host {

// Thread rules: methods may be loaded from several threads. The registry outlives this, and this every method that was
// loaded with it.
class PluginDelegates final : public DelegateResolver {
 public:
  explicit PluginDelegates(Registry& registry) : registry_(registry) {}

  // The plugin (by id) that an application wants for a delegate id. Before a method is loaded.
  void pin(std::string backend_id, std::string plugin_id) {
    pins_[std::move(backend_id)] = std::move(plugin_id);
  }

  // An option of the delegates that plugins make for a delegate id; its text is read by the plugin's schema, and refused when the plugin
  // has no such option. Before a method is loaded.
  void set_option(std::string backend_id, std::string key, std::string text) {
    options_[std::move(backend_id)][std::move(key)] = std::move(text);
  }

  etb_status create(const DelegateRequest& request, MethodDelegate** out, etb_error* error) noexcept override;

  // One decision a delegate that was asked for, in order, those that failed included; of the latest kMaxDecisions.
  static constexpr size_t kMaxDecisions = 4096;
  std::vector<std::shared_ptr<const Decision>> decisions() const;

 private:
  Result<Selection> select(const DelegateRequest& request);
  std::shared_ptr<CopyMemory> copies_of(const NamedDataMap* method);

  Registry& registry_;
  std::map<std::string, std::string> pins_;
  std::map<std::string, std::map<std::string, std::string>> options_;  // by delegate id and key
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<const Decision>> decisions_;
  std::map<const NamedDataMap*, std::weak_ptr<CopyMemory>> copies_;
  RunWatchdog watchdog_;
};

}  // namespace etb::host
