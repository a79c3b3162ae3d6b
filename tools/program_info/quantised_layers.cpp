// SPDX-License-Identifier: Apache-2.0
#include "tools/program_info/quantised_layers.hpp"

#include <bit>
#include <optional>
#include <string_view>

namespace etb::tools {

namespace {

// An op with weights, and the names of its arguments.
struct LayerOp {
  std::string_view prefix, input, weights;
};
constexpr LayerOp kLayerOps[] = {
    {"aten.linear.", "input", "weight"},
    {"aten.conv1d.", "input", "weight"},
    {"aten.conv2d.", "input", "weight"},
    {"aten.conv3d.", "input", "weight"},
    {"aten.convolution.", "input", "weight"},
    {"aten.conv_transpose1d.", "input", "weight"},
    {"aten.conv_transpose2d.", "input", "weight"},
    {"aten.conv_transpose3d.", "input", "weight"},
    {"aten.addmm.", "mat1", "mat2"},
    {"aten.mm.", "self", "mat2"},
    {"aten.matmul.", "self", "other"},
    {"aten.embedding.", "", "weight"},
};
// Ops that change no number.
constexpr std::string_view kMoves[] = {
    "aten.t.",       "aten.transpose.", "aten.permute.", "aten.view.",      "aten.reshape.",
    "aten.clone.",   "aten.detach.",    "aten.alias.",   "aten.unsqueeze.", "aten.squeeze.",
    "aten.flatten.", "aten._to_copy.",  "aten.to.",      "aten.contiguous."};

class GraphReader {
 public:
  GraphReader(const ir::Module& module, const ir::Graph& graph)
      : module_(module),
        graph_(graph),
        makers_(graph.values.size(), nullptr),
        is_fixed_(graph.values.size(), false) {
    for (const ir::Node& node : graph.nodes)
      for (const ir::ValueId id : node.outputs) makers_[id] = &node;
    for (const ir::Input& input : graph.inputs) is_fixed_[input.value] = input.kind != ir::InputKind::kUser;
  }

  std::optional<QuantisedLayer> read(const ir::Node& node) const {
    const std::string& name = module_.op(node).name;
    for (const LayerOp& op : kLayerOps) {
      if (!name.starts_with(op.prefix)) continue;
      const auto weights = value_of(node, op.weights);
      if (!weights || !is_known(*weights)) return std::nullopt;
      QuantisedLayer out;
      out.op = name;
      out.weights = describe(*weights, false);
      if (node.source != ir::kNone) out.name = module_.sources[node.source].module_path;
      if (out.name.empty() && !node.outputs.empty()) out.name = graph_.values[node.outputs[0]].name;
      out.is_quantised = is_quantised(*weights);
      if (const auto input = value_of(node, op.input)) {
        out.input = describe(*input, true);
        out.is_quantised = out.is_quantised || is_quantised(*input);
      }
      return out;
    }
    return std::nullopt;
  }

 private:
  const ir::Argument* find(const ir::Node& node, std::string_view name) const {
    const ops::Schema* schema = module_.op(node).schema;
    const int index = schema != nullptr ? schema->find_argument(name) : -1;
    return index >= 0 && static_cast<size_t>(index) < node.args.size()
               ? &node.args[static_cast<size_t>(index)]
               : nullptr;
  }
  std::optional<ir::ValueId> value_of(const ir::Node& node, std::string_view name) const {
    const ir::Argument* argument = find(node, name);
    const auto* value = argument != nullptr ? ir::get_if<ir::ValueRef>(*argument) : nullptr;
    return value != nullptr ? std::optional(value->id) : std::nullopt;
  }
  std::optional<int64_t> integer_of(const ir::Node& node, std::string_view name) const {
    const ir::Argument* argument = find(node, name);
    if (argument == nullptr) return std::nullopt;
    if (const auto* dim = ir::get_if<ir::Dim>(*argument); dim != nullptr && dim->is_static())
      return dim->value();
    if (const auto* number = std::get_if<double>(argument)) return static_cast<int64_t>(*number);
    return std::nullopt;
  }

  // Returns the node that computes the numbers of a value, behind moves; null for an input.
  const ir::Node* maker_of(ir::ValueId id, ir::ValueId* moved = nullptr) const {
    const ir::Node* node = makers_[id];
    while (node != nullptr) {
      const std::string& name = module_.op(*node).name;
      bool is_move = false;
      for (const std::string_view prefix : kMoves) is_move = is_move || name.starts_with(prefix);
      const auto* operand =
          is_move && !node->args.empty() ? ir::get_if<ir::ValueRef>(node->args[0]) : nullptr;
      if (operand == nullptr) break;
      id = operand->id;
      node = makers_[id];
    }
    if (moved != nullptr) *moved = id;
    return node;
  }
  bool is_dequantise(const ir::Node* node) const {
    return node != nullptr && module_.op(*node).name.find(".dequantize_") != std::string::npos;
  }
  bool is_quantised(ir::ValueId id) const { return is_dequantise(maker_of(id)); }
  // True for parameters, buffers and constants, also behind moves and dequantize nodes.
  bool is_known(ir::ValueId id) const {
    ir::ValueId moved = id;
    const ir::Node* node = maker_of(id, &moved);
    if (node == nullptr) return is_fixed_[moved];
    const auto* codes = is_dequantise(node) ? ir::get_if<ir::ValueRef>(node->args[0]) : nullptr;
    return codes != nullptr && is_known(codes->id);
  }

  // "int8", or "int4" for codes of 4 bits that are stored in more.
  std::string codes_text(const ir::Node& node) const {
    const auto* codes = ir::get_if<ir::ValueRef>(node.args[0]);
    const ops::Dtype dtype = codes != nullptr ? graph_.values[codes->id].spec.dtype : ops::Dtype::INT8;
    const auto low = integer_of(node, "quant_min"), high = integer_of(node, "quant_max");
    if (!low || !high || *high <= *low) return std::string(ops::to_text(dtype));
    const auto bits = std::bit_width(static_cast<uint64_t>(*high - *low));
    return (*low < 0 ? "int" : "uint") + std::to_string(bits);
  }
  // Sizes of the blocks that share a scale, as words.
  std::string blocks_text(const ir::Node& node, bool is_input) const {
    const std::string& name = module_.op(node).name;
    if (name.find("_per_channel_group") != std::string::npos)
      return " in groups of " + std::to_string(integer_of(node, "group_size").value_or(0));
    if (name.find("_per_channel") != std::string::npos) return " per channel";
    if (name.find("_per_token") != std::string::npos) return " per token";
    const ir::Argument* argument = find(node, "block_size");
    const auto* blocks = argument != nullptr ? ir::get_if<ir::Dims>(*argument) : nullptr;
    const auto* codes = ir::get_if<ir::ValueRef>(node.args[0]);
    if (blocks == nullptr || codes == nullptr) return " per tensor";
    const ir::TensorSpec& spec = graph_.values[codes->id].spec;
    bool is_whole = true;
    for (size_t i = 0; i < blocks->size() && i < spec.sizes.size(); ++i) {
      const bool is_single = (*blocks)[i].is_static() && (*blocks)[i].value() == 1;
      if ((*blocks)[i] == spec.sizes[i]) continue;
      if (!is_single && (*blocks)[i].is_static())
        return " in groups of " + std::to_string((*blocks)[i].value());
      is_whole = false;
    }
    return is_whole ? " per tensor" : is_input ? " per token" : " per channel";
  }
  // Scales that a run computes are dynamic.
  bool is_dynamic(const ir::Node& node) const {
    for (const char* name : {"scale", "scales"})
      if (const auto scale = value_of(node, name)) return !is_known(*scale);
    return false;
  }
  std::string describe(ir::ValueId id, bool is_input) const {
    const ir::Node* node = maker_of(id);
    if (!is_dequantise(node)) return std::string(ops::to_text(graph_.values[id].spec.dtype));
    std::string text = codes_text(*node) + blocks_text(*node, is_input);
    if (is_input) text += is_dynamic(*node) ? ", dynamic" : ", static";
    return text;
  }

  const ir::Module& module_;
  const ir::Graph& graph_;
  std::vector<const ir::Node*> makers_;
  std::vector<bool> is_fixed_;
};

}  // namespace

std::vector<QuantisedLayer> quantised_layers(const ir::Module& module) {
  std::vector<QuantisedLayer> out;
  for (const ir::Graph& graph : module.graphs) {
    const GraphReader reader(module, graph);
    for (const ir::Node& node : graph.nodes)
      if (auto layer = reader.read(node)) out.push_back(std::move(*layer));
  }
  return out;
}

}  // namespace etb::tools
