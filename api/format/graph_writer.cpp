// SPDX-License-Identifier: Apache-2.0
#include "api/format/graph_writer.hpp"

#include <cstring>

namespace etb::graph {
namespace {

template <class T>
flatbuffers::Optional<T> to_fb(const std::optional<T>& value) {
  return value ? flatbuffers::Optional<T>(*value) : flatbuffers::nullopt;
}

template <class T>
void append_key(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Two quantisations with equal keys are equal, bit by bit.
std::string to_key(const QuantDesc& quant) {
  std::string key;
  append_key(key, quant.scheme);
  append_key(key, quant.expressed_dtype);
  append_key(key, quant.quant_min);
  append_key(key, quant.quant_max);
  append_key(key, quant.scale);
  append_key(key, quant.zero_point);
  append_key(key, quant.axis);
  append_key(key, quant.scales.value_or(ETB_GRAPH_NONE));
  append_key(key, quant.zero_points.value_or(ETB_GRAPH_NONE));
  append_key(key, quant.block_sizes.size());
  for (const int64_t size : quant.block_sizes) append_key(key, size);
  append_key(key, quant.codec.size());
  key += quant.codec;
  key.append(quant.codec_data.begin(), quant.codec_data.end());
  return key;
}

}  // namespace

ImageWriter::ImageWriter(const Builder& builder)
    : builder_(builder),
      spec_numbers_(builder.specs_.size(), ETB_GRAPH_NONE),
      expr_numbers_(builder.exprs_.size(), ETB_GRAPH_NONE) {
  string("");
}

ImageBytes ImageWriter::write() {
  const uint32_t name = string(builder_.name_);
  const uint32_t producer = string(builder_.producer_);
  std::vector<uint32_t> features;
  for (const std::string& feature : builder_.features_) features.push_back(string(feature));
  write_symbols();
  write_constants();
  uint32_t first_node_id = 0;
  for (const auto& graph : builder_.graphs_) {
    write_graph(*graph, first_node_id);
    first_node_id += static_cast<uint32_t>(graph->nodes_.size());
  }

  // Leaves out an empty list, so that there is only one encoding of it.
  const auto list = [this](const auto& items) {
    using Element = typename std::decay_t<decltype(items)>::value_type;
    return items.empty() ? flatbuffers::Offset<flatbuffers::Vector<Element>>() : fbb_.CreateVector(items);
  };
  std::vector<Offset<flatbuffers::String>> strings;
  for (const std::string_view text : strings_) strings.push_back(fbb_.CreateString(text.data(), text.size()));
  const auto fb_features = list(features);
  const auto fb_strings = list(strings);
  const auto fb_symbols = list(symbols_);
  const auto fb_exprs = list(exprs_);
  const auto fb_specs = list(specs_);
  const auto fb_quants = list(quants_);
  const auto fb_constants = list(constants_);
  const auto fb_ops = list(ops_);
  const auto fb_sources = list(sources_);
  const auto fb_graphs = list(graphs_);
  fb::FinishImageBuffer(
      fbb_, fb::CreateImage(fbb_, ETB_GRAPH_VERSION, name, producer, fb_features, fb_strings, fb_symbols,
                            fb_exprs, fb_specs, fb_quants, fb_constants, fb_ops, fb_sources, fb_graphs));
  return ImageBytes({fbb_.GetBufferPointer(), fbb_.GetSize()});
}

uint32_t ImageWriter::string(std::string_view text) {
  const auto [row, is_new] = string_numbers_.try_emplace(text, static_cast<uint32_t>(strings_.size()));
  if (is_new) strings_.push_back(text);
  return row->second;
}

uint32_t ImageWriter::op(std::string_view name) {
  const uint32_t name_string = string(name);
  const auto [row, is_new] = op_numbers_.try_emplace(name_string, static_cast<uint32_t>(ops_.size()));
  if (is_new) ops_.push_back(fb::CreateOp(fbb_, name_string));
  return row->second;
}

uint32_t ImageWriter::spec(uint32_t desc) {
  if (desc >= spec_numbers_.size()) return desc;  // an error of the caller, which the verifier reports
  if (spec_numbers_[desc] != ETB_GRAPH_NONE) return spec_numbers_[desc];
  const SpecDesc& spec = builder_.specs_[desc];
  std::vector<Offset<fb::DynamicDim>> dims;
  for (const SpecDesc::DynamicDim& dim : spec.dynamic_dims) {
    const std::optional<uint32_t> dim_expr = dim.expr ? std::optional(expr(*dim.expr)) : std::nullopt;
    dims.push_back(fb::CreateDynamicDim(fbb_, dim.dim, dim.min, to_fb(dim_expr)));
  }
  const auto sizes = spec.sizes.empty() ? 0 : fbb_.CreateVector(spec.sizes);
  const auto dim_order = spec.dim_order.empty() ? 0 : fbb_.CreateVector(spec.dim_order);
  const auto dynamic_dims = dims.empty() ? 0 : fbb_.CreateVector(dims);
  specs_.push_back(
      fb::CreateTensorSpec(fbb_, static_cast<uint8_t>(spec.dtype), sizes, dim_order, dynamic_dims));
  return spec_numbers_[desc] = static_cast<uint32_t>(specs_.size() - 1);
}

uint32_t ImageWriter::expr(uint32_t desc) {
  if (desc >= expr_numbers_.size()) return desc;
  if (expr_numbers_[desc] != ETB_GRAPH_NONE) return expr_numbers_[desc];
  const Builder::Expr& term = builder_.exprs_[desc];
  const bool is_leaf = term.kind == ETB_GRAPH_EXPR_INT || term.kind == ETB_GRAPH_EXPR_SYMBOL;
  // Terms are added before the terms that use them. So a forward reference is an error and stays unchanged.
  const uint32_t left = is_leaf || term.left >= desc ? term.left : expr(term.left);
  const uint32_t right = is_leaf || term.right >= desc ? term.right : expr(term.right);
  exprs_.push_back(fb::CreateExpr(fbb_, static_cast<fb::ExprKind>(term.kind), term.value, left, right));
  return expr_numbers_[desc] = static_cast<uint32_t>(exprs_.size() - 1);
}

uint32_t ImageWriter::quant(uint32_t desc) {
  if (desc >= builder_.quants_.size()) return desc;
  const QuantDesc& quant = builder_.quants_[desc];
  const auto [row, is_new] = quant_numbers_.try_emplace(to_key(quant), static_cast<uint32_t>(quants_.size()));
  if (!is_new) return row->second;
  const auto blocks = quant.block_sizes.empty() ? 0 : fbb_.CreateVector(quant.block_sizes);
  const auto codec_data = quant.codec_data.empty() ? 0 : fbb_.CreateVector(quant.codec_data);
  quants_.push_back(fb::CreateQuantization(
      fbb_, static_cast<fb::QuantScheme>(quant.scheme), static_cast<uint8_t>(quant.expressed_dtype),
      quant.quant_min, quant.quant_max, quant.scale, quant.zero_point, quant.axis, blocks,
      to_fb(quant.scales), to_fb(quant.zero_points), string(quant.codec), codec_data));
  return row->second;
}

uint32_t ImageWriter::source(const SourceDesc& desc) {
  const std::array<uint32_t, 4> key = {string(desc.file), desc.line, string(desc.function),
                                       string(desc.module)};
  const auto [row, is_new] = source_numbers_.try_emplace(key, static_cast<uint32_t>(sources_.size()));
  if (is_new) sources_.push_back(fb::CreateSource(fbb_, key[0], key[1], key[2], key[3]));
  return row->second;
}

void ImageWriter::write_symbols() {
  for (const SymbolDesc& symbol : builder_.symbols_) {
    symbols_.push_back(
        fb::CreateSymbol(fbb_, string(symbol.name), symbol.min, symbol.max, to_fb(symbol.hint)));
  }
}

void ImageWriter::write_constants() {
  for (const ConstantDesc& constant : builder_.constants_) {
    const uint32_t key = string(constant.key);
    const uint32_t constant_spec = spec(constant.spec);
    const auto digest = fbb_.CreateVector(constant.digest->data(), constant.digest->size());
    flatbuffers::Offset<flatbuffers::Vector<uint8_t>> data;
    if (constant.data) {
      fbb_.ForceVectorAlignment(constant.data->size(), 1, ETB_GRAPH_ALIGNMENT);
      data = fbb_.CreateVector(*constant.data);
    }
    constants_.push_back(fb::CreateConstant(fbb_, key, constant_spec, *constant.nbytes, digest, data));
  }
}

void ImageWriter::write_graph(const GraphBuilder& graph, uint32_t first_node_id) {
  const uint32_t name = string(graph.name_);
  std::vector<Offset<fb::Value>> values;
  std::vector<Offset<fb::Input>> inputs;
  std::vector<flatbuffers::Optional<uint32_t>> updated_by(graph.inputs_.size(), flatbuffers::nullopt);
  for (size_t i = 0; i < graph.outputs_.size(); ++i) {
    const std::optional<uint32_t> updates = graph.outputs_[i].updates;
    if (updates && *updates < updated_by.size()) updated_by[*updates] = static_cast<uint32_t>(i);
  }
  for (size_t i = 0; i < graph.inputs_.size(); ++i) {
    const auto& input = graph.inputs_[i];
    values.push_back(write_value(input.value));
    inputs.push_back(fb::CreateInput(fbb_, static_cast<fb::InputKind>(input.kind), string(input.target),
                                     to_fb(input.constant), updated_by[i]));
  }
  std::vector<Offset<fb::Node>> nodes;
  for (const NodeDesc& node : graph.nodes_) {
    nodes.push_back(write_node(node, static_cast<uint32_t>(values.size())));
    for (const ValueDesc& value : node.outputs) values.push_back(write_value(value));
  }
  std::vector<Offset<fb::Output>> outputs;
  for (const auto& output : graph.outputs_) {
    outputs.push_back(fb::CreateOutput(fbb_, output.value, to_fb(output.updates)));
  }
  const auto fb_inputs = inputs.empty() ? 0 : fbb_.CreateVector(inputs);
  const auto fb_outputs = outputs.empty() ? 0 : fbb_.CreateVector(outputs);
  const auto fb_values = values.empty() ? 0 : fbb_.CreateVector(values);
  const auto fb_nodes = nodes.empty() ? 0 : fbb_.CreateVector(nodes);
  graphs_.push_back(fb::CreateGraph(fbb_, name, first_node_id, fb_inputs, fb_outputs, fb_values, fb_nodes));
}

flatbuffers::Offset<fb::Node> ImageWriter::write_node(const NodeDesc& node, uint32_t first_output) {
  const uint32_t op_number = op(node.op);
  std::vector<Offset<fb::Argument>> args;
  args.reserve(node.args.size());
  for (const ArgumentDesc& arg : node.args) args.push_back(write_argument(arg));
  const auto fb_args = args.empty() ? 0 : fbb_.CreateVector(args);
  const auto lengths = node.result_lengths.empty() ? 0 : fbb_.CreateVector(node.result_lengths);
  flatbuffers::Optional<uint32_t> node_source = flatbuffers::nullopt;
  if (node.source) node_source = source(*node.source);
  return fb::CreateNode(fbb_, op_number, fb_args, first_output, static_cast<uint32_t>(node.outputs.size()),
                        lengths, node.debug_handle, node_source);
}

flatbuffers::Offset<fb::Argument> ImageWriter::write_argument(const ArgumentDesc& arg) {
  const uint32_t name = string(arg.name);
  const bool is_text = arg.kind == ETB_GRAPH_ARGUMENT_STRING || arg.kind == ETB_GRAPH_ARGUMENT_DEVICE;
  const int64_t as_int = is_text ? string(arg.text) : arg.as_int;
  std::vector<int64_t> ints = arg.ints;
  for (const std::string& text : arg.strings) ints.push_back(string(text));
  const auto fb_values = arg.values.empty() ? 0 : fbb_.CreateVector(arg.values);
  const auto fb_ints = ints.empty() ? 0 : fbb_.CreateVector(ints);
  const auto fb_floats = arg.floats.empty() ? 0 : fbb_.CreateVector(arg.floats);
  fb::ArgumentBuilder table(fbb_);
  table.add_int_(as_int);
  // -0.0 equals the default but has other bits. FlatBuffers would leave it out.
  if (uint64_t bits = 0; std::memcpy(&bits, &arg.as_float, sizeof(bits)), bits != 0) {
    fbb_.ForceDefaults(true);
    table.add_float_(arg.as_float);
    fbb_.ForceDefaults(false);
  }
  table.add_value(arg.value);
  table.add_name(name);
  table.add_values(fb_values);
  table.add_ints(fb_ints);
  table.add_floats(fb_floats);
  table.add_kind(static_cast<fb::ArgumentKind>(arg.kind));
  return table.Finish();
}

flatbuffers::Offset<fb::Value> ImageWriter::write_value(const ValueDesc& value) {
  const uint32_t name = string(value.name);
  const bool is_tensor = value.kind == ETB_GRAPH_VALUE_TENSOR;
  const uint32_t value_spec = is_tensor ? spec(value.spec) : 0;
  flatbuffers::Optional<uint32_t> value_quant = flatbuffers::nullopt;
  if (value.quant) value_quant = quant(*value.quant);
  flatbuffers::Optional<uint32_t> value_expr = flatbuffers::nullopt;
  if (value.expr) value_expr = expr(*value.expr);
  return fb::CreateValue(fbb_, name, static_cast<fb::ValueKind>(value.kind), value_spec, value_quant,
                         value_expr, value.min, value.max, value.alias_of,
                         static_cast<fb::AliasKind>(value.alias));
}

}  // namespace etb::graph
