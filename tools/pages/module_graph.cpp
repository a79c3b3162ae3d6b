// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "etb/cpp/graph_view.hpp"
#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/partition/dependencies.hpp"
#include "tools/pages/graph_document.hpp"

namespace etb::pages {
namespace {

using ir::Dim;

template <class List, class Format>
std::string in_brackets(const List& list, Format format) {
  std::string out = "[";
  for (const auto& item : list) out += (out.size() > 1 ? ", " : "") + format(item);
  return out + "]";
}

class GraphRows {
 public:
  GraphRows(const ir::Module& module, uint32_t index)
      : module_(module), graph_(module.graphs[index]), names_(ir::value_names(graph_)) {}

  Json rows(const std::function<void(uint32_t node, Json& row)>& mark) {
    add_inputs();
    const auto first = static_cast<uint32_t>(rows_.size());
    std::vector<std::set<uint32_t>> needs(graph_.nodes.size());
    partition::for_each_dependency(module_, graph_,
                                   [&](uint32_t from, uint32_t to) { needs[to].insert(from + first); });
    definer_.resize(graph_.values.size(), ir::kNone);
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i)
      for (const ir::ValueId id : graph_.nodes[i].outputs) definer_[id] = first + i;
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      Json row = node_row(graph_.nodes[i], needs[i]);
      if (mark) mark(i, row);
      rows_.push_back(std::move(row));
    }
    add_outputs();
    return std::move(rows_);
  }

 private:
  std::string spec(ir::ValueId id) const {
    const ir::Value& value = graph_.values[id];
    if (value.kind == ir::ValueKind::kInt) return "int " + module_.symbols.format(value.dim);
    if (value.kind != ir::ValueKind::kTensor) return value.kind == ir::ValueKind::kBool ? "bool" : "float";
    return std::string(ops::to_text(value.spec.dtype)) +
           in_brackets(value.spec.sizes, [this](Dim dim) { return module_.symbols.format(dim); });
  }

  std::string text(const ir::Argument& argument) const {
    return std::visit(
        graph::Overloaded{
            [](ir::Nothing) { return std::string("none"); },
            [this](ir::ValueRef ref) { return "%" + names_[ref.id]; },
            [this](const ir::ValueList& list) {
              return in_brackets(list.ids, [this](ir::ValueId id) {
                return id == ir::kNoValue ? "none" : "%" + names_[id];
              });
            },
            [this](Dim dim) { return module_.symbols.format(dim); },
            [](double number) { return fmt::format("{}", number); },
            [](bool flag) { return std::string(flag ? "true" : "false"); },
            [](const std::string& value) { return value; },
            [](ir::Dtype dtype) { return std::string(ops::to_text(dtype)); },
            [](ir::Layout) { return std::string("strided"); },
            [](ir::MemoryFormat format) {
              constexpr const char* kNames[] = {"contiguous", "preserve", "channels last",
                                                "channels last 3d"};
              return std::string(kNames[static_cast<size_t>(format)]);
            },
            [](const ir::Device& device) { return device.name; },
            [this](const ir::Dims& list) {
              return in_brackets(list, [this](Dim dim) { return module_.symbols.format(dim); });
            },
            [](const ir::FloatList& list) {
              return in_brackets(list, [](double number) { return fmt::format("{}", number); });
            },
            [](const ir::BoolList& list) {
              return in_brackets(list, [](bool flag) { return std::string(flag ? "true" : "false"); });
            },
            [](const ir::StringList& list) {
              return in_brackets(list.items, [](const std::string& item) { return item; });
            },
            [this](ir::GraphRef ref) { return "@" + module_.graphs[ref.index].name; },
            [](ir::Complex number) { return fmt::format("{}+{}i", number.real, number.imaginary); }},
        argument);
  }

  void add_inputs() {
    for (const ir::Input& input : graph_.inputs) {
      if (input.kind == ir::InputKind::kUser || input.kind == ir::InputKind::kToken) {
        inputs_[input.value] = static_cast<uint32_t>(rows_.size());
        rows_.push_back({{"op", "input"}, {"name", names_[input.value]}, {"spec", spec(input.value)}});
      } else {
        constants_[input.value] =
            (input.target.empty() ? names_[input.value] : input.target) + " " + spec(input.value);
      }
    }
  }

  Json node_row(const ir::Node& node, const std::set<uint32_t>& nodes) const {
    const ir::Op& op = module_.op(node);
    Json row{{"op", op.name}, {"name", node.outputs.empty() ? "" : names_[node.outputs[0]]}};
    std::string specs;
    for (const ir::ValueId id : node.outputs) specs += (specs.empty() ? "" : ", ") + spec(id);
    row["spec"] = specs;
    std::set<uint32_t> needs = nodes;
    Json constants = Json::array(), attributes = Json::array();
    for (size_t i = 0; i < node.args.size(); ++i) {
      std::string name = std::to_string(i);
      if (op.schema != nullptr && i < op.schema->argument_count())
        name = op.schema->argument(static_cast<uint32_t>(i)).name;
      bool has_values = false;
      ir::for_each_value(node.args[i], [&](ir::ValueId id) {
        has_values = true;
        if (const auto input = inputs_.find(id); input != inputs_.end()) needs.insert(input->second);
        if (const auto constant = constants_.find(id); constant != constants_.end())
          constants.push_back(name + ": " + constant->second);
      });
      const bool is_default = i < op.defaults.size() && node.args[i] == op.defaults[i];
      if (!has_values && !is_default) attributes.push_back({name, text(node.args[i])});
    }
    add_source(node, row);
    if (node.debug_handle != 0) row["handle"] = node.debug_handle;
    row["needs"] = needs;
    if (!constants.empty()) row["constants"] = std::move(constants);
    if (!attributes.empty()) row["attrs"] = std::move(attributes);
    return row;
  }

  void add_source(const ir::Node& node, Json& row) const {
    if (node.source == ir::kNone) return;
    const ir::Source& source = module_.sources[node.source];
    if (!source.module_path.empty()) row["module"] = source.module_path;
    if (!source.module_type.empty()) row["type"] = source.module_type;
    if (!source.file.empty())
      row["source"] = fmt::format("{}:{}{}", source.file, source.line,
                                  source.function.empty() ? "" : " in " + source.function);
  }

  void add_outputs() {
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const ir::Output& output = graph_.outputs[i];
      Json row{{"op", "output"}, {"name", output.target.empty() ? std::to_string(i) : output.target}};
      std::set<uint32_t> needs;
      std::string specs;
      ir::for_each_value(output.value, [&](ir::ValueId id) {
        specs += (specs.empty() ? "" : ", ") + spec(id);
        if (const auto input = inputs_.find(id); input != inputs_.end()) needs.insert(input->second);
        if (definer_[id] != ir::kNone) needs.insert(definer_[id]);
      });
      row["spec"] = specs.empty() ? text(output.value) : specs;
      row["needs"] = needs;
      rows_.push_back(std::move(row));
    }
  }

  const ir::Module& module_;
  const ir::Graph& graph_;
  std::vector<std::string> names_;
  std::map<ir::ValueId, uint32_t> inputs_;        // rows
  std::map<ir::ValueId, std::string> constants_;  // texts
  std::vector<uint32_t> definer_;                 // row of each value
  Json rows_ = Json::array();
};

}  // namespace

Json module_graphs(const ir::Module& module,
                   const std::function<void(uint32_t graph, uint32_t node, Json& row)>& mark) {
  Json graphs = Json::array();
  for (uint32_t g = 0; g < module.graphs.size(); ++g) {
    const std::string& name = module.graphs[g].name;
    const auto mark_node = [&](uint32_t node, Json& row) {
      if (mark) mark(g, node, row);
    };
    graphs.push_back({{"name", g == 0 || name == module.name ? module.name : module.name + " @" + name},
                      {"nodes", GraphRows(module, g).rows(mark_node)}});
  }
  return graphs;
}

Json reported_graphs(std::span<const ir::Module> modules, const partition::Report& report) {
  Json graphs = Json::array();
  uint32_t first = 0;
  for (const ir::Module& module : modules) {
    const Json own = module_graphs(module, [&](uint32_t graph, uint32_t index, Json& row) {
      const partition::ReportNode& node = report.graphs[first + graph].nodes[index];
      if (node.region != partition::kNoRegion) {
        row["region"] = node.region;
        row["plugin"] = report.regions[node.region].plugin;
      }
      Json reasons = Json::array();
      for (const partition::Rejection& rejection : node.rejections)
        reasons.push_back({report.plugins[rejection.compiler], rejection.reason, rejection.text});
      if (!reasons.empty()) row["reasons"] = std::move(reasons);
    });
    first += static_cast<uint32_t>(module.graphs.size());
    graphs.insert(graphs.end(), own.begin(), own.end());
  }
  return graphs;
}

Json graph_part(Json graphs, const std::vector<std::string>& plugins, std::string_view none) {
  Json part = make_part(
      "graph", "Graph",
      "Execution runs from top to bottom. Colours are plugins; reasons are in the boxes of rejected "
      "nodes.");
  part["plugins"] = plugins;
  part["none"] = none;
  part["graphs"] = std::move(graphs);
  return part;
}

}  // namespace etb::pages
