// SPDX-License-Identifier: Apache-2.0
// Slices along one dimension.
#include <algorithm>

#include "ops/select_copy.hpp"
#include "ops/slice_copy.hpp"
#include "ops/split_with_sizes_copy.hpp"
#include "ops/unbind_copy.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Result<LoweredValue> slice_of(LoweringContext& context, uint32_t value, uint32_t dim, int64_t from,
                              int64_t count) {
  ETB_ASSIGN(const LoweredValue in, context.lowered(value));
  const uint32_t axis = in.perm[dim];
  const Extents extents = context.builder().extents(in.id);
  if (extents.is_dynamic(axis)) return reject("dynamic", "dim ", dim, ": dynamic, expected static");
  if (from == 0 && count == static_cast<int64_t>(extents.sizes[axis])) return in;
  if (context.builder().constant(in.id))
    return reject("constant", "a constant, expected a tensor known at run time");
  if (from < 0 || count <= 0 || from + count > static_cast<int64_t>(extents.sizes[axis]))
    return reject("attribute", "nothing of dim ", dim);
  const uint32_t out =
      add_slice(context.builder(), in.id, axis, static_cast<uint32_t>(from), static_cast<uint32_t>(count));
  return LoweredValue{out, in.perm};
}

// Returns every `step`-th of count * step elements: element `at` of each row, seen as rows of `step`.
Result<LoweredValue> every_step(LoweringContext& context, const LoweredValue& block, uint32_t dim,
                                uint32_t count, uint32_t step, uint32_t at) {
  XnnGraphBuilder& builder = context.builder();
  const uint32_t axis = block.perm[dim];
  const Extents whole = builder.extents(block.id);
  if (whole.sizes.size() == kMaxRank)
    return reject("rank", "step of a tensor of rank ", kMaxRank, ", expected at most ", kMaxRank - 1);
  Extents rows = whole, picked = whole;
  rows.sizes[axis] = picked.sizes[axis] = count;
  rows.sizes.insert(rows.sizes.begin() + axis + 1, step);
  const uint32_t below = (1u << (axis + 1)) - 1;
  rows.dynamic_dims = (whole.dynamic_dims & below) | (whole.dynamic_dims & ~below) << 1;
  ETB_ASSIGN(const uint32_t seen, builder.add_reshape(block.id, std::move(rows)));
  ETB_ASSIGN(const uint32_t out,
             builder.add_reshape(add_slice(builder, seen, axis + 1, at, 1), std::move(picked)));
  return LoweredValue{out, block.perm};
}

Status lower_slice(LoweringContext& context, ops::slice_copy_Tensor<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(const uint32_t dim, args.dim().dim_or(0, context.graph().rank(self)));
  if (context.graph().rank(context.result()) != context.graph().rank(self))
    return reject("rank", "result of another rank");
  ETB_ASSIGN(const int64_t step, args.step().integer_or(1));
  ETB_ASSIGN(int64_t start, args.start().integer_or(0));
  if (step < 1) return reject("attribute", "step: ", step);
  const int64_t extent = context.graph().sizes(self)[dim];
  if (start < 0) start += extent;
  start = std::clamp<int64_t>(start, 0, extent);
  if (context.graph().extents(self).is_dynamic(dim))
    return reject("dynamic", "dim ", dim, ": dynamic, expected static");
  if (context.graph().extents(context.result()).is_dynamic(dim))
    return reject("dynamic", "dim ", dim, ": a part of dynamic size, expected a static one");
  const int64_t count = context.graph().sizes(context.result())[dim];
  // The rows of `step` may begin before the first selected element if the last row ends with the dimension.
  const int64_t first = step > extent || count > extent / step ? -1 : std::min(start, extent - count * step);
  if (first < 0 || start - first >= step)
    return reject("attribute", "step: ", step, " from ", start, " on leaves a last part of less than a step");
  ETB_ASSIGN(LoweredValue out, slice_of(context, self, dim, first, count * step));
  if (step > 1) {
    ETB_ASSIGN(out, every_step(context, out, dim, static_cast<uint32_t>(count), static_cast<uint32_t>(step),
                               static_cast<uint32_t>(start - first)));
  }
  context.define(context.result(), std::move(out));
  return {};
}

// Selects index `at` of a dimension and removes the dimension.
Result<LoweredValue> pick(LoweringContext& context, uint32_t self, uint32_t dim, int64_t at) {
  ETB_ASSIGN(const LoweredValue kept, slice_of(context, self, dim, at, 1));
  const uint32_t axis = kept.perm[dim];
  Extents extents = context.builder().extents(kept.id);
  extents.sizes.erase(extents.sizes.begin() + axis);
  const uint32_t below = extents.dynamic_dims & ((1u << axis) - 1);
  extents.dynamic_dims = below | (extents.dynamic_dims >> (axis + 1) << axis);
  LoweredValue out;
  for (uint32_t d = 0; d < kept.perm.size(); ++d) {
    if (d != dim) out.perm.push_back(kept.perm[d] - (kept.perm[d] > axis ? 1 : 0));
  }
  ETB_ASSIGN(out.id, context.builder().add_reshape(kept.id, std::move(extents)));
  return out;
}

Status lower_select(LoweringContext& context, ops::select_copy_int<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(const uint32_t dim, args.dim().dim_or(0, context.graph().rank(self)));
  ETB_ASSIGN(int64_t index, args.index().integer_or(0));
  if (context.graph().extents(self).is_dynamic(dim))
    return reject("dynamic", "dim ", dim, ": dynamic, expected static");
  if (index < 0) index += context.graph().sizes(self)[dim];
  ETB_ASSIGN(LoweredValue out, pick(context, self, dim, index));
  context.define(context.result(), std::move(out));
  return {};
}

Status lower_unbind(LoweringContext& context, ops::unbind_copy_int<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(const uint32_t dim, args.dim().dim_or(0, context.graph().rank(self)));
  for (uint32_t i = 0; i < context.result_count(); ++i) {
    ETB_ASSIGN(LoweredValue out, pick(context, self, dim, i));
    context.define(context.result(i), std::move(out));
  }
  return {};
}

Status lower_split(LoweringContext& context, ops::split_with_sizes_copy_default<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(const uint32_t dim, args.dim().dim_or(0, context.graph().rank(self)));
  if (context.graph().rank(context.result()) != context.graph().rank(self))
    return reject("rank", "result of another rank");
  int64_t start = 0;
  for (uint32_t i = 0; i < context.result_count(); ++i) {
    if (context.graph().extents(context.result(i)).is_dynamic(dim))
      return reject("dynamic", "dim ", dim, ": a part of dynamic size, expected static ones");
    const int64_t count = context.graph().sizes(context.result(i))[dim];
    ETB_ASSIGN(LoweredValue out, slice_of(context, self, dim, start, count));
    context.define(context.result(i), std::move(out));
    start += count;
  }
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::slice_copy_Tensor, lower_slice>(
        {.quantised = QuantKind::kMoves,
         .min_rank = 1,
         .constraint = "The dimension is static; there is a whole step for each element."}),
    op_row<ops::select_copy_int, lower_select>(
        {.quantised = QuantKind::kMoves, .min_rank = 1, .constraint = "The dimension is static."}),
    op_row<ops::split_with_sizes_copy_default, lower_split>(
        {.quantised = QuantKind::kMoves, .min_rank = 1, .constraint = "The dimension is static."}),
    op_row<ops::unbind_copy_int, lower_unbind>(
        {.quantised = QuantKind::kMoves, .min_rank = 1, .constraint = "The dimension is static."}),
};

}  // namespace

extern const OpList slice_ops = kRows;

}  // namespace etb::xnnpack
