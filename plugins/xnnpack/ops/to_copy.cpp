// SPDX-License-Identifier: Apache-2.0
// Conversions between float32 and float16, and of constants.
#include "ops/dim_order_ops/_to_dim_order_copy.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

constexpr etb_dtype kCopied[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_FLOAT64, ETB_DTYPE_INT64,
                                 ETB_DTYPE_INT32};

Status lower_to_copy(LoweringContext& context,
                     ops::dim_order_ops::_to_dim_order_copy_default<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t self, args.self().id());
  const auto dtype = static_cast<etb_dtype>(context.graph().spec(context.result()).dtype);
  ETB_ASSIGN(const XnnDatatype datatype, datatype_of(dtype));
  ETB_ASSIGN(const LoweredValue in, context.lowered(self));
  if (const ConstantPtr& constant = context.builder().constant(in.id)) {
    context.define(context.result(),
                   {context.builder().add_constant(converted(constant, dtype), datatype), in.perm});
    return {};
  }
  if (context.builder().value(in.id).datatype == datatype) return define_alias(context, self);
  ETB_ASSIGN(const uint32_t out, context.add_result(0, in.perm));
  context.builder().add_node(XnnOperator::kConvert, {in.id}, {out});
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::dim_order_ops::_to_dim_order_copy_default, lower_to_copy>(
        {.dtypes = kCopied,
         .constraint = "Between float32 and float16, or of a constant.",
         .traits = kFolds}),
};

}  // namespace

extern const OpList to_copy_ops = kRows;

}  // namespace etb::xnnpack
