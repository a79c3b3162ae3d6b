// Kernels that are one formula of one input: each is a row in vector/unary.def.
#include "host/kernels/kernel.hpp"
#include "ops/abs.hpp"
#include "ops/acos.hpp"
#include "ops/acosh.hpp"
#include "ops/asin.hpp"
#include "ops/asinh.hpp"
#include "ops/atan.hpp"
#include "ops/atanh.hpp"
#include "ops/bitwise_not.hpp"
#include "ops/ceil.hpp"
#include "ops/cos.hpp"
#include "ops/cosh.hpp"
#include "ops/erf.hpp"
#include "ops/exp.hpp"
#include "ops/expm1.hpp"
#include "ops/floor.hpp"
#include "ops/isinf.hpp"
#include "ops/isnan.hpp"
#include "ops/log.hpp"
#include "ops/log10.hpp"
#include "ops/log1p.hpp"
#include "ops/log2.hpp"
#include "ops/logical_not.hpp"
#include "ops/neg.hpp"
#include "ops/reciprocal.hpp"
#include "ops/relu.hpp"
#include "ops/round.hpp"
#include "ops/rsqrt.hpp"
#include "ops/sigmoid.hpp"
#include "ops/sign.hpp"
#include "ops/sin.hpp"
#include "ops/sinh.hpp"
#include "ops/sqrt.hpp"
#include "ops/tan.hpp"
#include "ops/tanh.hpp"
#include "ops/trunc.hpp"

namespace etb::host {
namespace {

// self and out: every op of this file has these two.
using UnaryArguments = ops::bitwise_not_out<KernelArguments>;

etb_status run_unary(KernelContext& context, UnaryOp op, Dtype common, Dtype result, UnaryArguments args) {
  const Operand input(args.self());
  const ElementLoop* loops = vector_table(context).elements->unary[static_cast<int>(op)];
  return run_elements(context, {loops, common, result, {}}, {&input, 1}, args.out());
}

template <UnaryOp op>
etb_status run_same(KernelContext& context, UnaryArguments args) {
  const Dtype dtype = args.self().dtype();
  return run_unary(context, op, dtype, dtype, args);
}

template <UnaryOp op>
etb_status run_real(KernelContext& context, UnaryArguments args) {
  const Dtype dtype = real_dtype(args.self().dtype());
  return run_unary(context, op, dtype, dtype, args);
}

template <UnaryOp op>
etb_status run_bool(KernelContext& context, UnaryArguments args) {
  return run_unary(context, op, args.self().dtype(), Dtype::BOOL, args);
}

etb_status bitwise_not_out(KernelContext& context, UnaryArguments args) {
  const Dtype dtype = args.self().dtype();
  if (is_floating(dtype))
    return context.fail(ETB_INVALID_TYPE, "the input is %s, expected integers or bool", to_text(dtype));
  return run_unary(context, is_bool(dtype) ? UnaryOp::logical_not : UnaryOp::bitwise_not, dtype, dtype, args);
}

constexpr Kernel kRows[] = {
#define ETB_UNARY_SAME(op, real, integer) kernel_row<ops::op##_out, run_same<UnaryOp::op>>(Overlap::kExact),
#define ETB_UNARY_REAL(op, real) kernel_row<ops::op##_out, run_real<UnaryOp::op>>(Overlap::kExact),
#define ETB_UNARY_BOOL(op, real, integer) kernel_row<ops::op##_out, run_bool<UnaryOp::op>>(Overlap::kExact),
#define ETB_UNARY_LOOP(op, real, integer)
#include "host/kernels/vector/unary.def"
    kernel_row<ops::bitwise_not_out, bitwise_not_out>(Overlap::kExact),
};

}  // namespace

ETB_PUBLISH_KERNELS(unary, kRows);

}  // namespace etb::host
