// SPDX-License-Identifier: Apache-2.0
// Concatenation, in nodes of up to five inputs.
#include <algorithm>

#include "ops/cat.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_cat(LoweringContext& context, ops::cat_default<NodeArguments> args) {
  constexpr std::array kOperators = {XnnOperator::kConcatenate2, XnnOperator::kConcatenate3,
                                     XnnOperator::kConcatenate4, XnnOperator::kConcatenate5};
  XnnGraphBuilder& builder = context.builder();
  ETB_ASSIGN(const std::vector<uint32_t> tensors, args.tensors().ids());
  const size_t rank = context.graph().rank(context.result());
  ETB_ASSIGN(const uint32_t dim, args.dim().dim_or(0, rank));
  Permutation order = identity(rank);
  for (const uint32_t tensor : tensors) {
    if (context.graph().rank(tensor) != rank) return reject("rank", "tensors of several ranks");
    ETB_ASSIGN(const LoweredValue form, context.lowered(tensor));
    if (is_identity(order) && !builder.constant(form.id)) order = form.perm;
  }
  std::vector<uint32_t> parts;
  bool has_variable = false;
  for (const uint32_t tensor : tensors) {
    ETB_ASSIGN(const uint32_t id, context.arranged(tensor, order));
    if (builder.value(id).datatype != builder.value(parts.empty() ? id : parts[0]).datatype)
      return reject("dtype", "tensors of several types");
    has_variable = has_variable || !builder.constant(id);
    parts.push_back(id);
  }
  if (!has_variable) return reject("constant", "all tensors are constants");
  if (parts.size() == 1) return context.define(context.result(), {parts[0], order}), Status{};
  const uint32_t axis = order[dim];
  const auto join = [&](const std::vector<uint32_t>& some, uint32_t out) {
    builder.add_node(kOperators[some.size() - 2], some, {out}).axis = static_cast<int32_t>(axis);
  };
  while (parts.size() > kOperators.size() + 1) {
    std::vector<uint32_t> joined;
    for (size_t i = 0; i < parts.size(); i += 5) {
      const std::vector<uint32_t> some(
          parts.begin() + static_cast<std::ptrdiff_t>(i),
          parts.begin() + static_cast<std::ptrdiff_t>(std::min(i + 5, parts.size())));
      if (some.size() == 1) {
        joined.push_back(some[0]);
        continue;
      }
      Extents extents = builder.extents(some[0]);
      for (size_t k = 1; k < some.size(); ++k) {
        extents.sizes[axis] += builder.value(some[k]).sizes[axis];
        extents.dynamic_dims |= builder.extents(some[k]).dynamic_dims;
      }
      joined.push_back(builder.add_like(some[0], std::move(extents)));
      join(some, joined.back());
    }
    parts = std::move(joined);
  }
  ETB_ASSIGN(const uint32_t out, context.add_result(0, order));
  join(parts, out);
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::cat_default, lower_cat>({.quantised = QuantKind::kMoves, .min_rank = 1}),
};

}  // namespace

extern const OpList cat_ops = kRows;

}  // namespace etb::xnnpack
