// SPDX-License-Identifier: Apache-2.0
// aten::where and aten::masked_fill: choosing between two values by a condition.
#include "host/kernels/kernel.hpp"

namespace etb::host {
namespace {

etb_status choose(KernelContext& context, Dtype dtype, std::span<const Operand> inputs, Tensor& out) {
  const ElementLoop* loops = vector_table(context).elements->ternary[static_cast<int>(TernaryOp::where)];
  return run_elements(context, {loops, dtype, dtype, {}}, inputs, out);
}

etb_status expect_condition(KernelContext& context, const Tensor& condition) {
  if (is_bool(condition.dtype()) || condition.dtype() == Dtype::UINT8) return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "the condition is %s, expected bool", to_text(condition.dtype()));
}

etb_status where_out(KernelContext& context, EValue** args) {
  if (const etb_status status = expect_condition(context, args[0]->tensor()); status != ETB_OK) return status;
  const Operand inputs[] = {Operand(args[0]->tensor()), Operand(args[1]->tensor()),
                            Operand(args[2]->tensor())};
  return choose(context, result_dtype({inputs + 1, 2}), inputs, args[3]->tensor());
}

// masked_fill(self, mask, value, out)
etb_status masked_fill_out(KernelContext& context, EValue** args) {
  if (const etb_status status = expect_condition(context, args[1]->tensor()); status != ETB_OK) return status;
  const Dtype dtype = args[0]->tensor().dtype();
  const Operand inputs[] = {Operand(args[1]->tensor()), Operand(*args[2]), Operand(args[0]->tensor())};
  return choose(context, dtype, inputs, args[3]->tensor());
}

constexpr Kernel kRows[] = {
    {"aten::where.self_out", "T=T=T=T!", where_out},
    {"aten::masked_fill.Scalar_out", "T=T=ST!", masked_fill_out},
};

}  // namespace

ETB_PUBLISH_KERNELS(where, kRows);

}  // namespace etb::host
