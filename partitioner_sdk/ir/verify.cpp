// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/ir/verify.hpp"

namespace etb::ir {

namespace {

std::string where(const Module& module, const Graph& graph, const Node& node) {
  std::string text = "@" + graph.name + ": " + module.op(node).name;
  const std::string at = format_source(module, node.source);
  return at.empty() ? text : text + " (" + at + ")";
}

template <class Visit>
void for_each_node(Module& module, Visit visit) {
  for (Graph& graph : module.graphs) {
    for (Node& node : graph.nodes) visit(graph, node);
  }
}

void check_graphs(Module& module, Findings& findings) {
  if (module.graphs.empty()) findings.push_back("no graph");
  for (size_t i = 0; i < module.graphs.size(); ++i) {
    for (const Node& node : module.graphs[i].nodes) {
      for (const Argument& argument : node.args) {
        const auto* reference = get_if<GraphRef>(argument);
        if (reference != nullptr && (reference->index <= i || reference->index >= module.graphs.size())) {
          findings.push_back(where(module, module.graphs[i], node) + ": subgraph " +
                             std::to_string(reference->index));
        }
      }
    }
  }
}

void check_definitions(Module& module, Findings& findings) {
  for (Graph& graph : module.graphs) {
    std::vector<bool> is_defined(graph.values.size(), false);
    const auto define = [&](ValueId id, const std::string& who) {
      if (id >= graph.values.size()) {
        findings.push_back(who + " defines value " + std::to_string(id) + " of " +
                           std::to_string(graph.values.size()));
      } else if (is_defined[id]) {
        findings.push_back(who + " defines value " + std::to_string(id) + " a second time");
      } else {
        is_defined[id] = true;
      }
    };
    const auto use = [&](const Argument& argument, const std::string& who) {
      for_each_value(argument, [&](ValueId id) {
        if (id >= graph.values.size() || !is_defined[id]) {
          findings.push_back(who + " uses value " + std::to_string(id) + " before its definition");
        }
      });
    };
    for (const Input& input : graph.inputs) define(input.value, "@" + graph.name + " input");
    for (const Node& node : graph.nodes) {
      const size_t before = findings.size();
      for (const Argument& argument : node.args) use(argument, "");
      for (const ValueId id : node.outputs) define(id, "");
      for (size_t i = before; i < findings.size(); ++i)
        findings[i] = where(module, graph, node) + findings[i];
    }
    for (const Output& output : graph.outputs) use(output.value, "@" + graph.name + " output");
  }
}

bool fits_item(const Argument& argument, const ops::Type& type) {
  using ops::BaseType;
  if (get_if<ValueRef>(argument) != nullptr)
    return true;  // tensors and symbolic numbers; is_list was excluded before
  switch (type.base) {
    case BaseType::kTensor:
      // scalars_to_tensors turns a number for a tensor argument into a constant.
    case BaseType::kScalar:
    case BaseType::kComplex:
      return get_if<Dim>(argument) || get_if<double>(argument) || get_if<bool>(argument) ||
             get_if<Complex>(argument);
    case BaseType::kFloat:
      return get_if<double>(argument) || get_if<Dim>(argument);
    case BaseType::kInt:
      return get_if<Dim>(argument) || get_if<Dtype>(argument);
    case BaseType::kBool:
      return get_if<bool>(argument) != nullptr;
    case BaseType::kString:
      return get_if<std::string>(argument) != nullptr;
    case BaseType::kDtype:
      return get_if<Dtype>(argument) != nullptr;
    case BaseType::kLayout:
      return get_if<Layout>(argument) != nullptr;
    case BaseType::kMemoryFormat:
      return get_if<MemoryFormat>(argument) != nullptr;
    case BaseType::kDevice:
      return get_if<Device>(argument) != nullptr;
    case BaseType::kGenerator:
      return false;
  }
  return false;
}

}  // namespace

bool fits(const Argument& argument, const ops::Type& type) {
  using ops::BaseType;
  if (get_if<Nothing>(argument) != nullptr) return type.is_optional;
  if (!type.is_list) return fits_item(argument, type);
  switch (type.base) {
    case BaseType::kTensor: {
      const auto* list = get_if<ValueList>(argument);
      if (list == nullptr) return false;
      for (const ValueId id : list->ids) {
        if (id == kNoValue && !type.has_optional_items) return false;
      }
      return true;
    }
    case BaseType::kFloat:
    case BaseType::kScalar:
      return get_if<FloatList>(argument) || get_if<Dims>(argument);
    case BaseType::kBool:
      return get_if<BoolList>(argument) != nullptr;
    case BaseType::kString:
      return get_if<StringList>(argument) != nullptr;
    default:
      return get_if<Dims>(argument) != nullptr || (type.list_size != 0 && get_if<Dim>(argument) != nullptr);
  }
}

namespace {

void check_arguments(Module& module, Findings& findings) {
  for_each_node(module, [&](const Graph& graph, const Node& node) {
    const ops::Schema* schema = module.op(node).schema;
    if (schema == nullptr) return;
    if (node.args.size() != schema->argument_count()) {
      findings.push_back(where(module, graph, node) + ": " + std::to_string(node.args.size()) +
                         " arguments, its signature has " + std::to_string(schema->argument_count()));
      return;
    }
    for (uint32_t i = 0; i < schema->argument_count(); ++i) {
      const ops::Argument row = schema->argument(i);
      if (!fits(node.args[i], row.type)) {
        findings.push_back(where(module, graph, node) + ": argument '" + std::string(row.name) + "' is " +
                           std::string(kind_name(node.args[i])) + ", its signature says " +
                           std::string(ops::to_text(row.type.base)) + (row.type.is_list ? "[]" : ""));
      }
    }
  });
}

void check_results(Module& module, Findings& findings) {
  for_each_node(module, [&](const Graph& graph, const Node& node) {
    const ops::Schema* schema = module.op(node).schema;
    if (schema == nullptr) return;
    // A list is the last result, and may be empty.
    const uint32_t count = schema->result_count();
    const bool ends_with_list = count > 0 && schema->result(count - 1).type.is_list;
    if (ends_with_list ? node.outputs.size() + 1 < count : node.outputs.size() != count) {
      findings.push_back(where(module, graph, node) + ": " + std::to_string(node.outputs.size()) +
                         " results, its signature has " + std::to_string(schema->result_count()));
    }
  });
}

void check_known_ops(Module& module, Findings& findings) {
  for_each_node(module, [&](const Graph& graph, const Node& node) {
    const Op& op = module.op(node);
    if (op.schema == nullptr && op.name.rfind("higher_order.", 0) != 0) {
      findings.push_back(where(module, graph, node) + ": no signature");
    }
  });
}

void check_specs(Module& module, Findings& findings) {
  for (const Graph& graph : module.graphs) {
    for (size_t i = 0; i < graph.values.size(); ++i) {
      const Value& value = graph.values[i];
      if (value.kind == ValueKind::kTensor && value.spec.sizes.size() != value.spec.strides.size()) {
        findings.push_back("@" + graph.name + " value " + std::to_string(i) + ": " +
                           std::to_string(value.spec.sizes.size()) + " sizes, " +
                           std::to_string(value.spec.strides.size()) + " strides");
      }
    }
  }
}

void check_inputs(Module& module, Findings& findings) {
  for (const Graph& graph : module.graphs) {
    for (const Input& input : graph.inputs) {
      if (input.constant == kNone) continue;
      if (input.constant >= module.constants.size() || input.value >= graph.values.size()) {
        findings.push_back("@" + graph.name + " input '" + input.target + "': constant " +
                           std::to_string(input.constant) + " of " + std::to_string(module.constants.size()));
        continue;
      }
      const Constant& constant = module.constants[input.constant];
      const TensorSpec& spec = graph.values[input.value].spec;
      const Dims sizes(constant.sizes.begin(), constant.sizes.end());
      if (constant.dtype != spec.dtype || sizes != spec.sizes) {
        findings.push_back("@" + graph.name + " input '" + input.target +
                           "' differs from its constant in dtype or sizes");
      }
    }
  }
}

void check_symbols(Module& module, Findings& findings) {
  if (module.symbols.is_beyond_limits()) findings.push_back("a formula is beyond limits");
}

constexpr Rule kRules[] = {
    {"graphs", "there is a method, and a subgraph comes after the graph that names it", check_graphs},
    {"one-definition", "every value is defined once, before its uses", check_definitions},
    {"known-ops", "every op has a signature or is a higher-order op", check_known_ops},
    {"arguments", "arguments are complete, in schema order and of the schema's kinds", check_arguments},
    {"results", "a node has as many results as its signature", check_results},
    {"specs", "a tensor has as many strides as sizes", check_specs},
    {"inputs", "an input has the dtype and sizes of its constant", check_inputs},
    {"symbols", "formulas are within limits", check_symbols},
};

}  // namespace

std::span<const Rule> verifier_rules() { return kRules; }

Status verify(Module& module) {
  std::string message;
  for (const Rule& rule : kRules) {
    Findings findings;
    rule.check(module, findings);
    for (const std::string& finding : findings) {
      message += (message.empty() ? "" : "\n") + std::string(rule.id) + ": " + finding;
    }
    // Later rules rely on the first two.
    if (!findings.empty() && (rule.check == check_graphs || rule.check == check_definitions)) break;
  }
  if (message.empty()) return {};
  return make_error(Code::INTERNAL, "the graph breaks its rules:\n" + message);
}

}  // namespace etb::ir
