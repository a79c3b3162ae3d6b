// SPDX-License-Identifier: Apache-2.0
#include "tools/pages/weight_tree.hpp"

#include <memory>
#include <unordered_map>

namespace etb::pages {
namespace {

// Names of files are hostile: deeper ones are cut.
constexpr size_t kMaxDepth = 24;

struct Layer {
  std::string name;
  std::vector<std::unique_ptr<Layer>> children;
  std::unordered_map<std::string, Layer*> by_name;
  const Weight* weight = nullptr;

  Layer* child(const std::string& wanted) {
    Layer*& found = by_name[wanted];
    if (found == nullptr) {
      children.push_back(std::make_unique<Layer>());
      found = children.back().get();
      found->name = wanted;
    }
    return found;
  }
};

Json to_json(const Layer& layer) {
  Json out{{"name", layer.name}};
  if (layer.weight != nullptr) {
    out["value"] = layer.weight->nbytes;
    out["detail"] = layer.weight->detail;
  }
  if (layer.children.empty()) return out;
  Json children = Json::array();
  for (const auto& child : layer.children) children.push_back(to_json(*child));
  out["children"] = std::move(children);
  return out;
}

}  // namespace

Json weight_tree(const std::vector<Weight>& weights) {
  Layer root;
  for (const Weight& weight : weights) {
    Layer* at = &root;
    size_t begin = 0;
    for (size_t depth = 1; depth < kMaxDepth; ++depth) {
      const size_t dot = weight.name.find('.', begin);
      if (dot == std::string::npos) break;
      at = at->child(weight.name.substr(begin, dot - begin));
      begin = dot + 1;
    }
    Layer* const leaf = at->child(weight.name.substr(begin));
    // Two of one name, such as a layer that shares its name with a tensor: both are kept.
    if (leaf->weight == nullptr && leaf->children.empty()) {
      leaf->weight = &weight;
    } else {
      at->children.push_back(std::make_unique<Layer>());
      at->children.back()->name = leaf->name;
      at->children.back()->weight = &weight;
    }
  }
  return to_json(root);
}

Json weight_part(const std::vector<Weight>& weights, std::string note) {
  Json part = make_part("treemap", "Weights by layer", std::move(note));
  part["short"] = "Weights";
  part["unit"] = "bytes";
  part["of"] = "layer";
  part["empty"] = "no weights";
  part["root"] = weight_tree(weights);
  return part;
}

}  // namespace etb::pages
