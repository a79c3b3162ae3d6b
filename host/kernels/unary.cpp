// SPDX-License-Identifier: Apache-2.0
// Kernels that are one formula of one input: each is a row in vector/unary.def.
#include "host/kernels/kernel.hpp"

namespace etb::host {
namespace {

etb_status run_unary(KernelContext& context, UnaryOp op, Dtype common, Dtype result, EValue** args) {
  const Operand input(args[0]->tensor());
  const ElementLoop* loops = vector_table(context).elements->unary[static_cast<int>(op)];
  return run_elements(context, {loops, common, result, {}}, {&input, 1}, args[1]->tensor());
}

template <UnaryOp op>
etb_status run_same(KernelContext& context, EValue** args) {
  const Dtype dtype = args[0]->tensor().dtype();
  return run_unary(context, op, dtype, dtype, args);
}

template <UnaryOp op>
etb_status run_real(KernelContext& context, EValue** args) {
  const Dtype dtype = real_dtype(args[0]->tensor().dtype());
  return run_unary(context, op, dtype, dtype, args);
}

template <UnaryOp op>
etb_status run_bool(KernelContext& context, EValue** args) {
  return run_unary(context, op, args[0]->tensor().dtype(), Dtype::BOOL, args);
}

etb_status bitwise_not_out(KernelContext& context, EValue** args) {
  const Dtype dtype = args[0]->tensor().dtype();
  if (is_floating(dtype))
    return context.fail(ETB_INVALID_TYPE, "the input is %s, expected integers or bool", to_text(dtype));
  return run_unary(context, is_bool(dtype) ? UnaryOp::logical_not : UnaryOp::bitwise_not, dtype, dtype, args);
}

constexpr Kernel kRows[] = {
#define ETB_UNARY_SAME(op, real, integer) {"aten::" #op ".out", "T=T!", run_same<UnaryOp::op>},
#define ETB_UNARY_REAL(op, real) {"aten::" #op ".out", "T=T!", run_real<UnaryOp::op>},
#define ETB_UNARY_BOOL(op, real, integer) {"aten::" #op ".out", "T=T!", run_bool<UnaryOp::op>},
#define ETB_UNARY_LOOP(op, real, integer)
#include "host/kernels/vector/unary.def"
    {"aten::bitwise_not.out", "T=T!", bitwise_not_out},
};

}  // namespace

ETB_PUBLISH_KERNELS(unary, kRows);

}  // namespace etb::host
