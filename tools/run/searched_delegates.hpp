// SPDX-License-Identifier: Apache-2.0
// SearchedDelegates: delegates of plugins that are found by name.
#pragma once

#include <memory>
#include <vector>

#include "host/delegates/plugin_delegates.hpp"
#include "host/module/module.hpp"
#include "tools/run/plugin_options.hpp"

namespace etb::tools {

// Searches for plugins when a program first names one, so that other programs do not wait for the search.
class SearchedDelegates final : public host::DelegateResolver {
 public:
  SearchedDelegates(host::RegistryOptions options, DelegateChoices choices)
      : options_(std::move(options)), choices_(std::move(choices)) {}

  // Rejects a choice that has no effect: an id that no method of the program names, and a pinned plugin that
  // does not exist or does not provide the id. Replaces aliases of pinned plugins by their ids.
  [[nodiscard]] Status check_choices(const host::Module& module);

  etb_status create(const host::DelegateRequest& request, host::MethodDelegate** out,
                    etb_error* error) noexcept override;

  // One for each requested delegate, in order, failed ones included.
  std::vector<std::shared_ptr<const host::Decision>> decisions() const;

  // As PluginDelegates::lend_file.
  void lend_file(const host::FileMapping& file) { file_ = file; }

  // Memory of the delegates that live now.
  std::vector<host::DelegateHolding> holdings() const;

  // How arguments of all runs were passed to plugins; NULL before the first delegate.
  const host::TransferCounts* transfers() const {
    return delegates_ == nullptr ? nullptr : &delegates_->transfers();
  }

 private:
  host::Registry& registry();
  Status check_pin(const std::string& id, std::string& plugin);

  host::RegistryOptions options_;
  DelegateChoices choices_;
  host::FileMapping file_;
  std::unique_ptr<host::Registry> registry_;
  std::unique_ptr<host::PluginDelegates> delegates_;
};

}  // namespace etb::tools
