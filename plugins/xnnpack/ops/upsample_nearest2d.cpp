// SPDX-License-Identifier: Apache-2.0
// Nearest upsampling by whole factors, with concatenations.
#include "ops/upsample_nearest2d.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// Repeats each element: adds a dimension of 1 and concatenates the tensor with itself along it.
Status lower_upsample_nearest2d(LoweringContext& context, ops::upsample_nearest2d_vec<NodeArguments> args) {
  XnnGraphBuilder& builder = context.builder();
  ETB_ASSIGN(const uint32_t input, args.input().id());
  if (context.graph().extents(input).dynamic_dims != 0)
    return reject("dynamic", "dynamic sizes, expected static ones");
  const std::vector<int64_t> in = context.graph().sizes(input), to = context.graph().sizes(context.result());
  const int64_t vertical = to[2] / in[2], horizontal = to[3] / in[3];
  if (vertical * in[2] != to[2] || horizontal * in[3] != to[3] || std::max(vertical, horizontal) > 5)
    return reject("attribute", "scales, expected whole ones up to 5");
  ETB_TRY(check_scales(args.scale_factors().floats(), in, to));
  ETB_ASSIGN(uint32_t id, context.arranged(input, kChannelsLast));
  const auto n = static_cast<uint32_t>(in[0]), c = static_cast<uint32_t>(in[1]),
             h = static_cast<uint32_t>(in[2]), w = static_cast<uint32_t>(in[3]),
             v = static_cast<uint32_t>(vertical), u = static_cast<uint32_t>(horizontal);
  const auto repeat = [&](uint32_t rows, uint32_t elements, uint32_t times) -> Status {
    if (times == 1) return {};
    ETB_ASSIGN(const uint32_t flat, builder.add_reshape(id, {{rows, 1, elements}, 0}));
    id = builder.add_like(flat, {{rows, times, elements}, 0});
    const auto op = static_cast<XnnOperator>(static_cast<uint8_t>(times == 5   ? XnnOperator::kConcatenate5
                                                                  : times == 4 ? XnnOperator::kConcatenate4
                                                                  : times == 3 ? XnnOperator::kConcatenate3
                                                                               : XnnOperator::kConcatenate2));
    builder.add_node(op, std::vector<uint32_t>(times, flat), {id}).axis = 1;
    return {};
  };
  ETB_TRY(repeat(n * h * w, c, u));
  ETB_TRY(repeat(n * h, w * u * c, v));
  ETB_ASSIGN(id, builder.add_reshape(id, {{n, h * v, w * u, c}, 0}));
  context.define(context.result(), {id, kChannelsLast});
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::upsample_nearest2d_vec, lower_upsample_nearest2d>(
        {.quantised = QuantKind::kMoves,
         .min_rank = 4,
         .max_rank = 4,
         .constraint = "Whole scales up to 5 that multiply sizes exactly.",
         .traits = kStatic}),
};

}  // namespace

extern const OpList upsample_nearest2d_ops = kRows;

}  // namespace etb::xnnpack
