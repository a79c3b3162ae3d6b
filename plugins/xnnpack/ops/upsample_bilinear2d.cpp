#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// That sizes grow by exactly what scale_factors say, so that both ways to compute coordinates agree.
Status check_scales(const Lowering& l, uint32_t input) {
  if (!l.has("scale_factors")) return {};
  return l.extents(input).dynamic_dims == 0
             ? Status{}
             : Status(Lowering::refuse("dynamic", "scale_factors with dynamic sizes"));
}

Status lower_upsample_bilinear2d(Lowering& l) {
  constexpr uint32_t kFlagAlignCorners = 8;
  ETB_ASSIGN(const uint32_t input, l.value("input"));
  ETB_TRY(check_scales(l, input));
  ETB_ASSIGN(const bool aligns, l.flag("align_corners", false));
  const std::vector<int64_t> in = l.sizes(input), to = l.sizes(l.result());
  if (l.has("scale_factors") && (to[2] % in[2] != 0 || to[3] % in[3] != 0))
    return Lowering::refuse("attribute", "scale_factors, expected whole ones");
  if ((l.extents(l.result()).dynamic_dims & 12) != 0)
    return Lowering::refuse("dynamic", "output_size, expected static");
  ETB_ASSIGN(const uint32_t id, l.arranged(input, kChannelsLast));
  ETB_ASSIGN(const uint32_t out, l.add_result(0, kChannelsLast));
  XnnNode& node = l.draft().add_node(XnnOperator::kResizeBilinear2d, {id}, {out});
  node.first = {static_cast<uint32_t>(to[2]), static_cast<uint32_t>(to[3])};
  node.flags = aligns ? kFlagAlignCorners : 0;
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.upsample_bilinear2d.vec",
     .lower = lower_upsample_bilinear2d,
     .quantised = QuantKind::kMoves,
     .min_rank = 4,
     .max_rank = 4,
     .constraint = "Scales that multiply sizes exactly."},
};

}  // namespace

extern const OpList upsample_bilinear2d_ops = kRows;

}  // namespace etb::xnnpack
