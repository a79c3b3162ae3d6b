// SPDX-License-Identifier: Apache-2.0
#include "api/format/graph_builder.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "api/format/digest.hpp"
#include "api/format/graph_verifier.hpp"
#include "api/format/graph_writer.hpp"
#include "etb/cpp/graph_view.hpp"

namespace etb::graph {
namespace {

ArgumentDesc make_arg(uint32_t kind, std::string name) {
  ArgumentDesc arg;
  arg.kind = kind;
  arg.name = std::move(name);
  return arg;
}

bool is_identity(const std::vector<uint8_t>& dim_order) {
  for (size_t i = 0; i < dim_order.size(); ++i) {
    if (dim_order[i] != i) return false;
  }
  return true;
}

// Returns 0 for a spec without a size, which the verifier reports.
uint64_t nbytes_of(const SpecDesc& desc) {
  etb_graph_spec spec = {};
  spec.dtype = static_cast<uint32_t>(desc.dtype);
  spec.rank = static_cast<uint32_t>(std::min<size_t>(desc.sizes.size(), ETB_MAX_RANK));
  std::copy_n(desc.sizes.begin(), spec.rank, spec.sizes);
  return static_cast<uint64_t>(std::max<int64_t>(etb_graph_spec_nbytes(&spec), 0));
}

}  // namespace

ImageBytes::ImageBytes(std::span<const uint8_t> copied)
    : blocks_((copied.size() + ETB_GRAPH_ALIGNMENT - 1) / ETB_GRAPH_ALIGNMENT), nbytes_(copied.size()) {
  if (!copied.empty()) std::memcpy(blocks_.data(), copied.data(), copied.size());
}

std::span<const uint8_t> ImageBytes::span() const {
  return {reinterpret_cast<const uint8_t*>(blocks_.data()), nbytes_};
}

etb_graph_image ImageBytes::to_c() const {
  return {ETB_INIT_SIZE(etb_graph_image), 0, {span().data(), nbytes_}};
}

ValueDesc tensor(std::string name, uint32_t spec) {
  ValueDesc value;
  value.name = std::move(name);
  value.spec = spec;
  return value;
}

ValueDesc sym_int(std::string name, std::optional<uint32_t> expr) {
  ValueDesc value;
  value.name = std::move(name);
  value.kind = ETB_GRAPH_VALUE_SYM_INT;
  value.expr = expr;
  return value;
}

ArgumentDesc none_arg(std::string name) { return make_arg(ETB_GRAPH_ARGUMENT_NONE, std::move(name)); }

ArgumentDesc value_arg(uint32_t value, std::string name) {
  ArgumentDesc arg = make_arg(ETB_GRAPH_ARGUMENT_VALUE, std::move(name));
  arg.value = value;
  return arg;
}

ArgumentDesc values_arg(std::vector<uint32_t> values, std::string name) {
  ArgumentDesc arg = make_arg(ETB_GRAPH_ARGUMENT_VALUES, std::move(name));
  arg.values = std::move(values);
  return arg;
}

ArgumentDesc int_arg(int64_t value, std::string name) {
  return code_arg(ETB_GRAPH_ARGUMENT_INT, value, std::move(name));
}

ArgumentDesc float_arg(double value, std::string name) {
  ArgumentDesc arg = make_arg(ETB_GRAPH_ARGUMENT_FLOAT, std::move(name));
  arg.as_float = value;
  return arg;
}

ArgumentDesc bool_arg(bool value, std::string name) {
  return code_arg(ETB_GRAPH_ARGUMENT_BOOL, value ? 1 : 0, std::move(name));
}

ArgumentDesc string_arg(std::string text, std::string name) {
  ArgumentDesc arg = make_arg(ETB_GRAPH_ARGUMENT_STRING, std::move(name));
  arg.text = std::move(text);
  return arg;
}

ArgumentDesc device_arg(std::string text, std::string name) {
  ArgumentDesc arg = make_arg(ETB_GRAPH_ARGUMENT_DEVICE, std::move(name));
  arg.text = std::move(text);
  return arg;
}

ArgumentDesc code_arg(uint32_t kind, int64_t code, std::string name) {
  ArgumentDesc arg = make_arg(kind, std::move(name));
  arg.as_int = code;
  return arg;
}

ArgumentDesc ints_arg(std::vector<int64_t> ints, std::string name) {
  ArgumentDesc arg = make_arg(ETB_GRAPH_ARGUMENT_INTS, std::move(name));
  arg.ints = std::move(ints);
  return arg;
}

ArgumentDesc floats_arg(std::vector<double> floats, std::string name) {
  ArgumentDesc arg = make_arg(ETB_GRAPH_ARGUMENT_FLOATS, std::move(name));
  arg.floats = std::move(floats);
  return arg;
}

ArgumentDesc bools_arg(std::vector<int64_t> bools, std::string name) {
  ArgumentDesc arg = make_arg(ETB_GRAPH_ARGUMENT_BOOLS, std::move(name));
  arg.ints = std::move(bools);
  return arg;
}

ArgumentDesc strings_arg(std::vector<std::string> strings, std::string name) {
  ArgumentDesc arg = make_arg(ETB_GRAPH_ARGUMENT_STRINGS, std::move(name));
  arg.strings = std::move(strings);
  return arg;
}

ArgumentDesc sym_ints_arg(std::vector<uint32_t> values, std::vector<int64_t> ints, std::string name) {
  const bool has_value =
      std::any_of(values.begin(), values.end(), [](uint32_t value) { return value != ETB_GRAPH_NONE; });
  if (!has_value) return ints_arg(std::move(ints), std::move(name));
  ArgumentDesc arg = make_arg(ETB_GRAPH_ARGUMENT_SYM_INTS, std::move(name));
  arg.values = std::move(values);
  arg.ints = std::move(ints);
  return arg;
}

ArgumentDesc complex_arg(double real, double imaginary, std::string name) {
  ArgumentDesc arg = make_arg(ETB_GRAPH_ARGUMENT_COMPLEX, std::move(name));
  arg.floats = {real, imaginary};
  return arg;
}

ArgumentDesc graph_arg(uint32_t graph, std::string name) {
  return code_arg(ETB_GRAPH_ARGUMENT_GRAPH, graph, std::move(name));
}

ArgumentDesc copy_argument(const Argument& argument) {
  const auto make = Overloaded{[](arg::None) { return none_arg(); },
                               [](arg::Value value) { return value_arg(value.index); },
                               [](const arg::Values& values) {
                                 return values_arg({values.begin(), values.end()});
                               },
                               [](int64_t value) { return int_arg(value); },
                               [](double value) { return float_arg(value); },
                               [](bool value) { return bool_arg(value); },
                               [](std::string_view text) { return string_arg(std::string(text)); },
                               [](arg::Device device) { return device_arg(std::string(device.name)); },
                               [](const arg::Ints& ints) {
                                 return ints_arg({ints.begin(), ints.end()});
                               },
                               [](const arg::Floats& floats) {
                                 return floats_arg({floats.begin(), floats.end()});
                               },
                               [](const arg::Bools& bools) {
                                 return bools_arg({bools.begin(), bools.end()});
                               },
                               [](const arg::Strings& texts) {
                                 return strings_arg({texts.begin(), texts.end()});
                               },
                               [](const arg::SymInts& items) {
                                 return sym_ints_arg({items.values.begin(), items.values.end()},
                                                     {items.ints.begin(), items.ints.end()});
                               },
                               [](arg::Complex number) { return complex_arg(number.real, number.imaginary); },
                               [](arg::Graph graph) { return graph_arg(graph.index); },
                               [&](const auto& code) { return code_arg(argument.kind(), code.code); }};
  ArgumentDesc copy = argument.visit(make);
  copy.name = argument.name();
  return copy;
}

uint32_t GraphBuilder::add_input(ValueDesc value, uint32_t kind, std::string target,
                                 std::optional<uint32_t> constant) {
  inputs_.push_back({std::move(value), kind, std::move(target), constant});
  return value_count_++;
}

uint32_t GraphBuilder::add_node(NodeDesc node) {
  const uint32_t first = value_count_;
  value_count_ += static_cast<uint32_t>(node.outputs.size());
  const auto is_single = [](int32_t length) { return length == -1; };
  if (std::all_of(node.result_lengths.begin(), node.result_lengths.end(), is_single)) {
    node.result_lengths.clear();
  }
  if (node.source == SourceDesc{}) node.source.reset();
  nodes_.push_back(std::move(node));
  return first;
}

void GraphBuilder::add_output(uint32_t value, std::optional<uint32_t> updates) {
  outputs_.push_back({value, updates});
}

Builder::Builder(std::string method_name, std::string producer)
    : name_(std::move(method_name)), producer_(std::move(producer)) {}

uint32_t Builder::add_symbol(SymbolDesc symbol) {
  symbols_.push_back(std::move(symbol));
  return static_cast<uint32_t>(symbols_.size() - 1);
}

uint32_t Builder::add_spec(SpecDesc spec) {
  if (is_identity(spec.dim_order)) spec.dim_order.clear();
  const auto [row, is_new] = spec_numbers_.try_emplace(spec, static_cast<uint32_t>(specs_.size()));
  if (is_new) specs_.push_back(std::move(spec));
  return row->second;
}

uint32_t Builder::add_quant(QuantDesc quant) {
  quants_.push_back(std::move(quant));
  return static_cast<uint32_t>(quants_.size() - 1);
}

uint32_t Builder::add_int_expr(int64_t value) { return intern({ETB_GRAPH_EXPR_INT, value, 0, 0}); }

uint32_t Builder::add_symbol_expr(uint32_t symbol) { return intern({ETB_GRAPH_EXPR_SYMBOL, symbol, 0, 0}); }

uint32_t Builder::add_expr(uint32_t kind, uint32_t left, uint32_t right) {
  return intern({kind, 0, left, right});
}

uint32_t Builder::intern(const Expr& expr) {
  const auto [row, is_new] = expr_numbers_.try_emplace(expr, static_cast<uint32_t>(exprs_.size()));
  if (is_new) exprs_.push_back(expr);
  return row->second;
}

uint32_t Builder::add_constant(ConstantDesc constant) {
  if (!constant.digest) constant.digest = constant.data ? format::sha256(*constant.data) : Digest{};
  if (!constant.nbytes) constant.nbytes = nbytes_of(specs_.at(constant.spec));
  constants_.push_back(std::move(constant));
  return static_cast<uint32_t>(constants_.size() - 1);
}

GraphBuilder& Builder::add_graph(std::string name) {
  const auto index = static_cast<uint32_t>(graphs_.size());
  graphs_.push_back(std::unique_ptr<GraphBuilder>(new GraphBuilder(index, std::move(name))));
  return *graphs_.back();
}

ImageBytes Builder::finish_unverified() const { return ImageWriter(*this).write(); }

Result<ImageBytes> Builder::finish() const {
  ImageBytes image = finish_unverified();
  ETB_TRY(verify_graph_image(image.span()));
  return image;
}

}  // namespace etb::graph
