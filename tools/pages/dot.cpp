// SPDX-License-Identifier: Apache-2.0
// Graphs for Graphviz.
#include <map>
#include <memory>

#include "tools/pages/graph_document.hpp"

namespace etb::pages {
namespace {

constexpr const char* kColours[] = {"#0a58c2", "#0d7350", "#9c4a06", "#7d33ad",
                                    "#a8244a", "#136f80", "#5c6300", "#7a4a3a"};
constexpr size_t kMaxDepth = 24;

// A string of the language. A backslash begins an escape of its own, so each one is doubled.
std::string in_quotes(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += ' ';
    else
      out += c;
  }
  return out + '"';
}

struct Cluster {
  std::map<std::string, std::unique_ptr<Cluster>> children;
  std::vector<size_t> nodes;
};

class DotWriter {
 public:
  explicit DotWriter(const std::vector<std::string>& plugins) : plugins_(plugins) {}

  void add(const Json& graph, size_t index) {
    graph_ = index;
    const Json& nodes = graph["nodes"];
    Cluster root;
    for (size_t i = 0; i < nodes.size(); ++i) {
      Cluster* at = &root;
      const std::string path = nodes[i].value("module", "");
      for (size_t begin = 0, depth = 0; begin < path.size() && depth < kMaxDepth; ++depth) {
        const size_t end =
            depth + 1 == kMaxDepth ? path.size() : std::min(path.find('.', begin), path.size());
        auto& child = at->children[path.substr(begin, end - begin)];
        if (!child) child = std::make_unique<Cluster>();
        at = child.get();
        begin = end + 1;
      }
      at->nodes.push_back(i);
    }
    out_ += "  subgraph cluster_g" + std::to_string(index) +
            " {\n    label = " + in_quotes(graph["name"].get<std::string>()) + ";\n";
    write(root, nodes, 2);
    for (size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i].contains("needs"))
        for (const Json& need : nodes[i]["needs"])
          out_ += "    " + name(need.get<size_t>()) + " -> " + name(i) + ";\n";
    out_ += "  }\n";
  }

  std::string finish() {
    return "digraph model {\n  rankdir = TB;\n  fontname = \"sans-serif\";\n  node [shape=box, "
           "style=\"rounded,filled\", "
           "fontname=\"sans-serif\", fontsize=10];\n" +
           out_ + "}\n";
  }

 private:
  std::string name(size_t node) const { return "g" + std::to_string(graph_) + "n" + std::to_string(node); }

  void write(const Cluster& cluster, const Json& nodes, size_t depth) {
    const std::string indent(2 * depth, ' ');
    for (const auto& [path, child] : cluster.children) {
      out_ += indent + "subgraph cluster_" + std::to_string(next_cluster_++) + " {\n" + indent +
              "  label = " + in_quotes(path) + ";\n";
      write(*child, nodes, depth + 1);
      out_ += indent + "}\n";
    }
    for (const size_t i : cluster.nodes) {
      const Json& node = nodes[i];
      const bool has_plugin = node.contains("plugin");
      std::string label = node["op"].get<std::string>() + "\n" + node.value("spec", "");
      if (has_plugin) label += "\n" + plugins_[node["plugin"].get<size_t>()];
      if (node.contains("reasons"))
        for (const Json& reason : node["reasons"])
          label += "\n" + reason[0].get<std::string>() + ": " + reason[1].get<std::string>();
      out_ +=
          indent + name(i) + " [label=" + in_quotes(label) +
          ", tooltip=" + in_quotes(node.value("name", "") + " " + node.value("source", "")) +
          (has_plugin ? ", fontcolor=white, fillcolor=\"" +
                            std::string(kColours[node["plugin"].get<size_t>() % std::size(kColours)]) + "\""
                      : std::string(", fillcolor=\"#eceef1\"")) +
          "];\n";
    }
  }

  const std::vector<std::string>& plugins_;
  std::string out_;
  size_t graph_ = 0, next_cluster_ = 0;
};

}  // namespace

std::string to_dot(const Json& graphs, const std::vector<std::string>& plugins) {
  DotWriter writer(plugins);
  // Texts of files may be no UTF-8, which Graphviz rejects: a round trip through JSON replaces such bytes.
  const Json valid = Json::parse(graphs.dump(-1, ' ', false, Json::error_handler_t::replace));
  for (size_t i = 0; i < valid.size(); ++i) writer.add(valid[i], i);
  return writer.finish();
}

}  // namespace etb::pages
