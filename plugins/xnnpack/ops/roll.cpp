// SPDX-License-Identifier: Apache-2.0
// Rotation along one dimension: two slices, swapped and concatenated.
#include "ops/roll.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_roll(LoweringContext& context, ops::roll_default<NodeArguments> args) {
  XnnGraphBuilder& builder = context.builder();
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(const std::vector<int64_t> shifts, args.shifts().integers());
  ETB_ASSIGN(const std::vector<int64_t> dims, args.dims().integers());
  const auto rank = static_cast<int64_t>(context.graph().rank(self));
  if (dims.empty() || shifts.size() != dims.size())
    return reject("attribute", "dims: ", dims.size(), ", expected as many as shifts and at least one");
  ETB_ASSIGN(const LoweredValue in, context.lowered(self));
  if (builder.constant(in.id)) return reject("constant", "a constant, expected a tensor known at run time");
  LoweredValue out = in;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < -rank || dims[i] >= rank) return reject("attribute", "dims: ", dims[i]);
    const uint32_t axis = in.perm[static_cast<size_t>(dims[i] < 0 ? dims[i] + rank : dims[i])];
    const Extents extents = builder.extents(out.id);
    if (extents.is_dynamic(axis)) return reject("dynamic", "dim ", dims[i], ": dynamic, expected static");
    const int64_t extent = extents.sizes[axis];
    const auto shift = static_cast<uint32_t>((shifts[i] % extent + extent) % extent);
    if (shift == 0) continue;
    const uint32_t kept = extents.sizes[axis] - shift;
    const uint32_t end = add_slice(builder, out.id, axis, kept, shift),
                   start = add_slice(builder, out.id, axis, 0, kept);
    const uint32_t joined = builder.add_like(out.id, extents);
    builder.add_node(XnnOperator::kConcatenate2, {end, start}, {joined}).axis = static_cast<int32_t>(axis);
    out.id = joined;
  }
  context.define(context.result(), std::move(out));
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::roll_default, lower_roll>(
        {.quantised = QuantKind::kMoves, .min_rank = 1, .constraint = "dims are given and static."}),
};

}  // namespace

extern const OpList roll_ops = kRows;

}  // namespace etb::xnnpack
