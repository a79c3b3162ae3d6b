// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/mutable_graph.hpp"

#include <functional>
#include <map>
#include <set>

#include "api/format/digest.hpp"

namespace etb::conformance {
namespace {

using graph::SpecDesc;

Result<SpecDesc> read_spec(const graph::View& view, const etb_graph_spec& spec) {
  SpecDesc out;
  out.dtype = static_cast<int32_t>(spec.dtype);
  out.sizes.assign(spec.sizes, spec.sizes + spec.rank);
  for (uint32_t i = 0; i < spec.rank; ++i) {
    if ((spec.dynamic_dims >> i & 1) == 0) continue;
    const bool is_symbol = spec.sizes[i] >= 0 && spec.exprs[i] != graph::kNone &&
                           view.expr(spec.exprs[i]).kind == ETB_GRAPH_EXPR_SYMBOL;
    if (!is_symbol) return make_error(Code::NOT_SUPPORTED, "case graph: a dynamic size that is no symbol");
    out.dynamic_dims.push_back({i, spec.min_sizes[i], static_cast<uint32_t>(view.expr(spec.exprs[i]).value)});
  }
  bool is_row_major = true;
  for (uint32_t i = 0; i < spec.rank; ++i) is_row_major = is_row_major && spec.dim_order[i] == i;
  if (!is_row_major) out.dim_order.assign(spec.dim_order, spec.dim_order + spec.rank);
  return out;
}

Result<MutableGraph::Input> read_input(const graph::View& view, uint32_t index,
                                       const FindConstant& find_constant) {
  const graph::Graph method = view.method();
  const etb_graph_input input = method.input(index);
  const graph::Value value = method.value(index);
  if (input.updated_by != graph::kNone || !value.is_tensor())
    return make_error(Code::NOT_SUPPORTED, "case graph: an input that is a state or no tensor");
  MutableGraph::Input out;
  out.name = value.name();
  ETB_ASSIGN(out.spec, read_spec(view, value.spec()));
  if (input.constant == graph::kNone) return out;
  const etb_graph_constant constant = view.constant(input.constant);
  const auto* data = static_cast<const uint8_t*>(constant.data);
  if (data == nullptr && constant.nbytes != 0) {
    const std::span<const std::byte> found =
        find_constant ? find_constant(constant.key) : std::span<const std::byte>();
    if (found.size() != constant.nbytes)
      return make_error(Code::NOT_SUPPORTED, "case graph: a constant outside the image");
    data = reinterpret_cast<const uint8_t*>(found.data());
  }
  out.constant.emplace(data, data + (data != nullptr ? constant.nbytes : 0));
  return out;
}

// Calls `visit` for each operand of a node.
void each_operand(MutableGraph::Node& node, const std::function<void(uint32_t&)>& visit) {
  for (graph::ArgumentDesc& arg : node.args) graph::for_each_value(arg, visit);
}

// Returns a quantisation that no op can take for none: the scale is not 1, the zero point not 0.
graph::QuantDesc coarse_codes() {
  graph::QuantDesc quant;
  quant.quant_min = -128;
  quant.quant_max = 127;
  quant.scale = 0.375;
  quant.zero_point = 5;
  return quant;
}

}  // namespace

uint32_t MutableGraph::value_count() const { return first_result(nodes.size()); }

uint32_t MutableGraph::first_result(size_t node) const {
  auto number = static_cast<uint32_t>(inputs.size());
  for (size_t i = 0; i < node; ++i) number += static_cast<uint32_t>(nodes[i].results.size());
  return number;
}

SpecDesc& MutableGraph::spec_of(uint32_t value) {
  if (value < inputs.size()) return inputs[value].spec;
  size_t at = value - inputs.size();
  for (Node& node : nodes) {
    if (at < node.results.size()) return node.results[at];
    at -= node.results.size();
  }
  return inputs.at(0).spec;  // no such value: graphs come from verified images
}
const SpecDesc& MutableGraph::spec_of(uint32_t value) const {
  return const_cast<MutableGraph*>(this)->spec_of(value);
}

Result<MutableGraph> read_mutable_graph(const graph::ImageBytes& image, const FindConstant& find_constant) {
  ETB_ASSIGN(const graph::View view, graph::View::open(image.span()));
  if (view.graph_count() != 1) return make_error(Code::NOT_SUPPORTED, "case graph: control flow");
  const graph::Graph method = view.method();
  MutableGraph out;
  for (uint32_t i = 0; i < view.c().symbols.count; ++i) {
    const etb_graph_symbol symbol = view.symbol(i);
    out.symbols.push_back({symbol.name, symbol.min, symbol.max,
                           symbol.has_hint != 0 ? std::optional<int64_t>(symbol.hint) : std::nullopt});
  }
  for (uint32_t i = 0; i < method.inputs().size(); ++i) {
    ETB_ASSIGN(MutableGraph::Input input, read_input(view, i, find_constant));
    out.inputs.push_back(std::move(input));
  }
  for (const graph::Node& node : method.nodes()) {
    MutableGraph::Node& made = out.nodes.emplace_back();
    made.op = std::string(node.op_name());
    made.debug_handle = node.debug_handle();
    for (const int32_t length : node.result_lengths()) made.result_lengths.push_back(length);
    for (const graph::Argument& argument : node.args()) made.args.push_back(graph::copy_argument(argument));
    for (const graph::Value& value : node.results()) {
      if (!value.is_tensor())
        return make_error(Code::NOT_SUPPORTED, "case graph: a result that is no tensor");
      ETB_ASSIGN(SpecDesc spec, read_spec(view, value.spec()));
      made.results.push_back(std::move(spec));
    }
  }
  for (const etb_graph_output& output : method.outputs()) out.outputs.push_back(output.value);
  return out;
}

Result<graph::ImageBytes> write_image(const MutableGraph& graph) {
  graph::Builder builder("forward", "conformance");
  graph::GraphBuilder& target = builder.add_graph("forward");
  std::vector<uint32_t> exprs;
  for (const graph::SymbolDesc& symbol : graph.symbols)
    exprs.push_back(builder.add_symbol_expr(builder.add_symbol(symbol)));
  const auto add_spec = [&](SpecDesc spec) {
    for (SpecDesc::DynamicDim& dim : spec.dynamic_dims) dim.expr = exprs.at(dim.expr.value_or(0));
    return builder.add_spec(spec);
  };
  const auto make_value = [&](std::string name, const SpecDesc& spec, uint32_t number) {
    graph::ValueDesc value = graph::tensor(std::move(name), add_spec(spec));
    if (graph.quantised == number) value.quant = builder.add_quant(coarse_codes());
    return value;
  };
  uint32_t number = 0;
  for (; number < graph.inputs.size(); ++number) {
    const MutableGraph::Input& input = graph.inputs[number];
    const graph::ValueDesc value = make_value(input.name, input.spec, number);
    if (!input.constant) {
      target.add_input(value);
      continue;
    }
    graph::ConstantDesc constant;
    constant.key = input.name;
    constant.spec = value.spec;
    if (graph.has_outside_constants)
      constant.digest = format::sha256(*input.constant);
    else
      constant.data = *input.constant;
    target.add_input(value, ETB_GRAPH_INPUT_PARAMETER, input.name, builder.add_constant(constant));
  }
  for (const MutableGraph::Node& node : graph.nodes) {
    graph::NodeDesc made;
    made.op = node.op;
    made.args = node.args;
    made.result_lengths = node.result_lengths;
    made.debug_handle = node.debug_handle;
    for (const SpecDesc& spec : node.results) {
      made.outputs.push_back(make_value(graph.result_names + std::to_string(number), spec, number));
      ++number;
    }
    target.add_node(made);
  }
  for (const uint32_t output : graph.outputs) target.add_output(output);
  return builder.finish();
}

MutableGraph slice(const MutableGraph& graph, size_t first, size_t last, std::vector<uint32_t>& out_taken) {
  MutableGraph out;
  out.symbols = graph.symbols;
  out_taken.clear();
  const uint32_t begin = graph.first_result(first), end = graph.first_result(last);
  out.nodes.assign(graph.nodes.begin() + static_cast<long>(first),
                   graph.nodes.begin() + static_cast<long>(last));
  std::set<uint32_t> taken;
  for (MutableGraph::Node& node : out.nodes)
    each_operand(node, [&](uint32_t& value) {
      if (value < begin) taken.insert(value);
    });
  std::map<uint32_t, uint32_t> numbers;
  for (const uint32_t value : taken) {
    numbers[value] = static_cast<uint32_t>(out.inputs.size());
    if (value < graph.inputs.size())
      out.inputs.push_back(graph.inputs[value]);
    else
      out.inputs.push_back({"v" + std::to_string(value), graph.spec_of(value), std::nullopt});
    out_taken.push_back(value);
  }
  const auto renumbered = [&](uint32_t value) {
    return value < begin ? numbers.at(value) : value - begin + static_cast<uint32_t>(out.inputs.size());
  };
  for (MutableGraph::Node& node : out.nodes)
    each_operand(node, [&](uint32_t& value) { value = renumbered(value); });
  // Collects the results that later nodes read.
  std::set<uint32_t> wanted;
  for (size_t i = last; i < graph.nodes.size(); ++i) {
    MutableGraph::Node node = graph.nodes[i];
    each_operand(node, [&](uint32_t& value) {
      if (value >= begin && value < end) wanted.insert(value);
    });
  }
  for (const uint32_t output : graph.outputs)
    if (output >= begin && output < end) wanted.insert(output);
  for (const uint32_t value : wanted) out.outputs.push_back(renumbered(value));
  return out;
}

}  // namespace etb::conformance
