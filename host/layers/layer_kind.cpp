// SPDX-License-Identifier: Apache-2.0
#include "host/layers/layer_kind.hpp"

#include <algorithm>
#include <set>

namespace etb::host {
namespace {

std::string syntaxes(std::span<const LayerKind> kinds) {
  std::string text;
  for (size_t i = 0; i < kinds.size(); ++i)
    text += std::string(i == 0 ? "" : i + 1 == kinds.size() ? " or " : ", ") + kinds[i].syntax;
  return text;
}

}  // namespace

Result<LayerSet> LayerSet::make(std::span<const std::string> texts, std::span<const LayerKind> kinds,
                                const LayerHost& host) {
  LayerSet set;
  std::set<std::string> seen;  // a kind with a file and the same kind without one are two
  for (const std::string& text : texts) {
    const std::string name = text.substr(0, text.find_first_of(":="));
    const auto kind =
        std::find_if(kinds.begin(), kinds.end(), [&](const LayerKind& row) { return name == row.name; });
    if (kind == kinds.end())
      return make_error(Code::INVALID_ARGUMENT, "layer '" + text + "', expected " + syntaxes(kinds));
    Result<std::unique_ptr<ActiveLayer>> made = kind->make(text.substr(name.size()), host);
    if (!made) return tl::make_unexpected(with_context(std::move(made).error(), "layer '" + text + "'"));
    const Layer layer = (*made)->layer();
    if (!seen.insert(layer.service_id == nullptr ? layer.name : layer.service_id).second)
      return make_error(Code::INVALID_ARGUMENT,
                        "layer '" + text + "': found '" + name + "' twice, expected each layer once");
    set.layers_.push_back(layer);
    set.active_.push_back(*std::move(made));
  }
  return set;
}

bool LayerSet::finish() {
  bool is_clean = true;
  for (const auto& active : active_) is_clean = active->finish() && is_clean;
  return is_clean;
}

}  // namespace etb::host
