// SPDX-License-Identifier: Apache-2.0
// Transposes. They only change the recorded dimension order.
#include <algorithm>

#include "ops/permute_copy.hpp"
#include "ops/t_copy.hpp"
#include "ops/transpose_copy.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// Dimension i of the result is dimension dims[i] of the input.
Status permute(LoweringContext& context, uint32_t self, const std::vector<uint32_t>& dims) {
  ETB_ASSIGN(const LoweredValue in, context.lowered(self));
  LoweredValue out{in.id, {}};
  for (const uint32_t dim : dims) out.perm.push_back(in.perm[dim]);
  context.define(context.result(), std::move(out));
  return {};
}

Status lower_permute(LoweringContext& context, ops::permute_copy_default<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(const std::vector<int64_t> found, args.dims().integers());
  const auto rank = static_cast<int64_t>(context.graph().rank(self));
  std::vector<uint32_t> dims;
  for (const int64_t dim : found) dims.push_back(static_cast<uint32_t>(dim < 0 ? dim + rank : dim));
  std::vector<uint32_t> sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != identity(static_cast<size_t>(rank))) return reject("attribute", "dims: no permutation");
  return permute(context, self, dims);
}

Status lower_t(LoweringContext& context, ops::t_copy_default<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t self, args.self().id());
  return context.graph().rank(self) < 2 ? define_alias(context, self) : permute(context, self, {1, 0});
}

Status lower_transpose(LoweringContext& context, ops::transpose_copy_int<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t self, args.self().id());
  std::vector<uint32_t> dims = identity(context.graph().rank(self));
  if (dims.empty()) return define_alias(context, self);
  ETB_ASSIGN(const uint32_t a, args.dim0().dim_or(0, dims.size()));
  ETB_ASSIGN(const uint32_t b, args.dim1().dim_or(0, dims.size()));
  std::swap(dims[a], dims[b]);
  return permute(context, self, dims);
}

constexpr Op kRows[] = {
    op_row<ops::permute_copy_default, lower_permute>(
        {.quantised = QuantKind::kMoves, .traits = kFolds | kMovesConstants}),
    op_row<ops::t_copy_default, lower_t>(
        {.quantised = QuantKind::kMoves, .max_rank = 2, .traits = kFolds | kMovesConstants}),
    op_row<ops::transpose_copy_int, lower_transpose>(
        {.quantised = QuantKind::kMoves, .traits = kFolds | kMovesConstants}),
};

}  // namespace

extern const OpList permute_ops = kRows;

}  // namespace etb::xnnpack
