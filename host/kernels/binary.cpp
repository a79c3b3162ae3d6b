// SPDX-License-Identifier: Apache-2.0
// Kernels that are one formula of two inputs: the loops are rows in vector/binary.def, the ops and their overloads rows here.
#include "host/kernels/kernel.hpp"
#include "ops/__lshift__.hpp"
#include "ops/__rshift__.hpp"
#include "ops/add.hpp"
#include "ops/atan2.hpp"
#include "ops/bitwise_and.hpp"
#include "ops/bitwise_left_shift.hpp"
#include "ops/bitwise_or.hpp"
#include "ops/bitwise_right_shift.hpp"
#include "ops/bitwise_xor.hpp"
#include "ops/div.hpp"
#include "ops/eq.hpp"
#include "ops/floor_divide.hpp"
#include "ops/fmod.hpp"
#include "ops/gcd.hpp"
#include "ops/ge.hpp"
#include "ops/gt.hpp"
#include "ops/hypot.hpp"
#include "ops/igamma.hpp"
#include "ops/igammac.hpp"
#include "ops/lcm.hpp"
#include "ops/le.hpp"
#include "ops/logical_and.hpp"
#include "ops/logical_or.hpp"
#include "ops/logical_xor.hpp"
#include "ops/lt.hpp"
#include "ops/maximum.hpp"
#include "ops/minimum.hpp"
#include "ops/mul.hpp"
#include "ops/ne.hpp"
#include "ops/nextafter.hpp"
#include "ops/pow.hpp"
#include "ops/remainder.hpp"
#include "ops/rsub.hpp"
#include "ops/special_zeta.hpp"
#include "ops/sub.hpp"

namespace etb::host {
namespace {

// How the result's dtype follows from the promoted one.
enum class Rule : uint8_t { kSame, kReal, kBool, kInteger };

// Arguments of an op whose self and other may each be a tensor or a number. One function serves all overloads.
template <template <class> class View>
struct Mixed : View<KernelArguments> {
  using Base = View<KernelArguments>;
  using Base::Base;
  static constexpr const char* kLetters = nullptr;
  const EValue& self() const { return Base::value_at(Base::Index::self); }
  const EValue& other() const { return Base::value_at(Base::Index::other); }
};

Operand to_operand(const EValue& value) {
  return value.is_tensor() ? Operand(value.tensor()) : Operand(value);
}

etb_status run_binary(KernelContext& context, BinaryOp op, Rule rule, const EValue& left, const EValue& right,
                      const LoopParams& params, Tensor& out, int64_t work = 1) {
  const Operand inputs[] = {to_operand(left), to_operand(right)};
  Dtype common = result_dtype(inputs);
  if (rule == Rule::kReal) common = real_dtype(common);
  if (rule == Rule::kInteger && is_floating(common)) {
    return context.fail(ETB_INVALID_TYPE, "the inputs promote to %s, expected integers or bool",
                        to_text(common));
  }
  const ElementLoop* loops = vector_table(context).loops(op);
  return run_elements(context, {loops, common, rule == Rule::kBool ? Dtype::BOOL : common, params, work},
                      inputs, out);
}

// op(self, other, out), where either may be a tensor or a number.
template <BinaryOp op, Rule rule, int64_t work = 1>
etb_status run_plain(KernelContext& context, Mixed<ops::mul_out> args) {
  return run_binary(context, op, rule, args.self(), args.other(), {}, args.out(), work);
}

// pow(self, exponent, out), where either may be a tensor or a number.
struct Power : ops::pow_Tensor_Tensor_out<KernelArguments> {
  using Base = ops::pow_Tensor_Tensor_out<KernelArguments>;
  using Base::Base;
  static constexpr const char* kLetters = nullptr;
  const EValue& self() const { return value_at(Index::self); }
  const EValue& exponent() const { return value_at(Index::exponent); }
};

etb_status pow_out(KernelContext& context, Power args) {
  return run_binary(context, BinaryOp::pow, Rule::kSame, args.self(), args.exponent(), {}, args.out());
}

template <BinaryOp op>
etb_status run_scaled(KernelContext& context, Mixed<ops::add_out> args) {
  LoopParams params;
  params.set(0, args.alpha());
  return run_binary(context, op, Rule::kSame, args.self(), args.other(), params, args.out());
}

etb_status add_out(KernelContext& context, Mixed<ops::add_out> args) {
  if (args.alpha().to_double() == 1.0)
    return run_binary(context, BinaryOp::add, Rule::kSame, args.self(), args.other(), {}, args.out());
  return run_scaled<BinaryOp::add_scaled>(context, args);
}

etb_status sub_out(KernelContext& context, Mixed<ops::add_out> args) {
  if (args.alpha().to_double() == 1.0)
    return run_binary(context, BinaryOp::sub, Rule::kSame, args.self(), args.other(), {}, args.out());
  LoopParams params;
  if (args.alpha().is_double()) {
    params.set(0, -args.alpha().to_double());
  } else {
    params.set(0, static_cast<int64_t>(0 - static_cast<uint64_t>(args.alpha().to_int())));
  }
  return run_binary(context, BinaryOp::add_scaled, Rule::kSame, args.self(), args.other(), params,
                    args.out());
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
  const Operand inputs[] = {to_operand(left), to_operand(right)};
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
etb_status run_divided(KernelContext& context, Mixed<ops::mul_out> args) {
  return run_division(context, op, args.self(), args.other(), args.out());
}

etb_status div_mode(KernelContext& context, Mixed<ops::div_out_mode> args) {
  if (!args.rounding_mode().has_value())
    return run_binary(context, BinaryOp::div, Rule::kReal, args.self(), args.other(), {}, args.out());
  const std::string_view mode = *args.rounding_mode();
  if (mode == "floor")
    return run_division(context, BinaryOp::div_floor, args.self(), args.other(), args.out());
  if (mode == "trunc")
    return run_division(context, BinaryOp::div_trunc, args.self(), args.other(), args.out());
  return context.fail(ETB_INVALID_ARGUMENT, "rounding mode '%.*s', expected floor or trunc",
                      static_cast<int>(mode.size()), mode.data());
}

// Shifts beyond the width of the promoted dtype have a value of their own, so the loop needs the width.
template <BinaryOp op>
etb_status run_shift(KernelContext& context, Mixed<ops::mul_out> args) {
  const Operand inputs[] = {to_operand(args.self()), to_operand(args.other())};
  LoopParams params;
  params.set(0, static_cast<int64_t>(element_nbytes(result_dtype(inputs)) * 8));
  return run_binary(context, op, Rule::kInteger, args.self(), args.other(), params, args.out());
}

etb_status nextafter_out(KernelContext& context, Mixed<ops::mul_out> args) {
  const Operand inputs[] = {to_operand(args.self()), to_operand(args.other())};
  const Dtype dtype = result_dtype(inputs);
  if (!is_floating(dtype))
    return context.fail(ETB_INVALID_TYPE, "the inputs promote to %s, expected floats", to_text(dtype));
  LoopParams params;
  if (dtype == Dtype::BFLOAT16) params.set(0, int64_t{16});
  if (dtype == Dtype::FLOAT16) params.set(0, int64_t{13});
  return run_binary(context, BinaryOp::nextafter, Rule::kSame, args.self(), args.other(), params, args.out());
}

constexpr Kernel kRows[] = {
#define ETB_TENSOR_AND_SCALAR(op, rule)                                                   \
  kernel_row<ops::op##_Tensor_out, run_plain<BinaryOp::op, Rule::rule>>(Overlap::kExact), \
      kernel_row<ops::op##_Scalar_out, run_plain<BinaryOp::op, Rule::rule>>(Overlap::kExact)
    kernel_row<ops::add_out, add_out>(Overlap::kExact),
    kernel_row<ops::add_Scalar_out, add_out>(Overlap::kExact),
    kernel_row<ops::sub_out, sub_out>(Overlap::kExact),
    kernel_row<ops::sub_Scalar_out, sub_out>(Overlap::kExact),
    kernel_row<ops::rsub_Scalar_out, run_scaled<BinaryOp::rsub_scaled>>(Overlap::kExact),
    kernel_row<ops::mul_out, run_plain<BinaryOp::mul, Rule::kSame>>(Overlap::kExact),
    kernel_row<ops::mul_Scalar_out, run_plain<BinaryOp::mul, Rule::kSame>>(Overlap::kExact),
    kernel_row<ops::div_out, run_plain<BinaryOp::div, Rule::kReal>>(Overlap::kExact),
    kernel_row<ops::div_Scalar_out, run_plain<BinaryOp::div, Rule::kReal>>(Overlap::kExact),
    kernel_row<ops::div_out_mode, div_mode>(Overlap::kExact),
    kernel_row<ops::div_Scalar_mode_out, div_mode>(Overlap::kExact),
    kernel_row<ops::floor_divide_out, run_divided<BinaryOp::div_floor>>(Overlap::kExact),
    kernel_row<ops::fmod_Tensor_out, run_divided<BinaryOp::fmod>>(Overlap::kExact),
    kernel_row<ops::fmod_Scalar_out, run_divided<BinaryOp::fmod>>(Overlap::kExact),
    kernel_row<ops::remainder_Tensor_out, run_divided<BinaryOp::remainder>>(Overlap::kExact),
    kernel_row<ops::remainder_Scalar_out, run_divided<BinaryOp::remainder>>(Overlap::kExact),
    kernel_row<ops::pow_Tensor_Tensor_out, pow_out>(Overlap::kExact),
    kernel_row<ops::pow_Tensor_Scalar_out, pow_out>(Overlap::kExact),
    kernel_row<ops::pow_Scalar_out, pow_out>(Overlap::kExact),
    kernel_row<ops::atan2_out, run_plain<BinaryOp::atan2, Rule::kReal>>(Overlap::kExact),
    kernel_row<ops::gcd_out, run_plain<BinaryOp::gcd, Rule::kInteger, kSpecialWork>>(Overlap::kExact),
    kernel_row<ops::hypot_out, run_plain<BinaryOp::hypot, Rule::kSame>>(Overlap::kExact),
    kernel_row<ops::igamma_out, run_plain<BinaryOp::igamma, Rule::kReal, 8 * kSpecialWork>>(Overlap::kExact),
    kernel_row<ops::igammac_out, run_plain<BinaryOp::igammac, Rule::kReal, 8 * kSpecialWork>>(
        Overlap::kExact),
    kernel_row<ops::lcm_out, run_plain<BinaryOp::lcm, Rule::kInteger, kSpecialWork>>(Overlap::kExact),
    kernel_row<ops::nextafter_out, nextafter_out>(Overlap::kExact),
    kernel_row<ops::special_zeta_out, run_plain<BinaryOp::special_zeta, Rule::kReal, 8 * kSpecialWork>>(
        Overlap::kExact),
    kernel_row<ops::maximum_out, run_plain<BinaryOp::maximum, Rule::kSame>>(Overlap::kExact),
    kernel_row<ops::minimum_out, run_plain<BinaryOp::minimum, Rule::kSame>>(Overlap::kExact),
    kernel_row<ops::_lshift_Tensor_out, run_shift<BinaryOp::left_shift>>(Overlap::kExact),
    kernel_row<ops::_lshift_Scalar_out, run_shift<BinaryOp::left_shift>>(Overlap::kExact),
    kernel_row<ops::_rshift_Tensor_out, run_shift<BinaryOp::right_shift>>(Overlap::kExact),
    kernel_row<ops::_rshift_Scalar_out, run_shift<BinaryOp::right_shift>>(Overlap::kExact),
    kernel_row<ops::bitwise_left_shift_Tensor_out, run_shift<BinaryOp::left_shift>>(Overlap::kExact),
    kernel_row<ops::bitwise_left_shift_Tensor_Scalar_out, run_shift<BinaryOp::left_shift>>(Overlap::kExact),
    kernel_row<ops::bitwise_right_shift_Tensor_out, run_shift<BinaryOp::right_shift>>(Overlap::kExact),
    kernel_row<ops::bitwise_right_shift_Tensor_Scalar_out, run_shift<BinaryOp::right_shift>>(Overlap::kExact),
    kernel_row<ops::logical_and_out, run_plain<BinaryOp::logical_and, Rule::kBool>>(Overlap::kExact),
    kernel_row<ops::logical_or_out, run_plain<BinaryOp::logical_or, Rule::kBool>>(Overlap::kExact),
    kernel_row<ops::logical_xor_out, run_plain<BinaryOp::logical_xor, Rule::kBool>>(Overlap::kExact),
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
