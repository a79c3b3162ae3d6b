#include "host/layers/chain.hpp"

#include <string>

namespace etb::host {

Result<Chain> Chain::make(const etb_plugin_table& plugin, std::span<const Layer> layers) {
  Chain chain;
  chain.links_.reserve(layers.size());  // the links point at each other
  chain.tables_.push_back(std::make_unique<CompleteTable>());
  ETB_TRY(chain.tables_.back()->assign(plugin));
  for (size_t i = layers.size(); i-- > 0;) {
    const etb_plugin_table& next = chain.table();
    const etb_layer_link* const rest = chain.link();
    auto table = std::make_unique<CompleteTable>();
    if (const Status status = table->assign_layer(*layers[i].table, next); !status)
      return tl::make_unexpected(with_context(status.error(), "layer '" + std::string(layers[i].name) + "'"));
    // A layer without init is never asked where it stands: the init that is called is the next one's, with its link.
    if (layers[i].table->init != nullptr) {
      chain.links_.push_back({sizeof(etb_layer_link), 0, &next, rest});
      chain.link_ = &chain.links_.back();
    }
    chain.tables_.push_back(std::move(table));
  }
  return chain;
}

}  // namespace etb::host
