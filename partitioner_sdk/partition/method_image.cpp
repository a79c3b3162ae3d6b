// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/method_image.hpp"

#include <algorithm>
#include <set>

#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/ir/updated_input.hpp"

namespace etb::partition {

namespace {

constexpr const char* kProducer = "etbackend compile";

// Returns the constants that subgraphs use, each once.
std::vector<uint32_t> constants_of_subgraphs(const ir::Module& module) {
  std::set<uint32_t> found;
  for (size_t g = 1; g < module.graphs.size(); ++g) {
    for (const ir::Input& input : module.graphs[g].inputs)
      if (input.constant != ir::kNone) found.insert(input.constant);
  }
  return {found.begin(), found.end()};
}

// Writes the graphs of a method.
class MethodWriter {
 public:
  MethodWriter(ir::Module& module, ConstantKeys& keys)
      : module_(module),
        builder_(module.name, kProducer),
        tables_(module, keys, builder_),
        lifted_(constants_of_subgraphs(module)) {}

  Result<MethodImage> run() {
    for (const ir::Graph& graph : module_.graphs) builder_.add_graph(graph.name);
    MethodImage out;
    for (uint32_t g = 0; g < module_.graphs.size(); ++g) {
      auto nodes = write(g);
      if (!nodes)
        return tl::make_unexpected(with_context(std::move(nodes).error(), "@" + module_.graphs[g].name));
      for (const uint32_t node : *nodes) out.nodes.push_back({g, node});
    }
    ETB_ASSIGN(out.image, builder_.finish());
    return out;
  }

 private:
  Result<std::vector<uint32_t>> write(uint32_t index) {
    const ir::Graph& graph = module_.graphs[index];
    graph::GraphBuilder& out = builder_.graph(index);
    const std::vector<std::string> names = ir::value_names(graph);
    GraphWriter writer(tables_, graph, out, names);
    const std::vector<uint32_t> lifted =
        index == 0 ? add_method_inputs(graph, writer) : add_subgraph_inputs(graph, writer);
    for (const ir::Node& node : graph.nodes)
      ETB_TRY(writer.add_node(node, has_subgraphs(node) ? lifted : std::vector<uint32_t>{}));
    ETB_TRY(add_outputs(graph, writer, out));
    return writer.nodes();
  }

  std::vector<uint32_t> add_method_inputs(const ir::Graph& graph, GraphWriter& writer) {
    for (const ir::Input& input : graph.inputs) writer.add_method_input(input);
    input_count_ = static_cast<uint32_t>(graph.inputs.size());
    std::vector<uint32_t> lifted;
    for (const uint32_t constant : lifted_) {
      lifted.push_back(input_count_++);
      writer.add_lifted_constant(constant);
    }
    return lifted;
  }

  std::vector<uint32_t> add_subgraph_inputs(const ir::Graph& graph, GraphWriter& writer) {
    uint32_t count = 0;
    for (const ir::Input& input : graph.inputs) {
      if (input.constant != ir::kNone) continue;
      writer.add_user_input(input.value);
      ++count;
    }
    std::vector<uint32_t> lifted;
    for (const uint32_t constant : lifted_) {
      const auto own = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                    [&](const ir::Input& input) { return input.constant == constant; });
      writer.add_lifted_input(own == graph.inputs.end() ? ir::kNoValue : own->value, constant);
      lifted.push_back(count++);
    }
    return lifted;
  }

  Status add_outputs(const ir::Graph& graph, GraphWriter& writer, graph::GraphBuilder& out) {
    for (const ir::Output& output : graph.outputs) {
      const auto* value = ir::get_if<ir::ValueRef>(output.value);
      if (value == nullptr) continue;  // a literal
      out.add_output(writer.place(value->id), ir::find_updated_input(graph, output));
    }
    return {};
  }

  ir::Module& module_;
  graph::Builder builder_;
  ImageTables tables_;
  std::vector<uint32_t> lifted_;
  uint32_t input_count_ = 0;
};

// Adds the symbols whose value the region needs as a number.
void note_symbols(const ir::Module& module, const ir::Argument& argument, std::set<uint32_t>& out) {
  const auto note = [&](ir::Dim dim) {
    if (dim.is_static()) return;
    for (const uint32_t symbol : module.symbols.symbols_in(dim)) out.insert(symbol);
  };
  if (const auto* dim = ir::get_if<ir::Dim>(argument)) note(*dim);
  if (const auto* dims = ir::get_if<ir::Dims>(argument)) {
    for (const ir::Dim dim : *dims) note(dim);
  }
}

}  // namespace

bool has_subgraphs(const ir::Node& node) {
  return std::any_of(node.args.begin(), node.args.end(), [](const ir::Argument& argument) {
    return ir::get_if<ir::GraphRef>(argument) != nullptr;
  });
}

GraphFacts::GraphFacts(const ir::Module& module, uint32_t graph_index)
    : index(graph_index),
      names(ir::value_names(module.graphs[graph_index])),
      constants(module.graphs[graph_index].values.size(), nullptr),
      definer(module.graphs[graph_index].values.size(), ir::kNone) {
  const ir::Graph& graph = module.graphs[graph_index];
  std::set<std::string_view> written;
  for (const ir::Output& output : graph.outputs)
    if (output.kind == ir::OutputKind::kBufferMutation) written.insert(output.target);
  for (const ir::Input& input : graph.inputs) {
    const bool is_fixed = input.kind != ir::InputKind::kUser && input.kind != ir::InputKind::kToken;
    if (input.constant != ir::kNone && (is_fixed || graph_index != 0) && written.count(input.target) == 0)
      constants[input.value] = &input;
  }
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    for (const ir::ValueId id : graph.nodes[i].outputs) definer[id] = i;
}

std::vector<uint32_t> find_undetermined_nodes(const ir::Module& module, const GraphFacts& facts,
                                              const std::vector<uint32_t>& nodes) {
  const ir::Graph& graph = module.graphs[facts.index];
  std::set<uint32_t> told;
  const auto tell = [&](ir::ValueId id) {
    for (const ir::Dim size : graph.values[id].spec.sizes)
      if (const auto binding = ir::find_binding(module.symbols, size)) told.insert(binding->symbol);
  };
  std::vector<uint32_t> untold;
  for (const uint32_t index : nodes) {
    const ir::Node& node = graph.nodes[index];
    std::set<uint32_t> needed;
    for (const ir::Argument& argument : node.args) {
      ir::for_each_value(argument, tell);
      note_symbols(module, argument, needed);
    }
    if (!std::includes(told.begin(), told.end(), needed.begin(), needed.end())) untold.push_back(index);
    for (const ir::ValueId id : node.outputs) tell(id);
  }
  return untold;
}

Status check_expressible(ir::Module& module) {
  for (const ir::Graph& graph : module.graphs) {
    const std::vector<std::string> names = ir::value_names(graph);
    const auto reject = [&](const std::string& what, const std::string& reason) {
      return make_error(Code::NOT_SUPPORTED, "@" + graph.name + ": " + what + ": " + reason);
    };
    const auto is_dense = [&](ir::ValueId id) {
      const ir::Value& value = graph.values[id];
      return value.kind != ir::ValueKind::kTensor || ir::find_dim_order(module.symbols, value.spec);
    };
    constexpr const char* kNotDense =
        "a view whose elements are not dense, which a graph image cannot describe before views_to_copies";
    for (const ir::Input& input : graph.inputs) {
      const std::string name = "input %" + names[input.value];
      if (input.kind == ir::InputKind::kToken)
        return reject(name, "a token, which a graph image does not have");
      if (input.constant == ir::kNone && !is_dense(input.value)) return reject(name, kNotDense);
    }
    for (const ir::Node& node : graph.nodes) {
      const std::string at = ir::format_source(module, node.source);
      const std::string what = module.op(node).name + (at.empty() ? "" : " (" + at + ")");
      for (const ir::ValueId id : node.outputs)
        if (!is_dense(id)) return reject(what + ", result %" + names[id], kNotDense);
    }
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      const ir::Output& output = graph.outputs[i];
      const std::string what = "output " + std::to_string(i);
      if (ir::get_if<ir::ValueRef>(output.value) == nullptr)
        return reject(what, "is " + std::string(ir::kind_name(output.value)) + ", expected a value");
      if (output.kind != ir::OutputKind::kUser && !ir::find_updated_input(graph, output))
        return reject(what, "updates '" + output.target + "', which is no input");
    }
  }
  return {};
}

Result<MethodImage> make_method_image(ir::Module& module, ConstantKeys& keys) {
  auto made = MethodWriter(module, keys).run();
  if (!made)
    return tl::make_unexpected(
        with_context(std::move(made).error(), "graph image of method '" + module.name + "'"));
  return made;
}

Result<RegionImage> make_region_image(ir::Module& module, const GraphFacts& facts,
                                      const std::vector<uint32_t>& nodes,
                                      const std::function<bool(ir::ValueId)>& is_needed_outside,
                                      ConstantKeys& keys, const std::string& name) {
  const ir::Graph& graph = module.graphs[facts.index];
  RegionImage out;
  std::set<ir::ValueId> known;  // defined inside, or seen as an input
  std::vector<ir::ValueId> fixed;
  for (const uint32_t index : nodes) {
    const ir::Node& node = graph.nodes[index];
    for (const ir::Argument& argument : node.args) {
      ir::for_each_value(argument, [&](ir::ValueId id) {
        if (known.insert(id).second) (facts.constants[id] != nullptr ? fixed : out.operands).push_back(id);
      });
    }
    for (const ir::ValueId id : node.outputs) {
      known.insert(id);
      if (is_needed_outside(id)) out.results.push_back(id);
    }
  }
  graph::Builder builder(name, kProducer);
  ImageTables tables(module, keys, builder);
  graph::GraphBuilder& region = builder.add_graph(name);
  GraphWriter writer(tables, graph, region, facts.names);
  for (const ir::ValueId id : out.operands) writer.add_user_input(id);
  for (const ir::ValueId id : fixed) {
    writer.add_constant_input(id, *facts.constants[id]);
    out.constant_keys.push_back(keys.of(module.constants[facts.constants[id]->constant]).key);
  }
  for (const uint32_t index : nodes) ETB_TRY(writer.add_node(graph.nodes[index]));
  for (const ir::ValueId id : out.results) region.add_output(writer.place(id));
  for (const uint32_t node : writer.nodes()) out.nodes.push_back(node == ir::kNone ? ir::kNone : nodes[node]);
  ETB_ASSIGN(out.image, builder.finish());
  return out;
}

}  // namespace etb::partition
