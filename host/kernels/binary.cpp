// SPDX-License-Identifier: Apache-2.0
// Kernels that are one formula of two inputs: the loops are rows in vector/binary.def, the ops and their overloads rows here.
#include "host/kernels/kernel.hpp"

namespace etb::host {
namespace {

// How the result's dtype follows from the promoted one.
enum class Rule : uint8_t { kSame, kReal, kBool, kInteger };

etb_status run_binary(KernelContext& context, BinaryOp op, Rule rule, const EValue& left, const EValue& right,
                      const LoopParams& params, Tensor& out) {
  const Operand inputs[] = {left.is_tensor() ? Operand(left.tensor()) : Operand(left),
                            right.is_tensor() ? Operand(right.tensor()) : Operand(right)};
  Dtype common = result_dtype(inputs);
  if (rule == Rule::kReal) common = real_dtype(common);
  if (rule == Rule::kInteger && is_floating(common)) {
    return context.fail(ETB_INVALID_TYPE, "the inputs promote to %s, expected integers or bool",
                        to_text(common));
  }
  const ElementLoop* loops = vector_table(context).elements->binary[static_cast<int>(op)];
  return run_elements(context, {loops, common, rule == Rule::kBool ? Dtype::BOOL : common, params}, inputs,
                      out);
}

// op(self, other, out), where either may be a tensor or a number.
template <BinaryOp op, Rule rule>
etb_status run_plain(KernelContext& context, EValue** args) {
  return run_binary(context, op, rule, *args[0], *args[1], {}, args[2]->tensor());
}

// op(self, other, alpha, out)
template <BinaryOp op>
etb_status run_scaled(KernelContext& context, EValue** args) {
  LoopParams params;
  params.set(0, *args[2]);
  return run_binary(context, op, Rule::kSame, *args[0], *args[1], params, args[3]->tensor());
}

etb_status add_out(KernelContext& context, EValue** args) {
  if (args[2]->to_double() == 1.0)
    return run_binary(context, BinaryOp::add, Rule::kSame, *args[0], *args[1], {}, args[3]->tensor());
  return run_scaled<BinaryOp::add_scaled>(context, args);
}

etb_status sub_out(KernelContext& context, EValue** args) {
  if (args[2]->to_double() == 1.0)
    return run_binary(context, BinaryOp::sub, Rule::kSame, *args[0], *args[1], {}, args[3]->tensor());
  LoopParams params;
  if (args[2]->is_double()) {
    params.set(0, -args[2]->to_double());
  } else {
    params.set(0, static_cast<int64_t>(0 - static_cast<uint64_t>(args[2]->to_int())));
  }
  return run_binary(context, BinaryOp::add_scaled, Rule::kSame, *args[0], *args[1], params,
                    args[3]->tensor());
}

bool has_zero(KernelContext& context, const Operand& operand) {
  if (operand.tensor() == nullptr) return *static_cast<const int64_t*>(operand.data()) == 0;
  const auto* bytes = static_cast<const uint8_t*>(operand.data());
  const size_t nbytes = element_nbytes(operand.dtype());
  for (int64_t i = 0; i < operand.tensor()->numel() && !context.should_stop(1); ++i, bytes += nbytes) {
    bool is_zero = true;
    for (size_t k = 0; k < nbytes; ++k) is_zero = is_zero && bytes[k] == 0;
    if (is_zero) return true;
  }
  return false;
}

// Integer division refuses a zero among the divisors, as PyTorch does.
etb_status run_division(KernelContext& context, BinaryOp op, const EValue& left, const EValue& right,
                        Tensor& out) {
  const Operand inputs[] = {left.is_tensor() ? Operand(left.tensor()) : Operand(left),
                            right.is_tensor() ? Operand(right.tensor()) : Operand(right)};
  const Dtype dtype = result_dtype(inputs);
  if (!is_floating(dtype) && out.numel() != 0 && has_zero(context, inputs[1])) {
    return context.fail(ETB_INVALID_ARGUMENT, "an integer is divided by zero");
  }
  LoopParams params;
  // With a rank-0 divisor PyTorch stays in float.
  if (op == BinaryOp::div_trunc && inputs[1].rank() != 0) {
    params.set(0, significant_bits(dtype));
  }
  return run_binary(context, op, Rule::kSame, left, right, params, out);
}

template <BinaryOp op>
etb_status run_divided(KernelContext& context, EValue** args) {
  return run_division(context, op, *args[0], *args[1], args[2]->tensor());
}

// div(self, other, rounding_mode, out)
etb_status div_mode(KernelContext& context, EValue** args) {
  if (args[2]->is_none())
    return run_binary(context, BinaryOp::div, Rule::kReal, *args[0], *args[1], {}, args[3]->tensor());
  const std::string_view mode = args[2]->string();
  if (mode == "floor")
    return run_division(context, BinaryOp::div_floor, *args[0], *args[1], args[3]->tensor());
  if (mode == "trunc")
    return run_division(context, BinaryOp::div_trunc, *args[0], *args[1], args[3]->tensor());
  return context.fail(ETB_INVALID_ARGUMENT, "rounding mode '%.*s', expected floor or trunc",
                      static_cast<int>(mode.size()), mode.data());
}

// Shifts beyond the width of the promoted dtype have a value of their own, so the loop needs the width.
template <BinaryOp op>
etb_status run_shift(KernelContext& context, EValue** args) {
  const Operand inputs[] = {Operand(args[0]->tensor()),
                            args[1]->is_tensor() ? Operand(args[1]->tensor()) : Operand(*args[1])};
  LoopParams params;
  params.set(0, static_cast<int64_t>(element_nbytes(result_dtype(inputs)) * 8));
  return run_binary(context, op, Rule::kInteger, *args[0], *args[1], params, args[2]->tensor());
}

constexpr Kernel kRows[] = {
#define ETB_TENSOR_AND_SCALAR(op, rule)                                          \
  {"aten::" #op ".Tensor_out", "T=T=T!", run_plain<BinaryOp::op, Rule::rule>}, { \
    "aten::" #op ".Scalar_out", "T=ST!", run_plain<BinaryOp::op, Rule::rule>     \
  }
    {"aten::add.out", "T=T=ST!", add_out},
    {"aten::add.Scalar_out", "T=SST!", add_out},
    {"aten::sub.out", "T=T=ST!", sub_out},
    {"aten::sub.Scalar_out", "T=SST!", sub_out},
    {"aten::rsub.Scalar_out", "T=SST!", run_scaled<BinaryOp::rsub_scaled>},
    {"aten::mul.out", "T=T=T!", run_plain<BinaryOp::mul, Rule::kSame>},
    {"aten::mul.Scalar_out", "T=ST!", run_plain<BinaryOp::mul, Rule::kSame>},
    {"aten::div.out", "T=T=T!", run_plain<BinaryOp::div, Rule::kReal>},
    {"aten::div.Scalar_out", "T=ST!", run_plain<BinaryOp::div, Rule::kReal>},
    {"aten::div.out_mode", "T=T=yT!", div_mode},
    {"aten::div.Scalar_mode_out", "T=SyT!", div_mode},
    {"aten::floor_divide.out", "T=T=T!", run_divided<BinaryOp::div_floor>},
    {"aten::fmod.Tensor_out", "T=T=T!", run_divided<BinaryOp::fmod>},
    {"aten::fmod.Scalar_out", "T=ST!", run_divided<BinaryOp::fmod>},
    {"aten::remainder.Tensor_out", "T=T=T!", run_divided<BinaryOp::remainder>},
    {"aten::remainder.Scalar_out", "T=ST!", run_divided<BinaryOp::remainder>},
    {"aten::pow.Tensor_Tensor_out", "T=T=T!", run_plain<BinaryOp::pow, Rule::kSame>},
    {"aten::pow.Tensor_Scalar_out", "T=ST!", run_plain<BinaryOp::pow, Rule::kSame>},
    {"aten::pow.Scalar_out", "ST=T!", run_plain<BinaryOp::pow, Rule::kSame>},
    {"aten::atan2.out", "T=T=T!", run_plain<BinaryOp::atan2, Rule::kReal>},
    {"aten::maximum.out", "T=T=T!", run_plain<BinaryOp::maximum, Rule::kSame>},
    {"aten::minimum.out", "T=T=T!", run_plain<BinaryOp::minimum, Rule::kSame>},
    {"aten::bitwise_left_shift.Tensor_out", "T=T=T!", run_shift<BinaryOp::left_shift>},
    {"aten::bitwise_left_shift.Tensor_Scalar_out", "T=ST!", run_shift<BinaryOp::left_shift>},
    {"aten::bitwise_right_shift.Tensor_out", "T=T=T!", run_shift<BinaryOp::right_shift>},
    {"aten::bitwise_right_shift.Tensor_Scalar_out", "T=ST!", run_shift<BinaryOp::right_shift>},
    {"aten::logical_and.out", "T=T=T!", run_plain<BinaryOp::logical_and, Rule::kBool>},
    {"aten::logical_or.out", "T=T=T!", run_plain<BinaryOp::logical_or, Rule::kBool>},
    {"aten::logical_xor.out", "T=T=T!", run_plain<BinaryOp::logical_xor, Rule::kBool>},
    ETB_TENSOR_AND_SCALAR(bitwise_and, kInteger),
    ETB_TENSOR_AND_SCALAR(bitwise_or, kInteger),
    ETB_TENSOR_AND_SCALAR(bitwise_xor, kInteger),
    ETB_TENSOR_AND_SCALAR(eq, kBool),
    ETB_TENSOR_AND_SCALAR(ne, kBool),
    ETB_TENSOR_AND_SCALAR(lt, kBool),
    ETB_TENSOR_AND_SCALAR(le, kBool),
    ETB_TENSOR_AND_SCALAR(gt, kBool),
    ETB_TENSOR_AND_SCALAR(ge, kBool),
};

}  // namespace

ETB_PUBLISH_KERNELS(binary, kRows);

}  // namespace etb::host
