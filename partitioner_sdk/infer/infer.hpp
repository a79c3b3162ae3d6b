// SPDX-License-Identifier: Apache-2.0
// What an op's results are, from its arguments: dtype, sizes and strides. One row an op in the tables
// of this folder; passes that make nodes rely on it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::infer {

// How the strides of dense results follow from the arguments.
enum class ResultLayout : uint8_t {
  kContiguous,  // row-major, whatever comes in
  kPointwise,   // as PyTorch's TensorIterator: the order of the operands
  kLikeFirst,   // channels-last when the first tensor is, else row-major
  kPreserve,    // the first tensor's order, unless the memory_format argument says another
  kDimOrder,    // what the dim_order argument says
  kOwn          // the rule gives the strides
};

// The arguments of a node. Accessors never fail: a wrong argument is noted, and infer returns it as its error.
class Call {
 public:
  Call(ir::Module& module, const ir::Graph& graph, ir::OpId op, std::span<const ir::Argument> args)
      : module_(module), graph_(graph), op_(module.op(op)), args_(args) {}

  ir::SymbolTable& symbols() const { return module_.symbols; }
  const ir::Op& op() const { return op_; }
  size_t argument_count() const { return args_.size(); }
  const ir::Argument& argument(size_t index) const { return args_[index]; }
  std::span<const ir::Argument> arguments() const { return args_; }
  bool has(size_t index) const {
    return index < args_.size() && ir::get_if<ir::Nothing>(args_[index]) == nullptr;
  }

  const ir::TensorSpec& tensor(size_t index) const;
  // The tensor, or null when the argument is something else.
  const ir::TensorSpec* find_tensor(size_t index) const;
  std::vector<const ir::TensorSpec*> tensors(size_t index) const;
  ir::Dim dim(size_t index) const;
  int64_t integer(size_t index) const;  // a number known now
  ir::Dims dims(size_t index) const;    // one number stands for a list of one; none for an empty list
  bool flag(size_t index) const;
  std::optional<ir::Dtype> dtype(size_t index) const;
  std::optional<ir::MemoryFormat> memory_format(size_t index) const;
  // A dimension, counted from the end when negative, of `rank` ones.
  size_t axis(int64_t dim, size_t rank) const;
  // The dimensions that argument `index` names; all when it is none or empty.
  std::vector<bool> axes(size_t index, size_t rank) const;

  void fail(std::string why) const {
    if (error_.empty()) error_ = std::move(why);
  }
  const std::string& error() const { return error_; }

 private:
  ir::Module& module_;
  const ir::Graph& graph_;
  const ir::Op& op_;
  std::span<const ir::Argument> args_;
  mutable std::string error_;
};

using Specs = std::vector<ir::TensorSpec>;

struct Rule {
  std::string_view name;
  Specs (*shape)(const Call& call);  // strides may be left empty unless kOwn
  ResultLayout layout;
};

// The row for an op, null when there is none.
const Rule* find_rule(std::string_view op_name);

// Specs of a node's results. NOT_IMPLEMENTED when the op has no row; INVALID_DATA when its arguments do not fit.
[[nodiscard]] Result<Specs> infer(ir::Module& module, const ir::Graph& graph, ir::OpId op,
                                  std::span<const ir::Argument> args);

// Recomputes the strides of all results for their present inputs, keeping dtypes and sizes: what holds once views are copies.
// An op without a row gives row-major results.
void relayout(ir::Module& module, ir::Graph& graph);

// The dtype that PyTorch's promotion gives for these arguments (torch.result_type); ints and floats that are no tensors count
// least. nullopt when PyTorch refuses.
std::optional<ir::Dtype> promote_arguments(const Call& call, std::span<const size_t> indices);
// Sizes after broadcasting; fails the call when they do not fit.
ir::Dims broadcast(const Call& call, const ir::Dims& a, const ir::Dims& b);

// Strides with which `in` can be seen in other sizes without a copy; nullopt when it cannot.
std::optional<ir::Dims> try_view(ir::SymbolTable& symbols, const ir::TensorSpec& in, const ir::Dims& sizes);

// The strides of one result.
ir::Dims result_strides(const Call& call, ResultLayout layout, const ir::TensorSpec& out);

// The rows of the file of that name, sorted by op.
std::span<const Rule> gathering_rules();
std::span<const Rule> pointwise_rules();
std::span<const Rule> reduction_rules();
std::span<const Rule> view_rules();
std::span<const Rule> window_rules();

}  // namespace etb::infer
