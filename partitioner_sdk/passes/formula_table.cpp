// SPDX-License-Identifier: Apache-2.0
// The decompositions that are formulas. They follow torch/_decomp and torch/_refs: the order of steps
// determines rounding.
#include "partitioner_sdk/passes/formula.hpp"

namespace etb::passes {

std::span<const Formula> formula_table() {
  static constexpr Formula kRows[] = {
      {"aten.__xor__.Scalar", "bitwise_xor.Scalar(self, other)"},
      {"aten.__xor__.Tensor", "bitwise_xor(self, other)"},
      {"aten._log_softmax_backward_data.default",
       "to.dtype(sub(grad_output, mul(exp(output), sum.dim_IntList(grad_output, [dim], true))), "
       "input_dtype)"},
      {"aten._prelu_kernel.default", "where.self(gt.Scalar(self, 0), self, mul(weight, self))"},
      {"aten._prelu_kernel_backward.default",
       "where.self(gt.Scalar(self, 0), grad_output, mul(weight, grad_output)); "
       "where.ScalarSelf(gt.Scalar(self, 0), 0, mul(self, grad_output))"},
      {"aten._reshape_alias.default", "view(self, size)"},
      {"aten._safe_softmax.default",
       "where.ScalarSelf(all.dim(eq.Scalar(self, -inf), dim, true), 0, softmax.int(self, dim, dtype))"},
      {"aten._softmax_backward_data.default",
       "o = to.dtype(output, wide_of(grad_output)); g = mul(to.dtype(grad_output, wide_of(grad_output)), o);"
       "to.dtype(sub(g, mul(o, sum.dim_IntList(g, [dim], true))), input_dtype)"},
      {"aten._unsafe_index.Tensor", "index(self, indices)"},
      {"aten._unsafe_index_put.default", "index_put(self, indices, values, accumulate)"},
      {"aten.absolute.default", "abs(self)"},
      {"aten.addbmm.default",
       "p = scaled(sum.dim_IntList(bmm(batch1, batch2), [0], dtype=dtype_of(self)), alpha);"
       "if(nonzero(beta), add(scaled(self, beta), p), p)"},
      {"aten.addcdiv.default", "add(self, mul(div(tensor1, tensor2), value))"},
      {"aten.addcmul.default", "add(self, mul(mul(tensor1, tensor2), value))"},
      {"aten.addmv.default",
       "p = scaled(mv(mat, vec), alpha); if(nonzero(beta), add(scaled(self, beta), p), p)"},
      {"aten.addr.default",
       "p = scaled(outer.default(vec1, vec2), alpha); if(nonzero(beta), add(scaled(self, beta), p), p)"},
      {"aten.adjoint.default", "mT.default(self)"},
      {"aten.all.default", "logical_not(any.dims(logical_not(self), none))"},
      {"aten.all.dims", "logical_not(any.dims(logical_not(self), dim, keepdim))"},
      {"aten.aminmax.default",
       "amin(self, if(dim, [dim], []), keepdim); amax(self, if(dim, [dim], []), keepdim)"},
      {"aten.angle.default",
       "x = to.dtype(self, float_of(self)); where.self(isnan(x), x, mul(to.dtype(lt.Scalar(x, 0), "
       "dtype_of(x)), 3.141592653589793))"},
      {"aten.arccos.default", "acos(self)"},
      {"aten.arccosh.default", "acosh(self)"},
      {"aten.arcsin.default", "asin(self)"},
      {"aten.arcsinh.default", "asinh(self)"},
      {"aten.arctan.default", "atan(self)"},
      {"aten.arctan2.default", "atan2.default(self, other)"},
      {"aten.arctanh.default", "atanh(self)"},
      {"aten.baddbmm.default",
       "p = scaled(bmm(batch1, batch2), alpha); if(nonzero(beta), add(scaled(self, beta), p), p)"},
      {"aten.binary_cross_entropy.default",
       "l = sub(mul(sub(target, 1.0), clamp.default(log1p(neg(self)), -100, none)), mul(target, "
       "clamp.default(log(self), -100, none)));"
       "reduced(if(weight, mul(l, weight), l), reduction)"},
      {"aten.binary_cross_entropy_backward.default",
       "g = div(mul(averaged(grad_output, self, reduction), sub(self, target)), "
       "clamp.default(mul(neg(sub(self, 1.0)), self), 1e-12, none)); if(weight, mul(g, weight), g)"},
      {"aten.binary_cross_entropy_with_logits.default",
       "s = log_sigmoid(self);"
       "w = if(pos_weight, add(mul(sub(pos_weight, 1.0), target), 1.0), none);"
       "l = sub(mul(neg(sub(target, 1.0)), self), if(pos_weight, mul(w, s), s));"
       "reduced(if(weight, mul(l, weight), l), reduction)"},
      {"aten.broadcast_to.default", "expand(self, size)"},
      {"aten.bucketize.Scalar",
       "x = to.dtype(boundaries, dtype_of(boundaries, self)); searchsorted.Tensor(x, "
       "scalar_tensor.default(self, dtype=dtype_of(x)), out_int32=out_int32, right=right)"},
      {"aten.bucketize.Tensor", "searchsorted.Tensor(boundaries, self, out_int32=out_int32, right=right)"},
      {"aten.cholesky.default", "linalg_cholesky_ex.default(self, upper=upper, check_errors=true)"},
      {"aten.clamp_max.Tensor", "minimum(self, max)"},
      {"aten.clamp_min.Tensor", "maximum(self, min)"},
      {"aten.clip.Tensor", "clamp.Tensor(self, min, max)"},
      {"aten.clip.default", "clamp.default(self, min, max)"},
      {"aten.concat.default", "cat(tensors, dim)"},
      {"aten.concatenate.default", "cat(tensors, dim)"},
      {"aten.copysign.Scalar", "copysign(self, scalar_tensor.default(other, dtype=float_of(self)))"},
      {"aten.copysign.Tensor",
       "m = abs(to.dtype(self, float_of(self, other)));"
       "where.self(logical_or(lt.Scalar(other, 0), lt.Scalar(reciprocal(other), 0)), neg(m), m)"},
      {"aten.cosine_embedding_loss.default",
       "c = div(sum.dim_IntList(mul(input1, input2), [-1]), sqrt(mul(add(sum.dim_IntList(mul(input1, "
       "input1), [-1]), 1e-12), add(sum.dim_IntList(mul(input2, input2), [-1]), 1e-12))));"
       "reduced(add(where.ScalarOther(eq.Scalar(target, 1), neg(sub(c, 1.0)), 0), "
       "where.ScalarOther(eq.Scalar(target, -1), clamp.default(sub(c, margin), 0, none), 0)), reduction)"},
      {"aten.cosine_similarity.default",
       "n = linalg_vector_norm(x1, 2, [dim], true); m = linalg_vector_norm(x2, 2, [dim], true);"
       "sum.dim_IntList(mul(div(x1, clamp.default(n, eps)), div(x2, clamp.default(m, eps))), [dim])"},
      {"aten.cumulative_trapezoid.dx",
       "cumsum(mul(mul(add(slice.Tensor(y, dim, 1), slice.Tensor(y, dim, 0, -1)), 0.5), dx), dim)"},
      {"aten.deg2rad.default", "mul(self, 0.017453292519943295)"},
      {"aten.det.default", "linalg_det.default(self)"},
      {"aten.dist.default", "linalg_vector_norm(sub(self, other), p)"},
      {"aten.divide.Scalar", "div(self, other)"},
      {"aten.divide.Scalar_mode", "div.Scalar_mode(self, other, rounding_mode=rounding_mode)"},
      {"aten.divide.Tensor", "div(self, other)"},
      {"aten.divide.Tensor_mode", "div.Tensor_mode(self, other, rounding_mode=rounding_mode)"},
      {"aten.dot.default", "sum.dim_IntList(mul(self, tensor), [0], dtype=dtype_of(self, tensor))"},
      {"aten.elu_backward.default",
       "x = self_or_result; n = if(is_result, mul(add(x, mul(scalar_tensor.default(alpha, "
       "dtype=dtype_of(x)), scale)), input_scale), mul(mul(mul(exp(mul(x, input_scale)), input_scale), "
       "alpha), scale)); mul(grad_output, where.self(le.Scalar(x, 0), n, full_like(x, scale)))"},
      {"aten.exp2.default", "pow.Scalar(2.0, self)"},
      {"aten.fill.Tensor", "expand_as(to.dtype(value, dtype_of(self)), self)"},
      {"aten.fix.default", "trunc(self)"},
      {"aten.fliplr.default", "flip(self, [1])"},
      {"aten.flipud.default", "flip(self, [0])"},
      {"aten.float_power.Scalar", "pow.Scalar(self, to.dtype(exponent, float64))"},
      {"aten.float_power.Tensor_Scalar", "pow.Tensor_Scalar(to.dtype(self, float64), exponent)"},
      {"aten.float_power.Tensor_Tensor",
       "pow.Tensor_Tensor(to.dtype(self, float64), to.dtype(exponent, float64))"},
      {"aten.fmax.default",
       "x = to.dtype(self, dtype_of(self, other)); y = to.dtype(other, dtype_of(self, other));"
       "where.self(logical_or(ge(x, y), isnan(y)), x, y)"},
      {"aten.fmin.default",
       "x = to.dtype(self, dtype_of(self, other)); y = to.dtype(other, dtype_of(self, other));"
       "where.self(logical_or(le(x, y), isnan(y)), x, y)"},
      {"aten.frac.default", "sub(self, trunc(self))"},
      {"aten.frobenius_norm.dim", "linalg_vector_norm(self, 2, dim, keepdim)"},
      {"aten.ger.default", "outer.default(self, vec2)"},
      {"aten.greater.Scalar", "gt.Scalar(self, other)"},
      {"aten.greater.Tensor", "gt(self, other)"},
      {"aten.greater_equal.Scalar", "ge.Scalar(self, other)"},
      {"aten.greater_equal.Tensor", "ge(self, other)"},
      {"aten.hardshrink.default", "where.ScalarSelf(le.Scalar(abs(self), lambd), 0, self)"},
      {"aten.hardshrink_backward.default", "where.ScalarSelf(le.Scalar(abs(self), lambd), 0, grad_out)"},
      {"aten.hardsigmoid_backward.default",
       "where.ScalarOther(lt.Scalar(abs(self), 3), mul(grad_output, 0.16666666666666666), 0)"},
      {"aten.hardswish_backward.default",
       "where.ScalarSelf(le.Scalar(self, -3), 0, where.self(lt.Scalar(self, 3), mul(grad_output, "
       "add(mul(self, 0.3333333333333333), 0.5)), grad_output))"},
      {"aten.hardtanh_backward.default",
       "where.ScalarSelf(logical_or(le.Scalar(self, min_val), ge.Scalar(self, max_val)), 0, grad_output)"},
      {"aten.heaviside.default",
       "where.self(eq.Scalar(self, 0), values, to.dtype(gt.Scalar(self, 0), dtype_of(self)))"},
      {"aten.hinge_embedding_loss.default",
       "m = clamp.default(neg(sub(self, margin)), 0, none);"
       "reduced(add(where.ScalarOther(ne.Scalar(target, 1), m, 0), where.ScalarOther(ne.Scalar(target, -1), "
       "self, 0)), reduction)"},
      {"aten.huber_loss.default",
       "z = abs(sub(self, target));"
       "reduced(where.self(lt.Scalar(z, delta), mul(mul(z, 0.5), z), mul(sub(z, delta, alpha=0.5), delta)), "
       "reduction)"},
      {"aten.huber_loss_backward.default",
       "d = sub(self, target); mul(averaged(grad_output, self, reduction), where.self(lt.Scalar(abs(d), "
       "delta), d, mul(sign(d), delta)))"},
      {"aten.inverse.default", "linalg_inv.default(self)"},
      {"aten.isclose.default",
       "c = eq(self, other);"
       "e = if(equal_nan, logical_or(c, logical_and(isnan(self), isnan(other))), c);"
       "d = abs(sub(self, other));"
       "logical_or(e, logical_and(isfinite(d), le(d, add(abs(mul(other, rtol)), atol))))"},
      {"aten.isfinite.default", "logical_not(logical_or(isinf(self), isnan(self)))"},
      {"aten.isneginf.default", "eq.Scalar(self, -inf)"},
      {"aten.isposinf.default", "eq.Scalar(self, inf)"},
      {"aten.isreal.default", "full_like(self, true, dtype=bool)"},
      {"aten.kl_div.default",
       "reduced(if(log_target, mul(exp(target), sub(target, self)), sub(xlogy.Tensor(target, target), "
       "mul(target, self))), reduction)"},
      {"aten.l1_loss.default", "reduced(abs(sub(self, target)), reduction)"},
      {"aten.ldexp.Tensor", "mul(self, pow.Scalar(2.0, other))"},
      {"aten.leaky_relu_backward.default",
       "where.self(gt.Scalar(self, 0), grad_output, mul(grad_output, negative_slope))"},
      {"aten.lerp.Scalar", "lerp.Tensor(self, end, scalar_tensor.default(weight, dtype=wide_of(self)))"},
      {"aten.lerp.Tensor",
       "s = to.dtype(self, wide_of(self)); e = to.dtype(end, wide_of(self)); w = to.dtype(weight, "
       "wide_of(self)); h = ge.Scalar(abs(w), 0.5); to.dtype(add(mul(where.self(h, sub(w, 1.0), w), "
       "sub(e, s)), where.self(h, e, s)), dtype_of(self))"},
      {"aten.less.Scalar", "lt.Scalar(self, other)"},
      {"aten.less.Tensor", "lt(self, other)"},
      {"aten.less_equal.Scalar", "le.Scalar(self, other)"},
      {"aten.less_equal.Tensor", "le(self, other)"},
      {"aten.linalg_cholesky.default", "linalg_cholesky_ex.default(self, upper=upper, check_errors=true)"},
      {"aten.linalg_diagonal.default", "diagonal(A, offset, dim1, dim2)"},
      {"aten.linalg_matrix_power.default", "matrix_power.default(self, n)"},
      {"aten.linalg_vecdot.default", "sum.dim_IntList(mul(x, y), [dim])"},
      {"aten.log_sigmoid_backward.default", "mul(grad_output, sigmoid(neg(self)))"},
      {"aten.log_sigmoid_forward.default", "log_sigmoid(self); exp(neg(abs(self)))"},
      {"aten.logaddexp.default",
       "x = to.dtype(self, wide_of(self, other)); y = to.dtype(other, wide_of(self, other));"
       "m = maximum(x, y); d = neg(abs(sub(x, y)));"
       "to.dtype(where.self(logical_and(isinf(m), eq(x, y)), x, add(m, log1p(exp(d)))), float_of(self, "
       "other))"},
      {"aten.logaddexp2.default",
       "x = to.dtype(self, wide_of(self, other)); y = to.dtype(other, wide_of(self, other));"
       "m = maximum(x, y); d = mul(neg(abs(sub(x, y))), 0.6931471805599453);"
       "to.dtype(where.self(logical_and(isinf(m), eq(x, y)), x, add(m, mul(log1p(exp(d)), "
       "1.4426950408889634))), float_of(self, other))"},
      {"aten.logit_backward.default",
       "g = div(grad_output, mul(self, neg(sub(self, 1.0)))); if(eps, "
       "where.ScalarSelf(logical_or(lt.Scalar(self, eps), gt.Scalar(self, sub(scalar_tensor.default(1.0, "
       "dtype=dtype_of(self)), eps))), 0, g), g)"},
      {"aten.lu_solve.default", "linalg_lu_solve.default(LU_data, LU_pivots, self)"},
      {"aten.mH.default", "mT.default(self)"},
      {"aten.margin_ranking_loss.default",
       "reduced(clamp.default(add(neg(mul(target, sub(input1, input2))), margin), 0, none), reduction)"},
      {"aten.matrix_H.default", "mT.default(self)"},
      {"aten.matrix_exp.default", "linalg_matrix_exp.default(self)"},
      {"aten.max.other", "maximum(self, other)"},
      {"aten.min.other", "minimum(self, other)"},
      {"aten.mish_backward.default",
       "t = tanh(softplus.default(self)); mul(grad_output, add(t, mul(mul(self, sigmoid(self)), "
       "neg(sub(mul(t, t), 1.0)))))"},
      {"aten.mse_loss.default", "reduced(pow.Tensor_Scalar(sub(self, target), 2), reduction)"},
      {"aten.mse_loss_backward.default",
       "mul(mul(averaged(grad_output, self, reduction), sub(self, target)), 2.0)"},
      {"aten.multiply.Scalar", "mul(self, other)"},
      {"aten.multiply.Tensor", "mul(self, other)"},
      {"aten.mv.default", "squeeze.dims(mm(self, unsqueeze(vec, 1)), [1])"},
      {"aten.nanmean.default",
       "div(nansum.default(self, dim, keepdim, dtype=dtype), sum.dim_IntList(logical_not(isnan(self)), dim, "
       "keepdim))"},
      {"aten.nansum.default",
       "sum.dim_IntList(where.ScalarSelf(isnan(self), 0, self), dim, keepdim, dtype=dtype)"},
      {"aten.native_dropout_backward.default", "mul(mul(grad_output, mask), scale)"},
      {"aten.not_equal.Scalar", "ne.Scalar(self, other)"},
      {"aten.not_equal.Tensor", "ne(self, other)"},
      {"aten.nuclear_norm.default", "linalg_matrix_norm.str_ord(self, \"nuc\", [-2, -1], keepdim)"},
      {"aten.nuclear_norm.dim", "linalg_matrix_norm.str_ord(self, \"nuc\", dim, keepdim)"},
      {"aten.orgqr.default", "linalg_householder_product.default(self, input2)"},
      {"aten.pairwise_distance.default", "linalg_vector_norm(add(sub(x1, x2), eps), p, [-1], keepdim)"},
      {"aten.poisson_nll_loss.default",
       "l = if(log_input, sub(exp(input), mul(target, input)), sub(input, mul(target, log(add(input, "
       "eps)))));"
       "s = if(full, where.ScalarSelf(le.Scalar(target, 1), 0, add(sub(mul(target, log(target)), target), "
       "mul(log(mul(target, 6.283185307179586)), 0.5))), none);"
       "reduced(if(full, add(l, s), l), reduction)"},
      {"aten.rad2deg.default", "mul(self, 57.29577951308232)"},
      {"aten.real.default", "self"},
      {"aten.row_stack.default", "vstack.default(tensors)"},
      {"aten.searchsorted.Scalar",
       "x = to.dtype(sorted_sequence, dtype_of(sorted_sequence, self)); searchsorted.Tensor(x, "
       "scalar_tensor.default(self, dtype=dtype_of(x)), out_int32=out_int32, right=right, side=side, "
       "sorter=sorter)"},
      {"aten.sgn.default", "sign(self)"},
      {"aten.sigmoid_backward.default", "mul(grad_output, mul(neg(sub(output, 1.0)), output))"},
      {"aten.signbit.default", "logical_or(lt.Scalar(self, 0), lt.Scalar(reciprocal(self), 0))"},
      {"aten.silu_backward.default",
       "s = sigmoid(self); mul(mul(grad_output, s), add(mul(self, neg(sub(s, 1.0))), 1.0))"},
      {"aten.sinc.default",
       "p = mul(self, 3.141592653589793); where.ScalarSelf(eq.Scalar(p, 0), 1, div(sin(p), p))"},
      {"aten.smooth_l1_loss.default",
       "d = abs(sub(self, target));"
       "reduced(where.self(lt.Scalar(d, beta), div(mul(pow.Tensor_Scalar(d, 2), 0.5), beta), sub(d, beta, "
       "alpha=0.5)), reduction)"},
      {"aten.smooth_l1_loss_backward.default",
       "d = sub(self, target); mul(averaged(grad_output, self, reduction), where.self(lt.Scalar(abs(d), "
       "beta), div(d, beta), sign(d)))"},
      {"aten.soft_margin_loss.default", "reduced(log1p(exp(neg(mul(target, self)))), reduction)"},
      {"aten.soft_margin_loss_backward.default",
       "mul(averaged(grad_output, self, reduction), neg(mul(target, sigmoid(neg(mul(target, self))))))"},
      {"aten.softplus_backward.default",
       "z = mul(self, beta); where.self(gt.Scalar(z, threshold), grad_output, mul(grad_output, sigmoid(z)))"},
      {"aten.softshrink.default",
       "where.ScalarOther(gt.Scalar(abs(self), lambd), sub(self, mul(sign(self), lambd)), 0)"},
      {"aten.softshrink_backward.default", "where.ScalarSelf(le.Scalar(abs(self), lambd), 0, grad_output)"},
      {"aten.special_digamma.default", "digamma.default(self)"},
      {"aten.special_entr.default",
       "where.self(gt.Scalar(self, 0), neg(mul(self, log(self))), where.ScalarSelf(eq.Scalar(self, 0), 0, "
       "where.ScalarSelf(lt.Scalar(self, 0), -inf, self)))"},
      {"aten.special_erf.default", "erf(self)"},
      {"aten.special_erfc.default", "erfc.default(self)"},
      {"aten.special_erfinv.default", "erfinv.default(self)"},
      {"aten.special_exp2.default", "exp2.default(self)"},
      {"aten.special_expit.default", "sigmoid(self)"},
      {"aten.special_expm1.default", "expm1(self)"},
      {"aten.special_gammainc.default", "igamma.default(self, other)"},
      {"aten.special_gammaincc.default", "igammac.default(self, other)"},
      {"aten.special_gammaln.default", "lgamma.default(self)"},
      {"aten.special_i0.default", "i0.default(self)"},
      {"aten.special_log1p.default", "log1p(self)"},
      {"aten.special_log_softmax.default", "log_softmax.int(self, dim, dtype)"},
      {"aten.special_logit.default", "logit(self, eps)"},
      {"aten.special_logsumexp.default", "logsumexp(self, dim, keepdim)"},
      {"aten.special_multigammaln.default", "mvlgamma.default(self, p)"},
      {"aten.special_ndtr.default", "mul(add(erf(mul(self, 0.7071067811865476)), 1.0), 0.5)"},
      {"aten.special_polygamma.default", "polygamma.default(n, self)"},
      {"aten.special_psi.default", "digamma.default(self)"},
      {"aten.special_round.default", "round.decimals(self, decimals=decimals)"},
      {"aten.special_sinc.default", "sinc(self)"},
      {"aten.special_softmax.default", "softmax.int(self, dim, dtype)"},
      {"aten.special_spherical_bessel_j0.default",
       "z = to.dtype(x, float_of(x)); where.ScalarSelf(eq.Scalar(z, 0), 1, where.ScalarSelf(isinf(z), "
       "0, div(sin(z), z)))"},
      {"aten.special_xlog1py.default",
       "where.self(isnan(other), other, where.ScalarSelf(eq.Scalar(self, 0), 0, mul(self, log1p(other))))"},
      {"aten.special_xlogy.default", "xlogy.Tensor(self, other)"},
      {"aten.special_zeta.other_scalar",
       "special_zeta.default(self, scalar_tensor.default(other, dtype=float_of(self)))"},
      {"aten.special_zeta.self_scalar",
       "special_zeta.default(scalar_tensor.default(self, dtype=float_of(other)), other)"},
      {"aten.squeeze_copy.default", "clone(squeeze.default(self))"},
      {"aten.squeeze_copy.dim", "squeeze_copy.dims(self, [dim])"},
      {"aten.std.default", "sqrt(var.default(self, unbiased))"},
      {"aten.std_mean.correction",
       "sqrt(var.correction(self, dim, correction=correction, keepdim=keepdim)); mean.dim(self, dim, "
       "keepdim)"},
      {"aten.std_mean.dim",
       "sqrt(var.dim(self, dim, unbiased, keepdim));"
       " mean.dim(self, dim, keepdim)"},
      {"aten.subtract.Scalar", "sub(self, other)"},
      {"aten.subtract.Tensor", "sub(self, other)"},
      {"aten.swapaxes.default", "transpose.int(self, axis0, axis1)"},
      {"aten.swapdims.default", "transpose.int(self, dim0, dim1)"},
      {"aten.tanh_backward.default", "mul(grad_output, neg(sub(mul(output, output), 1.0)))"},
      {"aten.threshold.default", "where.ScalarSelf(le.Scalar(self, threshold), value, self)"},
      {"aten.threshold_backward.default", "where.ScalarSelf(le.Scalar(self, threshold), 0, grad_output)"},
      {"aten.trace.default", "sum.dim_IntList(diagonal(self, 0, 0, 1), [0])"},
      {"aten.trapezoid.dx",
       "mul(sub(sum.dim_IntList(y, [dim]), mul(add(select.int(y, dim, 0), select.int(y, dim, -1)), 0.5)), "
       "dx)"},
      {"aten.trapz.dx", "trapezoid.dx(y, dx=dx, dim=dim)"},
      {"aten.triplet_margin_loss.default",
       "n = pairwise_distance(anchor, negative, p, eps);"
       "f = if(swap, minimum(n, pairwise_distance(positive, negative, p, eps)), n);"
       "reduced(clamp.default(sub(add(pairwise_distance(anchor, positive, p, eps), margin), f), 0, none), "
       "reduction)"},
      {"aten.true_divide.Scalar", "div(self, other)"},
      {"aten.true_divide.Tensor", "div(self, other)"},
      {"aten.var_mean.correction",
       "var.correction(self, dim, correction=correction, keepdim=keepdim); mean.dim(self, dim, keepdim)"},
      {"aten.var_mean.dim", "var.dim(self, dim, unbiased, keepdim); mean.dim(self, dim, keepdim)"},
      {"aten.vdot.default", "sum.dim_IntList(mul(self, other), [0], dtype=dtype_of(self, other))"},
      {"aten.xlogy.Tensor",
       "where.self(isnan(other), other, where.ScalarSelf(eq.Scalar(self, 0), 0, mul(self, log(other))))"},
  };
  return kRows;
}

}  // namespace etb::passes
