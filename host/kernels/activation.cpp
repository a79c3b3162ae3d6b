// SPDX-License-Identifier: Apache-2.0
// Activations and other formulas of one tensor with parameters.
#include <limits>

#include "host/kernels/dims.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/clamp.hpp"
#include "ops/elu.hpp"
#include "ops/gelu.hpp"
#include "ops/glu.hpp"
#include "ops/hardtanh.hpp"
#include "ops/leaky_relu.hpp"
#include "ops/logit.hpp"

namespace etb::host {
namespace {

etb_status run_formula(KernelContext& context, UnaryOp op, Dtype dtype, const LoopParams& params,
                       const Tensor& self, Tensor& out) {
  const Operand input(self);
  const ElementLoop* loops = vector_table(context).loops(op);
  return run_elements(context, {loops, dtype, dtype, params}, {&input, 1}, out);
}

etb_status expect_floating(KernelContext& context, const Tensor& self) {
  if (is_floating(self.dtype())) return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "the input is %s, expected a float", to_text(self.dtype()));
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// clamp(self, min, max, out): the bounds promote the result.
etb_status clamp_out(KernelContext& context, ops::clamp_out<KernelArguments> args) {
  if (args.min() == nullptr && args.max() == nullptr)
    return context.fail(ETB_INVALID_ARGUMENT, "neither min nor max is given");
  const EValue* const bounds[] = {args.min(), args.max()};
  Operand operands[3] = {Operand(args.self())};
  size_t count = 1;
  LoopParams params;
  params.set(0, -kInfinity);
  params.set(1, kInfinity);
  for (int i = 0; i < 2; ++i) {
    if (bounds[i] == nullptr) continue;
    operands[count++] = Operand(*bounds[i]);
    params.set(i, *bounds[i]);
  }
  return run_formula(context, UnaryOp::clamp, result_dtype({operands, count}), params, args.self(),
                     args.out());
}

etb_status clamp_tensor_out(KernelContext& context, ops::clamp_Tensor_out<KernelArguments> args) {
  const Tensor& self = args.self();
  const bool has_min = args.min() != nullptr, has_max = args.max() != nullptr;
  if (!has_min && !has_max) return context.fail(ETB_INVALID_ARGUMENT, "neither min nor max is given");
  Operand given[3] = {Operand(self)};
  size_t count = 1;
  if (has_min) given[count++] = Operand(*args.min());
  if (has_max) given[count++] = Operand(*args.max());
  const Dtype common = result_dtype({given, count});
  if (has_min && has_max) {
    const ElementLoop* loops = vector_table(context).loops(TernaryOp::clamp);
    return run_elements(context, {loops, common, common, {}}, given, args.out());
  }
  const ElementLoop* pair = vector_table(context).loops(has_min ? BinaryOp::maximum : BinaryOp::minimum);
  return run_elements(context, {pair, common, common, {}}, {given, 2}, args.out());
}

etb_status hardtanh_out(KernelContext& context, ops::hardtanh_out<KernelArguments> args) {
  LoopParams params;
  params.set(0, args.min_val());
  params.set(1, args.max_val());
  return run_formula(context, UnaryOp::clamp, args.self().dtype(), params, args.self(), args.out());
}

etb_status leaky_relu_out(KernelContext& context, ops::leaky_relu_out<KernelArguments> args) {
  ETB_CHECK(expect_floating(context, args.self()));
  LoopParams params;
  params.set(0, args.negative_slope());
  return run_formula(context, UnaryOp::leaky_relu, args.self().dtype(), params, args.self(), args.out());
}

etb_status elu_out(KernelContext& context, ops::elu_out<KernelArguments> args) {
  ETB_CHECK(expect_floating(context, args.self()));
  LoopParams params;
  params.set(0, args.alpha().to_double() * args.scale().to_double());
  params.set(1, args.scale());
  params.set(2, args.input_scale());
  return run_formula(context, UnaryOp::elu, args.self().dtype(), params, args.self(), args.out());
}

etb_status gelu_out(KernelContext& context, ops::gelu_out<KernelArguments> args) {
  ETB_CHECK(expect_floating(context, args.self()));
  const std::string_view approximate = args.approximate();
  if (approximate != "none" && approximate != "tanh") {
    return context.fail(ETB_INVALID_ARGUMENT, "approximate is '%.*s', expected none or tanh",
                        static_cast<int>(approximate.size()), approximate.data());
  }
  const UnaryOp op = approximate == "none" ? UnaryOp::gelu : UnaryOp::gelu_tanh;
  return run_formula(context, op, args.self().dtype(), {}, args.self(), args.out());
}

etb_status logit_out(KernelContext& context, ops::logit_out<KernelArguments> args) {
  LoopParams params;
  params.set(0, args.eps().value_or(-1.0));
  const Dtype dtype = real_dtype(args.self().dtype());
  params.set(1, significant_bits(dtype));
  return run_formula(context, UnaryOp::logit, dtype, params, args.self(), args.out());
}

// glu(self, dim, out): the first half of self along dim times the sigmoid of the second.
etb_status glu_out(KernelContext& context, ops::glu_out<KernelArguments> args) {
  const Tensor& self = args.self();
  ETB_CHECK(expect_floating(context, self));
  int dim = 0;
  if (self.rank() == 0)
    return context.fail(ETB_INVALID_ARGUMENT, "the input has rank 0, expected at least 1");
  ETB_CHECK(wrap_dim(context, args.dim(), self.rank(), &dim));
  if (self.size(dim) % 2 != 0) {
    return context.fail(ETB_INVALID_ARGUMENT, "dim %d has size %lld, expected an even one", dim,
                        static_cast<long long>(self.size(dim)));
  }
  int64_t sizes[kMaxRank];
  std::copy(self.sizes().begin(), self.sizes().end(), sizes);
  sizes[dim] /= 2;
  auto* second = self.data_as<char>();
  if (self.numel() != 0)
    second += static_cast<size_t>(sizes[dim] * self.stride(dim)) * element_nbytes(self.dtype());
  const std::span<const int64_t> half(sizes, static_cast<size_t>(self.rank()));
  const Operand inputs[2] = {Operand::view(self.data(), self.dtype(), half, self.strides()),
                             Operand::view(second, self.dtype(), half, self.strides())};
  const ElementLoop* loops = vector_table(context).loops(BinaryOp::mul_sigmoid);
  return run_elements(context, {loops, self.dtype(), self.dtype(), {}}, inputs, args.out());
}

constexpr Kernel kRows[] = {
    kernel_row<ops::clamp_out, clamp_out>(Overlap::kExact),
    kernel_row<ops::clamp_Tensor_out, clamp_tensor_out>(Overlap::kExact),
    kernel_row<ops::hardtanh_out, hardtanh_out>(Overlap::kExact),
    kernel_row<ops::leaky_relu_out, leaky_relu_out>(Overlap::kExact),
    kernel_row<ops::elu_out, elu_out>(Overlap::kExact),
    kernel_row<ops::gelu_out, gelu_out>(Overlap::kExact),
    kernel_row<ops::logit_out, logit_out>(Overlap::kExact),
    kernel_row<ops::glu_out, glu_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(activation, kRows);

}  // namespace etb::host
