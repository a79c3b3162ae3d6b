// SPDX-License-Identifier: Apache-2.0
// Images of other sizes.
#include "plugins/gpu/compile/op.hpp"

namespace etb::gpu {

namespace {

// Adds a node whose position in the image for each result is scale * (position + offset) - offset.
Status add_resize(LoweringContext& context, bool is_linear, bool aligns_corners) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("input"));
  ETB_ASSIGN(const uint32_t input, context.operand(value));
  const etb_graph_spec from = context.spec(value), to = context.spec(context.result());
  const auto scales = context.args().find("scale_factors");
  GpuNode node{Operator::kResize, {input}, kNoValue, {is_linear ? 1 : 0}};
  for (uint32_t d = 2; d < 4; ++d) {
    if (context.is_dynamic(value, d) || context.is_dynamic(context.result(), d))
      return reject("dynamic", "an image of dynamic size");
    const auto in = static_cast<double>(from.sizes[d]), out = static_cast<double>(to.sizes[d]);
    if (from.sizes[d] == 0) return reject("attribute", "an image without pixels");
    double scale = out == 0 ? 1 : in / out;
    if (aligns_corners)
      scale = out > 1 ? (in - 1) / (out - 1) : 0;
    else if (scales && scales->floats().size() == 2 && scales->floats()[d - 2] > 0)
      scale = 1 / scales->floats()[d - 2];
    node.ints.push_back(to_int32(to.sizes[d]));
    node.floats.push_back(static_cast<float>(scale));
    node.floats.push_back(is_linear && !aligns_corners ? 0.5f : 0.0f);
  }
  return context.add_result_node(std::move(node));
}

Status lower_nearest(LoweringContext& context) { return add_resize(context, false, false); }
Status lower_bilinear(LoweringContext& context) {
  ETB_ASSIGN(const bool aligns_corners, context.args().flag("align_corners", false));
  return add_resize(context, true, aligns_corners);
}

constexpr const char* kSizes = "Height and width are static.";
constexpr Op kRows[] = {
    {"aten.upsample_nearest2d.vec", lower_nearest, 4, 4, kSizes},
    {"aten.upsample_bilinear2d.vec", lower_bilinear, 4, 4, kSizes},
};

}  // namespace

extern const OpList resize_ops = kRows;

}  // namespace etb::gpu
