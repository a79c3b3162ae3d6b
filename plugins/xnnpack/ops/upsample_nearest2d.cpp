// SPDX-License-Identifier: Apache-2.0
// Nearest upsampling by whole factors, with concatenations.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// Repeats each element: adds a dimension of 1 and concatenates the tensor with itself along it.
Status lower_upsample_nearest2d(Lowering& l) {
  Draft& draft = l.draft();
  ETB_ASSIGN(const uint32_t input, l.value("input"));
  if (l.extents(input).dynamic_dims != 0)
    return Lowering::refuse("dynamic", "dynamic sizes, expected static ones");
  const std::vector<int64_t> in = l.sizes(input), to = l.sizes(l.result());
  const int64_t vertical = to[2] / in[2], horizontal = to[3] / in[3];
  if (vertical * in[2] != to[2] || horizontal * in[3] != to[3] || std::max(vertical, horizontal) > 5)
    return Lowering::refuse("attribute", "scales, expected whole ones up to 5");
  ETB_ASSIGN(uint32_t id, l.arranged(input, kChannelsLast));
  const auto n = static_cast<uint32_t>(in[0]), c = static_cast<uint32_t>(in[1]),
             h = static_cast<uint32_t>(in[2]), w = static_cast<uint32_t>(in[3]),
             v = static_cast<uint32_t>(vertical), u = static_cast<uint32_t>(horizontal);
  const auto repeat = [&](uint32_t rows, uint32_t elements, uint32_t times) -> Status {
    if (times == 1) return {};
    ETB_ASSIGN(const uint32_t flat, draft.add_reshape(id, {{rows, 1, elements}, 0}));
    id = draft.add_like(flat, {{rows, times, elements}, 0});
    const auto op = static_cast<XnnOperator>(static_cast<uint8_t>(times == 5   ? XnnOperator::kConcatenate5
                                                                  : times == 4 ? XnnOperator::kConcatenate4
                                                                  : times == 3 ? XnnOperator::kConcatenate3
                                                                               : XnnOperator::kConcatenate2));
    draft.add_node(op, std::vector<uint32_t>(times, flat), {id}).axis = 1;
    return {};
  };
  ETB_TRY(repeat(n * h * w, c, u));
  ETB_TRY(repeat(n * h, w * u * c, v));
  ETB_ASSIGN(id, draft.add_reshape(id, {{n, h * v, w * u, c}, 0}));
  l.define(l.result(), {id, kChannelsLast});
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.upsample_nearest2d.vec",
     .lower = lower_upsample_nearest2d,
     .quantised = QuantKind::kMoves,
     .min_rank = 4,
     .max_rank = 4,
     .constraint = "Whole scales up to 5."},
};

}  // namespace

extern const OpList upsample_nearest2d_ops = kRows;

}  // namespace etb::xnnpack
