// SPDX-License-Identifier: Apache-2.0
// What an op's results are, from its arguments: dtype, sizes and strides. One row an op in the tables
// of this folder; passes that make nodes rely on it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "partitioner_sdk/infer/call.hpp"
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

using Specs = std::vector<ir::TensorSpec>;

// Sizes and layout of an op's results. Their dtypes follow from the op's row in schemas.txt.
struct Rule {
  std::string_view name;             // "" for the rule that all elementwise ops share
  Specs (*shape)(const Call& call);  // strides may be left empty unless kOwn; dtypes are replaced
  ResultLayout layout;
};

// The row of the op whose arguments `View` names (api/ops/argument_reader.hpp).
template <template <class> class View, Specs (*kShape)(const View<Call>&)>
constexpr Rule row(ResultLayout layout) {
  return {View<Call>::kName, [](const Call& call) { return kShape(View<Call>(call)); }, layout};
}

// Returns the rule for an op: its row, or the elementwise rule if its row in schemas.txt has sizes=broadcast(...).
// Null if it has neither.
const Rule* find_rule(std::string_view op_name);

// The rule of elementwise ops.
extern const Rule kElementwiseRule;

// Replaces the dtypes of the results by those of the op's row in schemas.txt. Fails the call if PyTorch does not
// promote the operands.
void set_dtypes(const Call& call, const ops::ResultRule& rule, Specs& results);

// Specs of a node's results. NOT_IMPLEMENTED when the op has no row; INVALID_DATA when its arguments do not fit.
[[nodiscard]] Result<Specs> infer(ir::Module& module, const ir::Graph& graph, ir::OpId op,
                                  std::span<const ir::Argument> args);

// Recomputes the strides of all results for their present inputs, keeping dtypes and sizes: what holds once views are copies.
// An op without a row gives row-major results.
void relayout(ir::Module& module, ir::Graph& graph);

// The dtype that PyTorch's promotion gives for these arguments (torch.result_type); ints and floats that are no tensors count
// least. nullopt when PyTorch refuses.
std::optional<ir::Dtype> promote_arguments(std::span<const AnyArgument> arguments);
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
