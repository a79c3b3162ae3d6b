// SPDX-License-Identifier: Apache-2.0
// Chain: a plugin with layers before it: completed tables and the links between them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "etb/cpp/result.hpp"
#include "host/layers/layer.hpp"
#include "host/plugin/complete_table.hpp"

namespace etb::host {

class Chain {
 public:
  // Adds `layers`, outermost first, before `plugin`. Rejects a table that CompleteTable
  // rejects, with the layer's name.
  [[nodiscard]] static Result<Chain> make(const etb_plugin_table& plugin, std::span<const Layer> layers);

  // The outermost table.
  const etb_plugin_table& table() const noexcept { return tables_.back()->table(); }

  // Value of etb_host.layer_link for the outermost init. NULL without layers.
  const etb_layer_link* link() const noexcept { return link_; }

 private:
  std::vector<std::unique_ptr<CompleteTable>> tables_;  // the plugin's first, the outermost layer's last
  // One for each layer with an init, innermost first. Never grows after make.
  std::vector<etb_layer_link> links_;
  const etb_layer_link* link_ = nullptr;
};

}  // namespace etb::host
