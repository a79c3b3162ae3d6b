// SPDX-License-Identifier: Apache-2.0
// Ops of one tensor with an XNNPACK operator, on dimensions in any order.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

Status lower_unary(Lowering& l, XnnOperator op) {
  Draft& draft = l.draft();
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(Form input, l.form(self));
  // XNNPACK's float16 square root maps -0 to NaN; its float32 one does not.
  const bool is_widened =
      op == XnnOperator::kSquareRoot && draft.value(input.id).datatype == XnnDatatype::kFloat16;
  if (is_widened) {
    const uint32_t wide = draft.add_value(XnnDatatype::kFloat32, draft.extents(input.id));
    draft.add_node(XnnOperator::kConvert, {input.id}, {wide});
    input.id = add_unary(draft, op, wide);
  }
  ETB_ASSIGN(const uint32_t out, l.add_result(0, input.perm));
  draft.add_node(is_widened ? XnnOperator::kConvert : op, {input.id}, {out});
  return {};
}

namespace {

template <XnnOperator op>
Status lower(Lowering& l) {
  return lower_unary(l, op);
}

constexpr Op kRows[] = {
    {.name = "aten.abs.default", .lower = lower<XnnOperator::kAbs>},
    {.name = "aten.ceil.default", .lower = lower<XnnOperator::kCeiling>},
    {.name = "aten.cos.default", .lower = lower<XnnOperator::kCos>},
    {.name = "aten.exp.default", .lower = lower<XnnOperator::kExp>},
    {.name = "aten.floor.default", .lower = lower<XnnOperator::kFloor>},
    {.name = "aten.log.default", .lower = lower<XnnOperator::kLog>},
    {.name = "aten.rsqrt.default", .lower = lower<XnnOperator::kReciprocalSquareRoot>},
    {.name = "aten.sigmoid.default",
     .lower = lower<XnnOperator::kSigmoid>,
     .quantised = QuantKind::kComputes},
    {.name = "aten.sin.default", .lower = lower<XnnOperator::kSin>},
    {.name = "aten.sqrt.default", .lower = lower<XnnOperator::kSquareRoot>},
    {.name = "aten.square.default", .lower = lower<XnnOperator::kSquare>},
    {.name = "aten.tanh.default", .lower = lower<XnnOperator::kTanh>, .quantised = QuantKind::kComputes},
    {.name = "aten.hardswish.default", .lower = lower<XnnOperator::kHardSwish>, .traits = kPreserved},
};

}  // namespace

extern const OpList unary_ops = kRows;

}  // namespace etb::xnnpack
