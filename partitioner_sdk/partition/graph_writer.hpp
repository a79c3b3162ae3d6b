// SPDX-License-Identifier: Apache-2.0
// Writes graphs of the compiler into a graph image. Used for whole methods and for regions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/format/graph_builder.hpp"
#include "partitioner_sdk/ir/module.hpp"
#include "partitioner_sdk/partition/constant_keys.hpp"

namespace etb::partition {

// Tables shared by all graphs of one image.
class ImageTables {
 public:
  ImageTables(ir::Module& module, ConstantKeys& keys, graph::Builder& builder)
      : module_(module), keys_(keys), builder_(builder) {}

  ir::Module& module() const { return module_; }
  graph::Builder& builder() const { return builder_; }
  uint32_t spec(const ir::TensorSpec& spec);
  uint32_t expr(ir::Dim dim);
  // Returns the constant's index in the image.
  uint32_t constant(uint32_t index);
  // Returns the spec of a constant of the module: row-major, as images hold its data.
  uint32_t constant_spec(uint32_t index);
  graph::ValueDesc value(const ir::Value& value, std::string name);
  graph::ValueDesc number(ir::Dim dim, std::string name);

 private:
  uint32_t expr(const ir::SymbolTable::Atom& atom);

  ir::Module& module_;
  ConstantKeys& keys_;
  graph::Builder& builder_;
  std::map<uint32_t, uint32_t> symbols_;
  std::map<ir::Dim, uint32_t> exprs_;
  std::map<std::string, uint32_t, std::less<>> constants_;  // by key
};

// Writes one graph. A number that the compiler keeps as a formula becomes nodes that compute it:
// aten.sym_size.int of a tensor of the graph, then executorch_prim.*. Such nodes have no node of the
// compiler.
class GraphWriter {
 public:
  GraphWriter(ImageTables& tables, const ir::Graph& source, graph::GraphBuilder& out,
              const std::vector<std::string>& names)
      : tables_(tables), source_(source), out_(out), names_(names) {}

  // Adds an input that the caller passes at each call.
  void add_user_input(ir::ValueId id);
  // Adds an input of the method, with its properties.
  void add_method_input(const ir::Input& input);
  // Adds an input whose bytes are known ahead of time.
  void add_constant_input(ir::ValueId id, const ir::Input& input);
  // Adds a constant that is no value of this graph (it belongs to a subgraph). Returns its index.
  uint32_t add_lifted_constant(uint32_t constant);
  // As add_lifted_constant, inside the subgraph.
  void add_lifted_input(ir::ValueId id, uint32_t constant);

  // Appends `extra` values to the last list of tensors: operands for the node's subgraphs.
  [[nodiscard]] Status add_node(const ir::Node& node, const std::vector<uint32_t>& extra = {});

  // Returns the value's index in the image.
  uint32_t place(ir::ValueId id) const { return places_.at(id); }
  // By node of the image: index of the compiler's node, kNone for those that only compute a number.
  const std::vector<uint32_t>& nodes() const { return nodes_; }

 private:
  void define(ir::ValueId id, uint32_t place);
  // Returns a name that ir::value_names never creates.
  std::string fresh_name() { return "number-" + std::to_string(next_fresh_++); }
  Result<graph::ArgumentDesc> argument(const ir::Argument& item, const ops::Type* type,
                                       const std::string& name);
  Result<graph::ArgumentDesc> values_argument(const ir::ValueList& list, const std::string& name);
  Result<graph::ArgumentDesc> numbers_argument(const ir::Dims& dims, const std::string& name);
  Result<graph::ArgumentDesc> number_argument(ir::Dim dim, std::string name);
  Result<uint32_t> number(ir::Dim dim);
  Result<uint32_t> symbol(uint32_t symbol);
  Result<uint32_t> atom(const ir::SymbolTable::Atom& atom);
  Result<graph::ArgumentDesc> compute(std::string_view op, ir::Dim dim, graph::ArgumentDesc a,
                                      graph::ArgumentDesc b);

  struct Binder {  // a size that determines the symbol's value
    uint32_t tensor = 0;
    int64_t dim = 0;
    ir::SymbolBinding binding;
  };

  ImageTables& tables_;
  const ir::Graph& source_;
  graph::GraphBuilder& out_;
  const std::vector<std::string>& names_;
  std::unordered_map<ir::ValueId, uint32_t> places_;  // a region has few of a graph's values
  std::vector<uint32_t> nodes_;
  uint32_t next_node_ = 0;
  std::map<ir::Dim, uint32_t> numbers_;
  std::map<uint32_t, Binder> binders_;  // by symbol
  uint32_t next_fresh_ = 0;
};

}  // namespace etb::partition
