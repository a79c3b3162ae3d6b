// SPDX-License-Identifier: Apache-2.0
// Bridge: the registry, threads and delegates that serve another runtime, with the options of the environment.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/application/engine.hpp"
#include "host/bridge/bridged_delegate.hpp"
#include "host/layers/validate/validation.hpp"

namespace etb::host {

struct BridgeOptions {
  bool registers_at_load = true;               // ETB_BRIDGE_REGISTER
  bool reports_crashes = true;                 // ETB_BRIDGE_CRASH_REPORT
  bool validates = false;                      // ETB_BRIDGE_VALIDATE: the validate layer with guard pages
  uint32_t thread_count = 0;                   // ETB_BRIDGE_THREADS; 0: one for each processor
  std::map<std::string, std::string> aliases;  // ETB_BRIDGE_ALIASES: delegate ids by the name in the program
};

// Error: INVALID_ARGUMENT with the variable, its text and the expected form.
[[nodiscard]] Result<BridgeOptions> read_bridge_options(
    const std::function<std::optional<std::string>(const char* name)>& environment);

// Reads manifests only: runs no plugin's code and starts no thread. Ids of usable plugins, each once, in search order.
std::vector<std::string> find_delegate_ids(const RegistryOptions& options);

// [any]. Lives until the process ends, because the other runtime keeps its backends until then.
class Bridge {
 public:
  Bridge(RegistryOptions registry, const BridgeOptions& options);
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  [[nodiscard]] Result<std::unique_ptr<BridgedDelegate>> create(BridgedRequest request);

  // Sets an option for delegates of an id that are created later.
  void set_option(const std::string& backend_id, const std::string& key, std::string text);

  // Returns what the validate layer found since the last call, one line for each violation.
  std::vector<std::string> take_violations();

 private:
  std::unique_ptr<Validation> validation_;  // NULL: none. Outlives the plugins
  Engine engine_;
  PluginDelegates delegates_;
  std::mutex mutex_;  // guards options_
  std::map<std::string, OptionTexts> options_;
};

}  // namespace etb::host
