// SPDX-License-Identifier: Apache-2.0
// Pixel shuffle: two reshapes around a transpose.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_pixel_shuffle(Lowering& l) {
  Draft& draft = l.draft();
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const int64_t factor, l.integer("upscale_factor", 1));
  const Draft::Extents in = l.extents(self), to = l.extents(l.result());
  if (in.dynamic_dims != 0) return Lowering::refuse("dynamic", "dynamic sizes, expected static ones");
  const auto r = static_cast<uint32_t>(factor);
  const uint32_t n = in.sizes[0], c = to.sizes[1], h = in.sizes[2], w = in.sizes[3];
  ETB_ASSIGN(const uint32_t id, l.arranged(self, kChannelsLast));
  ETB_ASSIGN(const uint32_t parts, draft.add_reshape(id, {{n, h, w, c, r, r}, 0}));
  const uint32_t moved = draft.add_transpose(parts, {0, 1, 4, 2, 5, 3});
  ETB_ASSIGN(const uint32_t out, draft.add_reshape(moved, {{n, h * r, w * r, c}, 0}));
  l.define(l.result(), {out, kChannelsLast});
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.pixel_shuffle.default",
     .lower = lower_pixel_shuffle,
     .quantised = QuantKind::kMoves,
     .min_rank = 4,
     .max_rank = 4,
     .constraint = "Static sizes."},
};

}  // namespace

extern const OpList pixel_shuffle_ops = kRows;

}  // namespace etb::xnnpack
