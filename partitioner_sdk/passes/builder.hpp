// SPDX-License-Identifier: Apache-2.0
// Rewrites the nodes of a graph: a pass keeps, adds and replaces them. Time is linear in the number of nodes.
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

// Runs `run(graph)`, a Result<bool>, on every graph; true when any of them changed.
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
  // Moves the nodes out of the graph; finish stores the new ones.
  Builder(ir::Module& module, ir::Graph& graph);

  std::vector<ir::Node> take_old_nodes() { return std::move(old_nodes_); }

  // Replaces the arguments of the node that were replaced so far.
  void substitute(ir::Node& node) const;
  ValueId current(ValueId value) const { return value < replaced_.size() ? replaced_[value] : value; }
  void keep(ir::Node node) { nodes_.push_back(std::move(node)); }
  // Replaces `old` by `by` in all later nodes; `by` inherits the name when it has none.
  void replace(ValueId old, ValueId by);
  // New nodes get the source and debug handle of this node.
  void set_origin(const ir::Node& node) {
    source_ = node.source;
    debug_handle_ = node.debug_handle;
  }

  // Adds a node and infers its results. Trailing arguments with defaults may be omitted. After an error,
  // values are meaningless and finish returns the error.
  ValueId call(std::string_view op, std::vector<Argument> args) {
    return call_all(op, std::move(args)).at(0);
  }
  std::vector<ValueId> call_all(std::string_view op, std::vector<Argument> args);
  // The same, with named arguments after the positional ones.
  struct Named {
    std::string_view name;
    Argument value;
  };
  ValueId call(std::string_view op, std::vector<Argument> args, std::vector<Named> named) {
    return call_all(op, std::move(args), named).at(0);
  }
  std::vector<ValueId> call_all(std::string_view op, std::vector<Argument> args,
                                const std::vector<Named>& named);
  // Adds a node with results of these specs, row-major: for ops whose sizes depend on data, where no rule can infer them.
  std::vector<ValueId> call_sized(std::string_view op, std::vector<Argument> args,
                                  std::vector<TensorSpec> results);
  // The results that the exporter declares for the node that is decomposed; empty for a call that another
  // decomposition makes.
  std::span<const ValueId> declared() const { return declared_; }

  TensorSpec spec(ValueId value) const { return graph_.values[value].spec; }
  ir::SymbolTable& symbols() const { return module_.symbols; }
  ir::Module& module() const { return module_; }
  ir::Graph& graph() const { return graph_; }

  // Adds an input of the graph: a row-major constant with the given elements; `sizes` is empty for a 0-d
  // tensor.
  ValueId add_constant(Dtype dtype, std::vector<int64_t> sizes, std::vector<std::byte> elements);

  // Sets the largest value of a symbol.
  void set_bound(uint32_t symbol, int64_t max) {
    has_new_bounds_ = true;
    symbols().set_max(symbol, max);
  }
  bool has_new_bounds() const { return has_new_bounds_; }

  void fail(Code code, std::string why);
  bool has_failed() const { return !error_.message.empty(); }
  // For a pass that continues after an error in one node: remove_dead_code removes the nodes added for it.
  Error take_error() { return std::exchange(error_, Error{}); }
  [[nodiscard]] Status finish();

 protected:
  // Lets a pass expand a call instead of adding a node; false adds the node.
  virtual bool expand(ir::OpId, std::span<const Argument>, std::vector<ValueId>&) { return false; }
  // Adds a call whose results' specs are known, which also serves ops without a rule of inference.
  std::vector<ValueId> add_declared(ir::OpId op, std::vector<Argument> args,
                                    std::span<const TensorSpec> specs);
  void set_declared(std::vector<ValueId> results) { declared_ = std::move(results); }
  ~Builder() = default;

 private:
  std::vector<Argument> complete(ir::OpId op, std::vector<Argument> args, const std::vector<Named>& named);
  std::vector<ValueId> add(ir::OpId op, std::vector<Argument> args);

  ir::Module& module_;
  ir::Graph& graph_;
  std::vector<ir::Node> old_nodes_;
  std::vector<ir::Node> nodes_;
  std::vector<ValueId> replaced_;
  std::vector<ValueId> declared_;
  uint32_t source_ = ir::kNone;
  uint32_t debug_handle_ = 0;
  bool has_new_bounds_ = false;
  Error error_;
};

// A Builder without expansion.
class PlainBuilder final : public Builder {
 public:
  using Builder::Builder;
};

}  // namespace etb::passes
