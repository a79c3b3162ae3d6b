// SPDX-License-Identifier: Apache-2.0
// Gradients of normalisations. With x' = (x - mean) * rstd and g = grad * weight, the gradient of x is
// rstd * (g - mean(g) - x' * mean(g * x')), where means are over the elements that are normalised together.
#include <functional>

#include "ops/_weight_norm_interface_backward.hpp"
#include "ops/native_batch_norm_backward.hpp"
#include "ops/native_group_norm_backward.hpp"
#include "ops/native_layer_norm_backward.hpp"
#include "partitioner_sdk/passes/arithmetic.hpp"

namespace etb::passes {

namespace {

Dims range(size_t begin, size_t end) {
  Dims out;
  for (size_t i = begin; i < end; ++i) out.emplace_back(static_cast<int64_t>(i));
  return out;
}

ValueId input_gradient(Builder& b, ValueId grad, ValueId normal, ValueId rstd, const Dims& axes) {
  Arithmetic m(b);
  const ValueId along = m.mul(normal, m.mean(m.mul(grad, normal), axes, true));
  return m.mul(m.sub(m.sub(grad, m.mean(grad, axes, true)), along), rstd);
}

// The three gradients, each left out as the mask says.
template <class A>
Values masked_gradients(Builder& b, const A& a, ValueId input, const std::function<ValueId()>& weight,
                        const std::function<ValueId()>& bias) {
  Arithmetic m(b);
  const auto mask = a.output_mask();
  const Dtype dtype = a.input().spec().dtype;
  const Dtype parameter = a.weight().has_value() ? a.weight().spec().dtype : dtype;
  return {mask.at(0) ? to_dtype(b, input, dtype) : m.left_out(dtype),
          mask.at(1) ? to_dtype(b, weight(), parameter) : m.left_out(dtype),
          mask.at(2) ? to_dtype(b, bias(), parameter) : m.left_out(dtype)};
}

Values layer_norm_backward(Builder& b, const ops::native_layer_norm_backward_default<Call>& a) {
  Arithmetic m(b);
  const TensorSpec in = a.input().spec();
  const Dtype wide = wide_dtype(in.dtype);
  const Dims shape = a.normalized_shape().dims();
  if (shape.size() > in.rank()) {
    a.fail("normalized_shape has " + std::to_string(shape.size()) + " sizes, the input has rank " +
           std::to_string(in.rank()));
    return {};
  }
  const size_t lead = in.rank() - shape.size();
  const Dims outer = range(0, lead), axes = range(lead, in.rank());
  const ValueId grad = to_dtype(b, a.grad_out(), wide), rstd = to_dtype(b, a.rstd(), wide);
  const ValueId normal = m.mul(m.sub(to_dtype(b, a.input(), wide), to_dtype(b, a.mean(), wide)), rstd);
  const ValueId scaled = a.weight().has_value() ? m.mul(grad, to_dtype(b, a.weight(), wide)) : grad;
  return masked_gradients(
      b, a, input_gradient(b, scaled, normal, rstd, axes), [&] { return m.sum(m.mul(grad, normal), outer); },
      [&] { return m.sum(grad, outer); });
}

Values group_norm_backward(Builder& b, const ops::native_group_norm_backward_default<Call>& a) {
  Arithmetic m(b);
  const TensorSpec in = a.input().spec();
  const Dtype wide = wide_dtype(in.dtype);
  const Dims by_channel = {a.N().dim(), a.C().dim(), a.HxW().dim()};
  const Dims by_group = {a.N().dim(), a.group().dim(), Dim(-1)};
  const Dims statistics = {a.N().dim(), a.group().dim(), Dim(1)};
  const auto shaped = [&](ValueId value, const Dims& sizes) {
    return reshape(b, to_dtype(b, value, wide), sizes);
  };
  const ValueId grad = shaped(a.grad_out(), by_channel), rstd = shaped(a.rstd(), statistics);
  const ValueId normal = m.mul(m.sub(shaped(a.input(), by_group), shaped(a.mean(), statistics)), rstd);
  ValueId scaled = grad;
  if (a.weight().has_value()) scaled = m.mul(grad, shaped(a.weight(), {Dim(1), a.C().dim(), Dim(1)}));
  const ValueId input = input_gradient(b, shaped(scaled, by_group), normal, rstd, {Dim(-1)});
  const Dims others = {Dim(0), Dim(2)};
  return masked_gradients(
      b, a, reshape(b, input, in.sizes),
      [&] { return m.sum(m.mul(grad, shaped(normal, by_channel)), others); },
      [&] { return m.sum(grad, others); });
}

// In training, by the saved statistics of the batch; else by the running ones, which are constants.
Values batch_norm_backward(Builder& b, const ops::native_batch_norm_backward_default<Call>& a) {
  Arithmetic m(b);
  const TensorSpec in = a.input().spec();
  const Dtype wide = wide_dtype(in.dtype);
  const auto &mean = a.train() ? a.save_mean() : a.running_mean(),
             &spread = a.train() ? a.save_invstd() : a.running_var();
  if (in.rank() < 2 || !mean.has_value() || !spread.has_value()) {
    a.fail("the input has no channels, or the statistics are none");
    return {};
  }
  Dims shape(in.rank(), Dim(1)), axes = range(2, in.rank());
  shape[1] = in.sizes[1];
  axes.insert(axes.begin(), Dim(0));
  const auto spread_channels = [&](ValueId value) { return reshape(b, to_dtype(b, value, wide), shape); };
  ValueId rstd = spread_channels(spread);
  if (!a.train()) rstd = m.call("aten.rsqrt.default", m.plus(rstd, a.eps().number()));
  const ValueId grad = to_dtype(b, a.grad_out(), wide);
  const ValueId normal = m.mul(m.sub(to_dtype(b, a.input(), wide), spread_channels(mean)), rstd);
  const ValueId scaled = a.weight().has_value() ? m.mul(grad, spread_channels(a.weight())) : grad;
  const ValueId input = a.train() ? input_gradient(b, scaled, normal, rstd, axes) : m.mul(scaled, rstd);
  return masked_gradients(
      b, a, input, [&] { return m.sum(m.mul(grad, normal), axes); }, [&] { return m.sum(grad, axes); });
}

// w = v * g / |v|, with the norm over all dimensions but `dim`.
Values weight_norm_backward(Builder& b, const ops::_weight_norm_interface_backward_default<Call>& a) {
  Arithmetic m(b);
  const TensorSpec v = a.saved_v().spec();
  const Dtype wide = wide_dtype(v.dtype);
  const size_t kept = a.axis(a.dim().integer(), v.rank());
  Dims others;
  for (size_t i = 0; i < v.rank(); ++i)
    if (i != kept) others.emplace_back(static_cast<int64_t>(i));
  const ValueId grad = to_dtype(b, a.grad_w(), wide), direction = to_dtype(b, a.saved_v(), wide),
                length = to_dtype(b, a.saved_norms(), wide), scale = to_dtype(b, a.saved_g(), wide);
  const ValueId along = m.div(m.sum(m.mul(grad, direction), others, true), length);
  const ValueId across = m.sub(grad, m.mul(direction, m.div(along, length)));
  return {to_dtype(b, m.mul(across, m.div(scale, length)), v.dtype),
          to_dtype(b, along, a.saved_g().spec().dtype)};
}

}  // namespace

std::span<const Decomposition> norm_gradient_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_weight_norm_interface_backward_default, weight_norm_backward>(),
      row<ops::native_batch_norm_backward_default, batch_norm_backward>(),
      row<ops::native_group_norm_backward_default, group_norm_backward>(),
      row<ops::native_layer_norm_backward_default, layer_norm_backward>(),
  };
  return kRows;
}

}  // namespace etb::passes
