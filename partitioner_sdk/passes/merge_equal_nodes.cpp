// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/passes.hpp"

#include <cstring>
#include <string>
#include <unordered_map>

#include "partitioner_sdk/passes/builder.hpp"
#include "partitioner_sdk/passes/purity.hpp"

namespace etb::passes {

namespace {

template <class T>
void append(std::string& key, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  key.append(bytes, sizeof(T));
}

void append_dim(ir::SymbolTable& symbols, std::string& key, Dim dim) {
  if (dim.is_static()) {
    key += '#';
    append(key, dim.value());
  } else {
    key += symbols.format(dim) + ';';
  }
}

// The key of an argument, equal only for equal arguments. An int and a float differ, because they promote
// differently.
void append_argument(ir::SymbolTable& symbols, std::string& key, const Argument& argument) {
  key += static_cast<char>('A' + argument.index());
  if (const auto* ref = ir::get_if<ValueRef>(argument)) append(key, ref->id);
  if (const auto* list = ir::get_if<ir::ValueList>(argument)) {
    append(key, list->ids.size());
    for (const ValueId id : list->ids) append(key, id);
  }
  if (const auto* dim = ir::get_if<Dim>(argument)) append_dim(symbols, key, *dim);
  if (const auto* dims = ir::get_if<Dims>(argument)) {
    append(key, dims->size());
    for (const Dim dim : *dims) append_dim(symbols, key, dim);
  }
  if (const auto* value = ir::get_if<double>(argument)) append(key, *value);
  if (const auto* value = ir::get_if<bool>(argument)) append(key, *value);
  if (const auto* value = ir::get_if<std::string>(argument)) key += *value + '\0';
  if (const auto* value = ir::get_if<Dtype>(argument)) append(key, *value);
  if (const auto* value = ir::get_if<ir::MemoryFormat>(argument)) append(key, *value);
  if (const auto* value = ir::get_if<ir::Complex>(argument)) {
    append(key, value->real);
    append(key, value->imaginary);
  }
  if (const auto* value = ir::get_if<ir::FloatList>(argument)) {
    append(key, value->size());
    for (const double item : *value) append(key, item);
  }
  if (const auto* value = ir::get_if<ir::BoolList>(argument)) {
    append(key, value->size());
    for (const bool item : *value) append(key, item);
  }
}

// Arguments about a tensor's creation repeat its spec: the graph has one device and one layout, and an absent
// dtype is the result's.
bool is_told_by_spec(const ir::Graph& graph, const ir::Node& node, std::string_view name,
                     const Argument& argument) {
  if (name == "layout" || name == "device" || name == "pin_memory") return true;
  if (name != "dtype") return false;
  const auto* dtype = ir::get_if<Dtype>(argument);
  if (dtype != nullptr) return *dtype == graph.values[node.outputs[0]].spec.dtype;
  return argument == Argument(ir::Nothing{});
}

void append_node(ir::Module& module, const ir::Graph& graph, std::string& key, const ir::Node& node) {
  append(key, node.op);
  append(key, graph.values[node.outputs[0]].spec.dtype);
  const ops::Schema& schema = *module.op(node).schema;
  for (uint32_t i = 0; i < node.args.size(); ++i)
    if (!is_told_by_spec(graph, node, schema.argument(i).name, node.args[i]))
      append_argument(module.symbols, key, node.args[i]);
}

Result<bool> merge(ir::Module& module, ir::Graph& graph) {
  PlainBuilder b(module, graph);
  std::unordered_map<std::string, std::vector<ValueId>> seen;
  bool is_changed = false;
  std::string key;
  for (ir::Node& node : b.take_old_nodes()) {
    b.substitute(node);
    if (!is_pure(module, graph, node)) {
      b.keep(std::move(node));
      continue;
    }
    key.clear();
    append_node(module, graph, key, node);
    const auto [found, is_new] = seen.emplace(key, node.outputs);
    if (is_new) {
      b.keep(std::move(node));
      continue;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) b.replace(node.outputs[i], found->second[i]);
    is_changed = true;
  }
  ETB_TRY(b.finish());
  return is_changed;
}

}  // namespace

Result<bool> merge_equal_nodes(ir::Module& module) {
  return run_on_graphs(module, [&](ir::Graph& graph) { return merge(module, graph); });
}

}  // namespace etb::passes
