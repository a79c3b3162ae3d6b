// SPDX-License-Identifier: Apache-2.0
// The user's choice of plugins, devices and options for the delegates of a program.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "host/delegates/plugin_delegates.hpp"
#include "host/module/module.hpp"

namespace etb::tools {

// The texts of the options, as the user gave them.
struct DelegateTexts {
  std::vector<std::string> pins;     // ID=PLUGIN
  std::vector<std::string> devices;  // DEVICE or ID=DEVICE
  std::vector<std::string> options;  // ID:KEY=VALUE
};

void add_delegate_options(CLI::App& command, DelegateTexts& texts);

struct DelegateChoice {
  struct Option {
    std::string backend_id, key, value;
  };
  std::map<std::string, std::string> pins;     // plugin id by delegate id
  std::map<std::string, std::string> devices;  // by delegate id, "" for all others
  std::vector<Option> options;

  [[nodiscard]] static Result<DelegateChoice> parse(const DelegateTexts& texts);
};

// Searches for plugins when a program first names one, so that other programs do not wait for the search.
class SearchedDelegates final : public host::DelegateResolver {
 public:
  SearchedDelegates(host::RegistryOptions options, DelegateChoice choice)
      : options_(std::move(options)), choice_(std::move(choice)) {}

  // Rejects a choice that has no effect: an id that no method of the program names, and a pinned plugin that
  // does not exist or does not provide the id. Replaces aliases of pinned plugins by their ids.
  [[nodiscard]] Status check_choice(const host::Module& module);

  etb_status create(const host::DelegateRequest& request, host::MethodDelegate** out,
                    etb_error* error) noexcept override;

  // Returns each delegate of the program with its plugin and the decision.
  nlohmann::ordered_json to_json() const;

 private:
  host::Registry& registry();
  Status check_pin(const std::string& id, std::string& plugin);

  host::RegistryOptions options_;
  DelegateChoice choice_;
  std::unique_ptr<host::Registry> registry_;
  std::unique_ptr<host::PluginDelegates> delegates_;
};

}  // namespace etb::tools
