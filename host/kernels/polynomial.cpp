// SPDX-License-Identifier: Apache-2.0
// aten::special_..._polynomial_...: orthogonal polynomials by argument and degree. The loops are rows in vector/binary.def.
#include "host/kernels/kernel.hpp"
#include "ops/special_chebyshev_polynomial_t.hpp"
#include "ops/special_chebyshev_polynomial_u.hpp"
#include "ops/special_chebyshev_polynomial_v.hpp"
#include "ops/special_chebyshev_polynomial_w.hpp"
#include "ops/special_hermite_polynomial_h.hpp"
#include "ops/special_hermite_polynomial_he.hpp"
#include "ops/special_laguerre_polynomial_l.hpp"
#include "ops/special_legendre_polynomial_p.hpp"
#include "ops/special_shifted_chebyshev_polynomial_t.hpp"
#include "ops/special_shifted_chebyshev_polynomial_u.hpp"
#include "ops/special_shifted_chebyshev_polynomial_v.hpp"
#include "ops/special_shifted_chebyshev_polynomial_w.hpp"

namespace etb::host {
namespace {

// The arguments of all these ops: x and n may each be a tensor or a number.
struct PolynomialArguments : ops::special_chebyshev_polynomial_t_out<KernelArguments> {
  using Base = ops::special_chebyshev_polynomial_t_out<KernelArguments>;
  using Base::Base;
  static constexpr const char* kLetters = nullptr;
  const EValue& x() const { return value_at(Index::x); }
  const EValue& n() const { return value_at(Index::n); }
};

Operand to_operand(const EValue& value) {
  return value.is_tensor() ? Operand(value.tensor()) : Operand(value);
}

template <BinaryOp op>
etb_status run_polynomial(KernelContext& context, PolynomialArguments args) {
  const Operand inputs[] = {to_operand(args.x()), to_operand(args.n())};
  const Dtype dtype = real_dtype(result_dtype(inputs));
  const ElementLoop* loops = vector_table(context).loops(op);
  return run_elements(context, {loops, dtype, dtype, {}, 8 * kSpecialWork}, inputs, args.out());
}

#define ETB_POLYNOMIAL(op, loop)                                                                     \
  kernel_row<ops::special_##op##_out, run_polynomial<BinaryOp::loop>>(Overlap::kExact),              \
      kernel_row<ops::special_##op##_x_scalar_out, run_polynomial<BinaryOp::loop>>(Overlap::kExact), \
      kernel_row<ops::special_##op##_n_scalar_out, run_polynomial<BinaryOp::loop>>(Overlap::kExact)

constexpr Kernel kRows[] = {
    ETB_POLYNOMIAL(chebyshev_polynomial_t, chebyshev_t),
    ETB_POLYNOMIAL(chebyshev_polynomial_u, chebyshev_u),
    ETB_POLYNOMIAL(chebyshev_polynomial_v, chebyshev_v),
    ETB_POLYNOMIAL(chebyshev_polynomial_w, chebyshev_w),
    ETB_POLYNOMIAL(hermite_polynomial_h, hermite_h),
    ETB_POLYNOMIAL(hermite_polynomial_he, hermite_he),
    ETB_POLYNOMIAL(laguerre_polynomial_l, laguerre_l),
    ETB_POLYNOMIAL(legendre_polynomial_p, legendre_p),
    ETB_POLYNOMIAL(shifted_chebyshev_polynomial_t, shifted_chebyshev_t),
    ETB_POLYNOMIAL(shifted_chebyshev_polynomial_u, shifted_chebyshev_u),
    ETB_POLYNOMIAL(shifted_chebyshev_polynomial_v, shifted_chebyshev_v),
    ETB_POLYNOMIAL(shifted_chebyshev_polynomial_w, shifted_chebyshev_w),
};

}  // namespace

ETB_PUBLISH_KERNELS(polynomial, kRows);

}  // namespace etb::host
