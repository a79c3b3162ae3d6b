// SPDX-License-Identifier: Apache-2.0
#include "host/layers/chain.hpp"

#include <string>

namespace etb::host {

Result<Chain> Chain::make(const etb_plugin_table& plugin, std::span<const Layer> layers) {
  Chain chain;
  chain.links_.reserve(layers.size());  // the links contain pointers to each other
  chain.tables_.push_back(std::make_unique<CompleteTable>());
  ETB_TRY(chain.tables_.back()->assign(plugin));
  for (size_t i = layers.size(); i-- > 0;) {
    const etb_plugin_table& next = chain.table();
    const etb_layer_link* const rest = chain.link();
    auto table = std::make_unique<CompleteTable>();
    if (const Status status = table->assign_layer(*layers[i].table, next); !status)
      return tl::make_unexpected(with_context(status.error(), "layer '" + std::string(layers[i].name) + "'"));
    // A layer without init needs no link: the call reaches the next layer's init, with that layer's link.
    if (layers[i].table->init != nullptr) {
      chain.links_.push_back({sizeof(etb_layer_link), 0, &next, rest});
      chain.link_ = &chain.links_.back();
    }
    chain.tables_.push_back(std::move(table));
  }
  return chain;
}

}  // namespace etb::host
