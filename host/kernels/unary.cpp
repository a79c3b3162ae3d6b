// SPDX-License-Identifier: Apache-2.0
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
#include "ops/digamma.hpp"
#include "ops/erf.hpp"
#include "ops/erfc.hpp"
#include "ops/erfinv.hpp"
#include "ops/exp.hpp"
#include "ops/expm1.hpp"
#include "ops/floor.hpp"
#include "ops/i0.hpp"
#include "ops/isinf.hpp"
#include "ops/isnan.hpp"
#include "ops/lgamma.hpp"
#include "ops/log.hpp"
#include "ops/log10.hpp"
#include "ops/log1p.hpp"
#include "ops/log2.hpp"
#include "ops/logical_not.hpp"
#include "ops/neg.hpp"
#include "ops/polygamma.hpp"
#include "ops/reciprocal.hpp"
#include "ops/relu.hpp"
#include "ops/round.hpp"
#include "ops/rsqrt.hpp"
#include "ops/sigmoid.hpp"
#include "ops/sign.hpp"
#include "ops/sin.hpp"
#include "ops/sinh.hpp"
#include "ops/special_airy_ai.hpp"
#include "ops/special_bessel_j0.hpp"
#include "ops/special_bessel_j1.hpp"
#include "ops/special_bessel_y0.hpp"
#include "ops/special_bessel_y1.hpp"
#include "ops/special_erfcx.hpp"
#include "ops/special_i0e.hpp"
#include "ops/special_i1.hpp"
#include "ops/special_i1e.hpp"
#include "ops/special_log_ndtr.hpp"
#include "ops/special_modified_bessel_i0.hpp"
#include "ops/special_modified_bessel_i1.hpp"
#include "ops/special_modified_bessel_k0.hpp"
#include "ops/special_modified_bessel_k1.hpp"
#include "ops/special_ndtri.hpp"
#include "ops/special_scaled_modified_bessel_k0.hpp"
#include "ops/special_scaled_modified_bessel_k1.hpp"
#include "ops/sqrt.hpp"
#include "ops/tan.hpp"
#include "ops/tanh.hpp"
#include "ops/trunc.hpp"

namespace etb::host {
namespace {

// self and out: every op of this file has these two.
using UnaryArguments = ops::bitwise_not_out<KernelArguments>;

etb_status run_unary(KernelContext& context, UnaryOp op, Dtype common, Dtype result, const Tensor& self,
                     Tensor& out, int64_t work = 1, const LoopParams& params = {}) {
  const Operand input(self);
  const ElementLoop* loops = vector_table(context).loops(op);
  return run_elements(context, {loops, common, result, params, work}, {&input, 1}, out);
}

template <UnaryOp op>
etb_status run_same(KernelContext& context, UnaryArguments args) {
  const Dtype dtype = args.self().dtype();
  return run_unary(context, op, dtype, dtype, args.self(), args.out());
}

template <UnaryOp op>
etb_status run_real(KernelContext& context, UnaryArguments args) {
  const Dtype dtype = real_dtype(args.self().dtype());
  return run_unary(context, op, dtype, dtype, args.self(), args.out());
}

template <UnaryOp op>
etb_status run_special(KernelContext& context, UnaryArguments args) {
  const Dtype dtype = real_dtype(args.self().dtype());
  return run_unary(context, op, dtype, dtype, args.self(), args.out(), kSpecialWork);
}

template <UnaryOp op>
etb_status run_bool(KernelContext& context, UnaryArguments args) {
  return run_unary(context, op, args.self().dtype(), Dtype::BOOL, args.self(), args.out());
}

etb_status bitwise_not_out(KernelContext& context, UnaryArguments args) {
  const Dtype dtype = args.self().dtype();
  if (is_floating(dtype))
    return context.fail(ETB_INVALID_TYPE, "the input is %s, expected integers or bool", to_text(dtype));
  const UnaryOp op = is_bool(dtype) ? UnaryOp::logical_not : UnaryOp::bitwise_not;
  return run_unary(context, op, dtype, dtype, args.self(), args.out());
}

etb_status polygamma_out(KernelContext& context, ops::polygamma_out<KernelArguments> args) {
  const Dtype dtype = real_dtype(args.self().dtype());
  LoopParams params;
  params.set(0, args.n());
  return run_unary(context, UnaryOp::polygamma, dtype, dtype, args.self(), args.out(), kSpecialWork, params);
}

// Ops whose input is named x.
template <UnaryOp op, int64_t work = kSpecialWork>
etb_status run_real_of_x(KernelContext& context,
                         ops::special_scaled_modified_bessel_k0_out<KernelArguments> args) {
  const Dtype dtype = real_dtype(args.x().dtype());
  return run_unary(context, op, dtype, dtype, args.x(), args.out(), work);
}

constexpr Kernel kRows[] = {
#define ETB_UNARY_SAME(op, real, integer) kernel_row<ops::op##_out, run_same<UnaryOp::op>>(Overlap::kExact),
#define ETB_UNARY_REAL(op, real) kernel_row<ops::op##_out, run_real<UnaryOp::op>>(Overlap::kExact),
#define ETB_UNARY_SPECIAL(op, real) kernel_row<ops::op##_out, run_special<UnaryOp::op>>(Overlap::kExact),
#define ETB_UNARY_BOOL(op, real, integer) kernel_row<ops::op##_out, run_bool<UnaryOp::op>>(Overlap::kExact),
#define ETB_UNARY_LOOP(op, real, integer)
#include "host/kernels/vector/unary.def"
    kernel_row<ops::bitwise_not_out, bitwise_not_out>(Overlap::kExact),
    kernel_row<ops::polygamma_out, polygamma_out>(Overlap::kExact),
    kernel_row<ops::special_airy_ai_out, run_real_of_x<UnaryOp::airy_ai, 8 * kSpecialWork>>(Overlap::kExact),
    kernel_row<ops::special_scaled_modified_bessel_k0_out, run_real_of_x<UnaryOp::scaled_k0>>(
        Overlap::kExact),
    kernel_row<ops::special_scaled_modified_bessel_k1_out, run_real_of_x<UnaryOp::scaled_k1>>(
        Overlap::kExact),
};

}  // namespace

ETB_PUBLISH_KERNELS(unary, kRows);

}  // namespace etb::host
