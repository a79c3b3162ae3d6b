// SPDX-License-Identifier: Apache-2.0
// Padding with a constant.
#include "ops/constant_pad_nd.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_pad(LoweringContext& context, ops::constant_pad_nd_default<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(const std::vector<int64_t> pad, args.pad().integers());
  ETB_ASSIGN(const double value, args.value().number_or(0));
  const size_t rank = context.graph().rank(self);
  // Before a dynamically quantised layer, padding with zeros does not change the range, which includes zero
  // anyway.
  const std::optional<uint32_t> source = context.values().dynamic_source(self);
  if (source && value != 0) return reject("quant", "value: ", value, ", expected 0");
  ETB_ASSIGN(const LoweredValue in, context.lowered(source.value_or(self)));
  // The scale of the input represents 0, and no other number for sure.
  if (context.is_quantised() && value != 0) return reject("quant", "value: ", value, ", expected 0");
  std::vector<uint32_t> before(rank, 0), after(rank, 0);
  for (size_t i = 0; 2 * i + 1 < pad.size() && i < rank; ++i) {
    if (pad[2 * i] < 0 || pad[2 * i + 1] < 0) return reject("attribute", "pad: negative, expected 0 or more");
    const size_t dim = rank - 1 - i;
    // XNNPACK pads no empty tensor, and of other ops an empty operand makes an empty result.
    const etb_graph_spec spec = context.graph().spec(self);
    const bool may_be_empty = (spec.dynamic_dims >> dim & 1) != 0 && spec.min_sizes[dim] == 0;
    if (may_be_empty && pad[2 * i] + pad[2 * i + 1] > 0)
      return reject("dynamic", "dim ", dim, ": may be empty, expected at least 1 where there is padding");
    before[in.perm[rank - 1 - i]] = static_cast<uint32_t>(pad[2 * i]);
    after[in.perm[rank - 1 - i]] = static_cast<uint32_t>(pad[2 * i + 1]);
  }
  ETB_ASSIGN(const uint32_t out, context.add_result(0, in.perm));
  XnnNode& node = context.builder().add_node(XnnOperator::kConstantPad, {in.id}, {out});
  node.first = std::move(before);
  node.second = std::move(after);
  node.value = static_cast<float>(value);
  if (source) context.values().define_dynamic(context.result(), context.result());
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::constant_pad_nd_default, lower_pad>(
        {.quantised = QuantKind::kMoves,
         .min_rank = 1,
         .constraint = "No negative padding; none of a dimension that may be empty.",
         .traits = kInChain}),
};

}  // namespace

extern const OpList pad_ops = kRows;

}  // namespace etb::xnnpack
