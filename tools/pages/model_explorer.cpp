// SPDX-License-Identifier: Apache-2.0
// The JSON of Google's Model Explorer: a collection of graphs whose nodes have a namespace, attributes, edges that come in,
// and metadata of outputs. Reading it needs no extension there.
#include <algorithm>

#include "tools/pages/graph_document.hpp"

namespace etb::pages {
namespace {

constexpr const char* kColours[] = {"#cfe0fb", "#cdeee0", "#fbe0c6", "#ead6f7",
                                    "#f9d2dc", "#cdebf1", "#e9ecc0", "#ecdcd5"};

Json attribute(const std::string& key, const std::string& value) { return {{"key", key}, {"value", value}}; }

// Names of modules have dots, namespaces slashes.
std::string namespace_of(const Json& node) {
  std::string path = node.value("module", "");
  std::replace(path.begin(), path.end(), '/', '_');
  std::replace(path.begin(), path.end(), '.', '/');
  return path;
}

Json attributes_of(const Json& node, const std::vector<std::string>& plugins) {
  Json list = Json::array();
  for (const char* key : {"name", "module", "type", "source"})
    if (node.contains(key) && !node[key].get<std::string>().empty())
      list.push_back(attribute(key, node[key].get<std::string>()));
  if (node.contains("plugin")) list.push_back(attribute("plugin", plugins[node["plugin"].get<size_t>()]));
  if (node.contains("region"))
    list.push_back(attribute("region", std::to_string(node["region"].get<uint64_t>())));
  if (node.contains("handle"))
    list.push_back(attribute("debug_handle", std::to_string(node["handle"].get<uint64_t>())));
  if (node.contains("attrs"))
    for (const Json& pair : node["attrs"])
      list.push_back(attribute(pair[0].get<std::string>(), pair[1].get<std::string>()));
  size_t index = 0;
  if (node.contains("constants"))
    for (const Json& constant : node["constants"])
      list.push_back(attribute("constant " + std::to_string(index++), constant.get<std::string>()));
  if (node.contains("reasons"))
    for (const Json& reason : node["reasons"])
      list.push_back(attribute("rejected by " + reason[0].get<std::string>(),
                               reason[1].get<std::string>() + ": " + reason[2].get<std::string>()));
  return list;
}

Json node_json(const Json& node, size_t index, const std::vector<std::string>& plugins) {
  Json edges = Json::array();
  size_t input = 0;
  if (node.contains("needs"))
    for (const Json& need : node["needs"])
      edges.push_back({{"sourceNodeId", std::to_string(need.get<size_t>())},
                       {"sourceNodeOutputId", "0"},
                       {"targetNodeInputId", std::to_string(input++)}});
  Json out{{"id", std::to_string(index)},
           {"label", node["op"]},
           {"namespace", namespace_of(node)},
           {"attrs", attributes_of(node, plugins)},
           {"incomingEdges", std::move(edges)}};
  if (const std::string spec = node.value("spec", ""); !spec.empty())
    out["outputsMetadata"] = {{{"id", "0"}, {"attrs", {attribute("tensor_shape", spec)}}}};
  if (node.contains("plugin"))
    out["style"] = {{"backgroundColor", kColours[node["plugin"].get<size_t>() % std::size(kColours)]}};
  return out;
}

}  // namespace

std::string to_model_explorer(const std::string& label, const Json& graphs,
                              const std::vector<std::string>& plugins) {
  Json list = Json::array();
  for (const Json& graph : graphs) {
    Json nodes = Json::array();
    for (size_t i = 0; i < graph["nodes"].size(); ++i)
      nodes.push_back(node_json(graph["nodes"][i], i, plugins));
    list.push_back({{"id", graph["name"]}, {"nodes", std::move(nodes)}});
  }
  const Json document{{"label", label}, {"graphs", std::move(list)}};
  return document.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace etb::pages
