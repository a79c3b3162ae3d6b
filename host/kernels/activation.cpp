// SPDX-License-Identifier: Apache-2.0
// Activations and other formulas of one tensor with parameters.
#include <limits>

#include "host/kernels/dims.hpp"
#include "host/kernels/kernel.hpp"

namespace etb::host {
namespace {

etb_status run_formula(KernelContext& context, UnaryOp op, Dtype dtype, const LoopParams& params,
                       const Tensor& self, Tensor& out) {
  const Operand input(self);
  const ElementLoop* loops = vector_table(context).elements->unary[static_cast<int>(op)];
  return run_elements(context, {loops, dtype, dtype, params}, {&input, 1}, out);
}

etb_status expect_floating(KernelContext& context, const Tensor& self) {
  if (is_floating(self.dtype())) return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "the input is %s, expected a float", to_text(self.dtype()));
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// clamp(self, min, max, out): the bounds promote the result.
etb_status clamp_out(KernelContext& context, EValue** args) {
  if (args[1]->is_none() && args[2]->is_none())
    return context.fail(ETB_INVALID_ARGUMENT, "neither min nor max is given");
  Operand operands[3] = {Operand(args[0]->tensor())};
  size_t count = 1;
  LoopParams params;
  params.set(0, -kInfinity);
  params.set(1, kInfinity);
  for (int i = 0; i < 2; ++i) {
    if (args[1 + i]->is_none()) continue;
    operands[count++] = Operand(*args[1 + i]);
    params.set(i, *args[1 + i]);
  }
  return run_formula(context, UnaryOp::clamp, result_dtype({operands, count}), params, args[0]->tensor(),
                     args[3]->tensor());
}

etb_status clamp_tensor_out(KernelContext& context, EValue** args) {
  const Tensor& self = args[0]->tensor();
  const bool has_min = !args[1]->is_none(), has_max = !args[2]->is_none();
  if (!has_min && !has_max) return context.fail(ETB_INVALID_ARGUMENT, "neither min nor max is given");
  Operand given[3] = {Operand(self)};
  size_t count = 1;
  if (has_min) given[count++] = Operand(args[1]->tensor());
  if (has_max) given[count++] = Operand(args[2]->tensor());
  const Dtype common = result_dtype({given, count});
  if (has_min && has_max) {
    const ElementLoop* loops = vector_table(context).elements->ternary[static_cast<int>(TernaryOp::clamp)];
    return run_elements(context, {loops, common, common, {}}, given, args[3]->tensor());
  }
  const ElementLoop* pair =
      vector_table(context)
          .elements->binary[static_cast<int>(has_min ? BinaryOp::maximum : BinaryOp::minimum)];
  return run_elements(context, {pair, common, common, {}}, {given, 2}, args[3]->tensor());
}

etb_status hardtanh_out(KernelContext& context, EValue** args) {
  LoopParams params;
  params.set(0, *args[1]);
  params.set(1, *args[2]);
  return run_formula(context, UnaryOp::clamp, args[0]->tensor().dtype(), params, args[0]->tensor(),
                     args[3]->tensor());
}

etb_status leaky_relu_out(KernelContext& context, EValue** args) {
  if (const etb_status status = expect_floating(context, args[0]->tensor()); status != ETB_OK) return status;
  LoopParams params;
  params.set(0, *args[1]);
  return run_formula(context, UnaryOp::leaky_relu, args[0]->tensor().dtype(), params, args[0]->tensor(),
                     args[2]->tensor());
}

// elu(self, alpha, scale, input_scale, out)
etb_status elu_out(KernelContext& context, EValue** args) {
  if (const etb_status status = expect_floating(context, args[0]->tensor()); status != ETB_OK) return status;
  LoopParams params;
  params.set(0, args[1]->to_double() * args[2]->to_double());
  params.set(1, *args[2]);
  params.set(2, *args[3]);
  return run_formula(context, UnaryOp::elu, args[0]->tensor().dtype(), params, args[0]->tensor(),
                     args[4]->tensor());
}

etb_status gelu_out(KernelContext& context, EValue** args) {
  if (const etb_status status = expect_floating(context, args[0]->tensor()); status != ETB_OK) return status;
  const std::string_view approximate = args[1]->string();
  if (approximate != "none" && approximate != "tanh") {
    return context.fail(ETB_INVALID_ARGUMENT, "approximate is '%.*s', expected none or tanh",
                        static_cast<int>(approximate.size()), approximate.data());
  }
  const UnaryOp op = approximate == "none" ? UnaryOp::gelu : UnaryOp::gelu_tanh;
  return run_formula(context, op, args[0]->tensor().dtype(), {}, args[0]->tensor(), args[2]->tensor());
}

etb_status logit_out(KernelContext& context, EValue** args) {
  LoopParams params;
  params.set(0, args[1]->is_none() ? -1.0 : args[1]->to_double());
  const Dtype dtype = real_dtype(args[0]->tensor().dtype());
  params.set(1, significant_bits(dtype));
  return run_formula(context, UnaryOp::logit, dtype, params, args[0]->tensor(), args[2]->tensor());
}

// glu(self, dim, out): the first half of self along dim times the sigmoid of the second.
etb_status glu_out(KernelContext& context, EValue** args) {
  const Tensor& self = args[0]->tensor();
  if (const etb_status status = expect_floating(context, self); status != ETB_OK) return status;
  int dim = 0;
  if (self.rank() == 0)
    return context.fail(ETB_INVALID_ARGUMENT, "the input has rank 0, expected at least 1");
  if (const etb_status status = wrap_dim(context, args[1]->to_int(), self.rank(), &dim); status != ETB_OK)
    return status;
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
  const ElementLoop* loops = vector_table(context).elements->binary[static_cast<int>(BinaryOp::mul_sigmoid)];
  return run_elements(context, {loops, self.dtype(), self.dtype(), {}}, inputs, args[2]->tensor());
}

constexpr Kernel kRows[] = {
    {"aten::clamp.out", "T=ssT!", clamp_out},       {"aten::clamp.Tensor_out", "T=t=t=T!", clamp_tensor_out},
    {"aten::hardtanh.out", "T=SST!", hardtanh_out}, {"aten::leaky_relu.out", "T=ST!", leaky_relu_out},
    {"aten::elu.out", "T=SSST!", elu_out},          {"aten::gelu.out", "T=zT!", gelu_out},
    {"aten::logit.out", "T=eT!", logit_out},        {"aten::glu.out", "TiT!", glu_out},
};

}  // namespace

ETB_PUBLISH_KERNELS(activation, kRows);

}  // namespace etb::host
