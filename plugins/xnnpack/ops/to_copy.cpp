// SPDX-License-Identifier: Apache-2.0
// Conversions between float32 and float16, and of constants.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

constexpr etb_dtype kCopied[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_FLOAT64, ETB_DTYPE_INT64,
                                 ETB_DTYPE_INT32};

Status lower_to_copy(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  const auto dtype = static_cast<etb_dtype>(l.spec(l.result()).dtype);
  ETB_ASSIGN(const XnnDatatype datatype, datatype_of(dtype));
  ETB_ASSIGN(const Form in, l.form(self));
  if (const ConstantPtr& constant = l.draft().constant(in.id)) {
    l.define(l.result(), {l.draft().add_constant(converted(constant, dtype), datatype), in.perm});
    return {};
  }
  if (l.draft().value(in.id).datatype == datatype) return lower_alias(l);
  ETB_ASSIGN(const uint32_t out, l.add_result(0, in.perm));
  l.draft().add_node(XnnOperator::kConvert, {in.id}, {out});
  return {};
}

constexpr Op kRows[] = {
    {.name = "dim_order_ops._to_dim_order_copy.default",
     .lower = lower_to_copy,
     .dtypes = kCopied,
     .constraint = "Between float32 and float16, or of a constant.",
     .traits = kFolds},
};

}  // namespace

extern const OpList to_copy_ops = kRows;

}  // namespace etb::xnnpack
