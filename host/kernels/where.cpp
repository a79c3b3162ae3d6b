// SPDX-License-Identifier: Apache-2.0
// aten::where and aten::masked_fill: choosing between two values by a condition.
#include "ops/where.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/masked_fill.hpp"

namespace etb::host {
namespace {

etb_status choose(KernelContext& context, Dtype dtype, std::span<const Operand> inputs, Tensor& out) {
  const ElementLoop* loops = vector_table(context).loops(TernaryOp::where);
  return run_elements(context, {loops, dtype, dtype, {}}, inputs, out);
}

etb_status expect_condition(KernelContext& context, const Tensor& condition) {
  if (is_bool(condition.dtype()) || condition.dtype() == Dtype::UINT8) return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "the condition is %s, expected bool", to_text(condition.dtype()));
}

etb_status where_out(KernelContext& context, ops::where_self_out<KernelArguments> args) {
  ETB_CHECK(expect_condition(context, args.condition()));
  const Operand inputs[] = {Operand(args.condition()), Operand(args.self()), Operand(args.other())};
  return choose(context, result_dtype({inputs + 1, 2}), inputs, args.out());
}

etb_status masked_fill_out(KernelContext& context, ops::masked_fill_Scalar_out<KernelArguments> args) {
  ETB_CHECK(expect_condition(context, args.mask()));
  const Dtype dtype = args.self().dtype();
  const Operand inputs[] = {Operand(args.mask()), Operand(args.value()), Operand(args.self())};
  return choose(context, dtype, inputs, args.out());
}

constexpr Kernel kRows[] = {
    kernel_row<ops::where_self_out, where_out>(Overlap::kExact),
    kernel_row<ops::masked_fill_Scalar_out, masked_fill_out>(Overlap::kExact),
};

}  // namespace

ETB_PUBLISH_KERNELS(where, kRows);

}  // namespace etb::host
