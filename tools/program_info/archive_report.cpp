// SPDX-License-Identifier: Apache-2.0
#include "tools/program_info/archive_report.hpp"

#include <algorithm>
#include <map>

#include "api/format/printable_text.hpp"
#include "tools/program_info/quantised_layers.hpp"
#include "tools/quantity.hpp"

namespace etb::tools {

namespace {

using Json = nlohmann::ordered_json;

const char* to_text(ir::ValueKind kind) {
  switch (kind) {
    case ir::ValueKind::kTensor:
      return "tensor";
    case ir::ValueKind::kInt:
      return "int";
    case ir::ValueKind::kFloat:
      return "double";
    case ir::ValueKind::kBool:
      break;
  }
  return "bool";
}

Json report_value(const ir::Module& module, ir::ValueId id) {
  const ir::Value& value = module.main().values[id];
  Json json{{"kind", to_text(value.kind)}, {"name", value.name}};
  if (value.kind != ir::ValueKind::kTensor) return json;
  json["dtype"] = ops::to_text(value.spec.dtype);
  Json sizes = Json::array();
  for (const ir::Dim& size : value.spec.sizes) sizes.push_back(module.symbols.format(size));
  json["sizes"] = std::move(sizes);
  return json;
}

Json report_inputs(const ir::Module& module) {
  Json list = Json::array();
  for (const ir::Input& input : module.main().inputs)
    if (input.kind == ir::InputKind::kUser) list.push_back(report_value(module, input.value));
  for (const ir::FixedInput& fixed : module.fixed_inputs) {
    const auto at = list.begin() + static_cast<ptrdiff_t>(std::min<size_t>(fixed.position, list.size()));
    list.insert(at, Json{{"kind", "fixed"}});
  }
  return list;
}

Json report_outputs(const ir::Module& module) {
  Json list = Json::array();
  for (const ir::Output& output : module.main().outputs) {
    if (output.kind != ir::OutputKind::kUser) continue;
    const auto* value = ir::get_if<ir::ValueRef>(output.value);
    list.push_back(value != nullptr ? report_value(module, value->id) : Json{{"kind", "fixed"}});
  }
  return list;
}

// Sorted by use, most used first.
Json report_operators(const ir::Module& module) {
  std::map<std::string, uint64_t> calls;
  for (const ir::Graph& graph : module.graphs)
    for (const ir::Node& node : graph.nodes) ++calls[module.op(node).name];
  std::vector<std::pair<std::string, uint64_t>> sorted(calls.begin(), calls.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  Json list = Json::array();
  for (const auto& [name, count] : sorted) list.push_back({{"name", name}, {"calls", count}});
  return list;
}

// Layers with weights. Text has them only for models with a quantised one.
Json report_layers(const ir::Module& module) {
  Json list = Json::array();
  for (const QuantisedLayer& layer : quantised_layers(module))
    list.push_back({{"name", layer.name},
                    {"op", layer.op},
                    {"weights", layer.weights},
                    {"input", layer.input},
                    {"quantised", layer.is_quantised}});
  return list;
}

std::string shown(const Json& text) { return format::made_printable(text.get_ref<const std::string&>()); }

std::string format_value(const Json& value) {
  if (value["kind"] != "tensor") return value["kind"].get<std::string>();
  std::string sizes;
  for (const Json& size : value["sizes"]) sizes += (sizes.empty() ? "" : ",") + shown(size);
  return value["dtype"].get<std::string>() + " [" + sizes + "], " + shown(value["name"]);
}

std::string format_layers(const Json& layers) {
  size_t count = 0, longest = 0;
  for (const Json& layer : layers) {
    count += layer["quantised"].get<bool>() ? 1 : 0;
    longest = std::max(longest, shown(layer["name"]).size());
  }
  if (count == 0) return "";
  std::string text =
      "  quantised: " + std::to_string(count) + " of " + count_of(layers.size(), "layer") + " with weights\n";
  for (const Json& layer : layers) {
    std::string name = shown(layer["name"]);
    name.resize(longest, ' ');
    text += "    " + name + "  " + shown(layer["op"]) + ": weights " + layer["weights"].get<std::string>();
    if (!layer["input"].get_ref<const std::string&>().empty())
      text += "; input " + layer["input"].get<std::string>();
    text += "\n";
  }
  return text;
}

}  // namespace

Json report_archive(const ir::Module& module, const std::string& path, uint64_t nbytes) {
  uint64_t node_count = 0, weight_nbytes = 0;
  for (const ir::Graph& graph : module.graphs) node_count += graph.nodes.size();
  for (const ir::Constant& constant : module.constants) weight_nbytes += constant.nbytes();
  return {{"file", path},
          {"kind", "archive"},
          {"nbytes", nbytes},
          {"nodes", node_count},
          {"inputs", report_inputs(module)},
          {"outputs", report_outputs(module)},
          {"operators", report_operators(module)},
          {"weights", {{"count", module.constants.size()}, {"nbytes", weight_nbytes}}},
          {"layers", report_layers(module)}};
}

std::string format_archive_report(const Json& report) {
  std::string text = shown(report["file"]) + ": archive of torch.export, " +
                     nbytes_text(report["nbytes"].get<uint64_t>()) + "\n";
  for (const char* list : {"inputs", "outputs"}) {
    size_t index = 0;
    for (const Json& value : report[list])
      text += "  " + std::string(list, std::string(list).size() - 1) + " " + std::to_string(index++) + ": " +
              format_value(value) + "\n";
  }
  text += "  graph: " + count_of(report["nodes"].get<uint64_t>(), "node") + "\n";
  for (const Json& op : report["operators"])
    text += "    " + op["calls"].dump() + " x " + shown(op["name"]) + "\n";
  const Json& weights = report["weights"];
  text += "  weights: " + count_of(weights["count"].get<uint64_t>(), "tensor") + ", " +
          nbytes_text(weights["nbytes"].get<uint64_t>()) + "\n";
  return text + format_layers(report["layers"]);
}

}  // namespace etb::tools
