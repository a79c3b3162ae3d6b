// A plugin behind layers: completed tables and the links between them.
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
  // Puts `layers`, outermost first, in front of `plugin`. Refuses what CompleteTable refuses, naming the layer.
  [[nodiscard]] static Result<Chain> make(const etb_plugin_table& plugin, std::span<const Layer> layers);

  // The outermost table.
  const etb_plugin_table& table() const noexcept { return tables_.back()->table(); }

  // What etb_host.layer_link is for the outermost init; NULL without layers.
  const etb_layer_link* link() const noexcept { return link_; }

 private:
  std::vector<std::unique_ptr<CompleteTable>> tables_;  // the plugin's first, the outermost layer's last
  std::vector<etb_layer_link>
      links_;  // one a layer that has an init, innermost first; never grows after make
  const etb_layer_link* link_ = nullptr;
};

}  // namespace etb::host
