// SPDX-License-Identifier: Apache-2.0
// Pixel shuffle: two reshapes around a transpose.
#include "ops/pixel_shuffle.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_pixel_shuffle(LoweringContext& context, ops::pixel_shuffle_default<NodeArguments> args) {
  XnnGraphBuilder& builder = context.builder();
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(const int64_t factor, args.upscale_factor().integer_or(1));
  const Extents in = context.graph().extents(self), to = context.graph().extents(context.result());
  if (in.dynamic_dims != 0) return reject("dynamic", "dynamic sizes, expected static ones");
  const auto r = static_cast<uint32_t>(factor);
  const uint32_t n = in.sizes[0], c = to.sizes[1], h = in.sizes[2], w = in.sizes[3];
  ETB_ASSIGN(const uint32_t id, context.arranged(self, kChannelsLast));
  ETB_ASSIGN(const uint32_t parts, builder.add_reshape(id, {{n, h, w, c, r, r}, 0}));
  const uint32_t moved = builder.add_transpose(parts, {0, 1, 4, 2, 5, 3});
  ETB_ASSIGN(const uint32_t out, builder.add_reshape(moved, {{n, h * r, w * r, c}, 0}));
  context.define(context.result(), {out, kChannelsLast});
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::pixel_shuffle_default, lower_pixel_shuffle>({.quantised = QuantKind::kMoves,
                                                             .min_rank = 4,
                                                             .max_rank = 4,
                                                             .constraint = "Static sizes.",
                                                             .traits = kStatic}),
};

}  // namespace

extern const OpList pixel_shuffle_ops = kRows;

}  // namespace etb::xnnpack
