// SPDX-License-Identifier: Apache-2.0
// Rows of ops, and functions shared by the files of this folder. A file lowers one op, or ops under one rule, and ends
// with its rows.
#pragma once

#include <string_view>

#include "plugins/xnnpack/compile/lowering_context.hpp"
#include "plugins/xnnpack/compile/op.hpp"

namespace etb::xnnpack {

inline constexpr uint32_t kFlagKeepDims = 0x40;       // reduced dimensions stay as 1
inline constexpr uint32_t kFlagTransposeWeights = 1;  // FullyConnected: the filter is [inputs, outputs]
// BatchMatrixMultiply: the second factor is [..., columns, rows].
inline constexpr uint32_t kFlagTransposeB = 1;

// ---- Rows

// Type of a lowering function's second parameter.
template <class Arguments>
Arguments arguments_of(Status (*)(LoweringContext&, Arguments));

template <template <class> class View, auto kFunction>
Status run_lowering(LoweringContext& context) {
  using Arguments = decltype(arguments_of(kFunction));
  using OwnArguments = View<NodeArguments>;
  if constexpr (requires { Arguments::kArgumentNames; }) {
    static_assert(std::string_view(Arguments::kArgumentNames) == OwnArguments::kArgumentNames);
    static_assert(std::string_view(Arguments::kLetters) == OwnArguments::kLetters);  // their types
  }
  return kFunction(context, Arguments(OwnArguments(context.node(), OwnArguments::kArgumentNames)));
}

// The row of the op whose arguments `View` names: op_row<ops::roll_default, lower_roll>({.min_rank = 1}).
// The function takes this view, a view of an op with the same arguments, or a struct made from a view.
template <template <class> class View, auto kFunction>
constexpr Op op_row(OpRules rules = {}) {
  return Op{rules, View<NodeArguments>::kName, run_lowering<View, kFunction>};
}

// ---- Nodes of a payload; results have their dimensions in storage order.

uint32_t add_unary(XnnGraphBuilder& builder, XnnOperator op, uint32_t input);
// Adds a conversion of float16 to float32. Returns any other value itself.
uint32_t add_widened(XnnGraphBuilder& builder, uint32_t input);
uint32_t add_binary(XnnGraphBuilder& builder, XnnOperator op, uint32_t left, uint32_t right, Extents extents);
// Adds a product with a number of at least 1, in steps that the value's type represents: the number itself may be
// infinite in float16.
uint32_t add_multiple(XnnGraphBuilder& builder, uint32_t input, double factor);
// Adds means over dimensions 1 and 2 of a value of rank 4; both stay as 1.
uint32_t add_mean(XnnGraphBuilder& builder, uint32_t input);
// Adds a slice of `count` elements from `from` on, along storage dimension `axis`.
uint32_t add_slice(XnnGraphBuilder& builder, uint32_t id, uint32_t axis, uint32_t from, uint32_t count);

// ---- Lowerings shared by several ops.

// Lowers to one operator of `input`.
[[nodiscard]] Status lower_unary(LoweringContext& context, XnnOperator op,
                                 const NodeArguments::Tensor& input);
[[nodiscard]] Status lower_reciprocal(LoweringContext& context, SelfArgument args);
// Makes the result an alias of `input`.
[[nodiscard]] Status define_alias(LoweringContext& context, uint32_t input);
// Returns the elements in storage order with the sizes `to`; an alias where no transpose is needed.
[[nodiscard]] Result<LoweredValue> view_of(LoweringContext& context, uint32_t value, const Extents& to);

// Rejects scales of a resize of [N, C, H, W] that do not multiply the sizes `in` exactly to `to`. PyTorch computes
// positions from scale_factors if present, XNNPACK from the ratio of sizes. Both must agree.
[[nodiscard]] Status check_scales(const std::vector<double>& scales, const std::vector<int64_t>& in,
                                  const std::vector<int64_t>& to);

// A factor of a product: [..., rows, columns], stored as [..., columns, rows] if is_transposed.
struct Matrix {
  uint32_t id = kXnnNoValue;
  bool is_transposed = false;
};
// Returns `value` without transposing its last two dimensions; the product transposes them instead.
[[nodiscard]] Result<Matrix> right_factor(LoweringContext& context, uint32_t value);

// Rejects the node if a result after the first has a reader.
[[nodiscard]] Status check_only_first_result_is_read(const LoweringContext& context, const char* what);

}  // namespace etb::xnnpack
