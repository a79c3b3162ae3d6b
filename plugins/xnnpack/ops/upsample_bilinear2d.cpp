// SPDX-License-Identifier: Apache-2.0
// Bilinear upsampling.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// XNNPACK computes coordinates from the ratio of sizes, PyTorch from scale_factors if present. Both must
// agree.
Status check_scales(const Lowering& l, const std::vector<int64_t>& in, const std::vector<int64_t>& to) {
  const std::vector<double> scales = l.numbers("scale_factors");
  for (size_t i = 0; i < scales.size() && i < 2; ++i) {
    if (static_cast<double>(in[2 + i]) * scales[i] != static_cast<double>(to[2 + i]))
      return Lowering::refuse("attribute", "scale_factors: ", scales[i], " times ", in[2 + i], " is not ",
                              to[2 + i]);
  }
  return {};
}

Status lower_upsample_bilinear2d(Lowering& l) {
  constexpr uint32_t kFlagAlignCorners = 8;
  ETB_ASSIGN(const uint32_t input, l.value("input"));
  ETB_ASSIGN(const bool aligns, l.flag("align_corners", false));
  const std::vector<int64_t> in = l.sizes(input), to = l.sizes(l.result());
  if (((l.extents(l.result()).dynamic_dims | l.extents(input).dynamic_dims) & 12) != 0)
    return Lowering::refuse("dynamic", "height or width, expected static ones");
  if (!aligns) ETB_TRY(check_scales(l, in, to));
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
