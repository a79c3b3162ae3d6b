// SPDX-License-Identifier: Apache-2.0
// Infers dtype, sizes and strides of an op's results from its arguments. The tables of this folder have one
// row per op. Passes that add nodes depend on them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "partitioner_sdk/infer/call.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::infer {

// The source of the strides of dense results.
enum class ResultLayout : uint8_t {
  kContiguous,  // row-major, for any order of the arguments
  kPointwise,   // the order of the operands, as in PyTorch's TensorIterator
  kLikeFirst,   // channels-last when the first tensor is, else row-major
  kPreserve,    // the first tensor's order, unless the memory_format argument names another
  kDimOrder,    // the order that the dim_order argument names
  kOwn          // the strides that the rule returns
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
// Null if it has neither, and for a null `op`.
const Rule* find_rule(const ops::Schema* op);
const Rule* find_rule(std::string_view op_name);

// The rule of elementwise ops.
extern const Rule kElementwiseRule;

// Replaces the dtypes of the results by those of the op's row in schemas.txt. Fails the call if PyTorch does not
// promote the operands.
void set_dtypes(const Call& call, const ops::ResultRule& rule, Specs& results);

// Returns the specs of a node's results. NOT_IMPLEMENTED: the op has no row. INVALID_DATA: its arguments do
// not fit.
[[nodiscard]] Result<Specs> infer(ir::Module& module, const ir::Graph& graph, ir::OpId op,
                                  std::span<const ir::Argument> args);

// Recomputes the strides of all results for their present inputs, and keeps dtypes and sizes: used once views
// are copies. Results of an op without a row become row-major.
void relayout(ir::Module& module, ir::Graph& graph);

// PyTorch's promotion of two tensors (torch.promote_types), also of complex ones. Returns nullopt when PyTorch
// rejects them.
std::optional<ir::Dtype> promote_dtypes(ir::Dtype a, ir::Dtype b);
// Returns the dtype that PyTorch's promotion chooses for these arguments (torch.result_type); ints and floats
// that are no tensors count least. Returns nullopt when PyTorch rejects them.
std::optional<ir::Dtype> promote_arguments(std::span<const AnyArgument> arguments);
// Returns the sizes after broadcasting; fails the call when they do not match.
ir::Dims broadcast(const Call& call, const ir::Dims& a, const ir::Dims& b);

// Returns strides that show `in` in other sizes without a copy; nullopt when a copy is needed.
std::optional<ir::Dims> try_view(ir::SymbolTable& symbols, const ir::TensorSpec& in, const ir::Dims& sizes);

// Returns the strides of one result.
ir::Dims result_strides(const Call& call, ResultLayout layout, const ir::TensorSpec& out);

// The rows of the file of that name, sorted by op.
std::span<const Rule> fourier_rules();
std::span<const Rule> gathering_rules();
std::span<const Rule> linear_algebra_rules();
std::span<const Rule> pointwise_rules();
std::span<const Rule> reduction_rules();
std::span<const Rule> view_rules();
std::span<const Rule> window_rules();

}  // namespace etb::infer
