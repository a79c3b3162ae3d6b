// SPDX-License-Identifier: Apache-2.0
// Bilinear upsampling.
#include "ops/upsample_bilinear2d.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

Status check_scales(const std::vector<double>& scales, const std::vector<int64_t>& in,
                    const std::vector<int64_t>& to) {
  for (size_t i = 0; i < scales.size() && i < 2; ++i) {
    if (static_cast<double>(in[2 + i]) * scales[i] != static_cast<double>(to[2 + i]))
      return reject("attribute", "scale_factors: ", scales[i], " times ", in[2 + i], " is not ", to[2 + i]);
  }
  return {};
}

namespace {

Status lower_upsample_bilinear2d(LoweringContext& context, ops::upsample_bilinear2d_vec<NodeArguments> args) {
  constexpr uint32_t kFlagAlignCorners = 8;
  ETB_ASSIGN(const uint32_t input, args.input().id());
  ETB_ASSIGN(const bool aligns, args.align_corners().value_or(false));
  const std::vector<int64_t> in = context.graph().sizes(input), to = context.graph().sizes(context.result());
  if (((context.graph().extents(context.result()).dynamic_dims |
        context.graph().extents(input).dynamic_dims) &
       12) != 0)
    return reject("dynamic", "height or width, expected static ones");
  if (!aligns) ETB_TRY(check_scales(args.scale_factors().floats(), in, to));
  ETB_ASSIGN(const uint32_t id, context.arranged(input, kChannelsLast));
  ETB_ASSIGN(const uint32_t out, context.add_result(0, kChannelsLast));
  XnnNode& node = context.builder().add_node(XnnOperator::kResizeBilinear2d, {id}, {out});
  node.first = {static_cast<uint32_t>(to[2]), static_cast<uint32_t>(to[3])};
  node.flags = aligns ? kFlagAlignCorners : 0;
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::upsample_bilinear2d_vec, lower_upsample_bilinear2d>(
        {.quantised = QuantKind::kMoves,
         .min_rank = 4,
         .max_rank = 4,
         .constraint = "Scales that multiply sizes exactly."}),
};

}  // namespace

extern const OpList upsample_bilinear2d_ops = kRows;

}  // namespace etb::xnnpack
