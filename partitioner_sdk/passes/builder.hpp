// SPDX-License-Identifier: Apache-2.0
// Writes a graph's nodes anew: what a pass keeps, makes and replaces. Time is linear in the nodes.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "partitioner_sdk/infer/infer.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

using ir::Argument;
using ir::Dim;
using ir::Dims;
using ir::Dtype;
using ir::Nothing;
using ir::TensorSpec;
using ir::ValueId;
using ir::ValueRef;

// Runs `run(graph)`, a Result<bool>, on every graph; whether any of them changed.
template <class Run>
Result<bool> run_on_graphs(ir::Module& module, Run run) {
  bool is_changed = false;
  for (ir::Graph& graph : module.graphs) {
    ETB_ASSIGN(const bool here, run(graph));
    is_changed |= here;
  }
  return is_changed;
}

class Builder {
 public:
  // Takes the nodes out of the graph; finish puts the new ones in.
  Builder(ir::Module& module, ir::Graph& graph);

  std::vector<ir::Node> take_old_nodes() { return std::move(old_nodes_); }

  // The node with replaced values put in.
  void substitute(ir::Node& node) const;
  ValueId current(ValueId value) const { return value < replaced_.size() ? replaced_[value] : value; }
  void keep(ir::Node node) { nodes_.push_back(std::move(node)); }
  // From here on `by` stands for `old`, and takes its name when it has none.
  void replace(ValueId old, ValueId by);
  // New nodes get the source and debug handle of this one.
  void set_origin(const ir::Node& node) {
    source_ = node.source;
    debug_handle_ = node.debug_handle;
  }

  // Adds a node; its results are inferred. Arguments may end before trailing defaults. After an error, values are meaningless
  // and finish returns it.
  ValueId call(std::string_view op, std::vector<Argument> args) {
    return call_all(op, std::move(args)).at(0);
  }
  std::vector<ValueId> call_all(std::string_view op, std::vector<Argument> args);
  // The same with arguments by name behind the positional ones.
  struct Named {
    std::string_view name;
    Argument value;
  };
  ValueId call(std::string_view op, std::vector<Argument> args, std::vector<Named> named) {
    return call_all(op, std::move(args), named).at(0);
  }
  std::vector<ValueId> call_all(std::string_view op, std::vector<Argument> args,
                                const std::vector<Named>& named);

  TensorSpec spec(ValueId value) const { return graph_.values[value].spec; }
  ir::SymbolTable& symbols() const { return module_.symbols; }
  ir::Module& module() const { return module_; }
  ir::Graph& graph() const { return graph_; }

  // A new input of the graph: a row-major constant of the given elements; no sizes for a single one.
  ValueId add_constant(Dtype dtype, std::vector<int64_t> sizes, std::vector<std::byte> elements);

  void fail(Code code, std::string why);
  bool has_failed() const { return !error_.message.empty(); }
  // For a pass that goes on after an error in one node: what it made for the node is left to remove_dead_code.
  Error take_error() { return std::exchange(error_, Error{}); }
  [[nodiscard]] Status finish();

 protected:
  // Lets a pass expand a call instead of adding it; false adds it.
  virtual bool expand(ir::OpId, std::span<const Argument>, std::vector<ValueId>&) { return false; }
  ~Builder() = default;

 private:
  std::vector<Argument> complete(ir::OpId op, std::vector<Argument> args, const std::vector<Named>& named);
  std::vector<ValueId> add(ir::OpId op, std::vector<Argument> args);

  ir::Module& module_;
  ir::Graph& graph_;
  std::vector<ir::Node> old_nodes_;
  std::vector<ir::Node> nodes_;
  std::vector<ValueId> replaced_;
  uint32_t source_ = ir::kNone;
  uint32_t debug_handle_ = 0;
  Error error_;
};

// A Builder that only adds.
class PlainBuilder final : public Builder {
 public:
  using Builder::Builder;
};

}  // namespace etb::passes
