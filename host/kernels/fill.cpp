// SPDX-License-Identifier: Apache-2.0
// Kernels whose output does not depend on an input's elements: arange, full, zeros, ones, fill, windows, rand, dropout and alike.
#include <cmath>
#include <numeric>

#include "host/kernels/dims.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/arange.hpp"
#include "ops/dim_order_ops/_empty_dim_order.hpp"
#include "ops/empty.hpp"
#include "ops/empty_permuted.hpp"
#include "ops/empty_strided.hpp"
#include "ops/fill.hpp"
#include "ops/full.hpp"
#include "ops/full_like.hpp"
#include "ops/hamming_window.hpp"
#include "ops/hann_window.hpp"
#include "ops/native_dropout.hpp"
#include "ops/ones.hpp"
#include "ops/rand.hpp"
#include "ops/randn.hpp"
#include "ops/randperm.hpp"
#include "ops/resize.hpp"
#include "ops/scalar_tensor.hpp"
#include "ops/zeros.hpp"

namespace etb::host {
namespace {

// Reads a size list and resizes the output.
etb_status resize_to_list(KernelContext& context, const IntList& list, Tensor& out) {
  if (list.size() > kMaxRank)
    return context.fail(ETB_INVALID_ARGUMENT, "%zu sizes, expected at most %d", list.size(), kMaxRank);
  int64_t sizes[kMaxRank];
  for (size_t i = 0; i < list.size(); ++i) sizes[i] = list[i];
  return resize_output(context, out, {sizes, list.size()});
}

etb_status expect_arithmetic(KernelContext& context, const Tensor& out) {
  if (is_arithmetic(out.dtype())) return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "the output is %s", to_text(out.dtype()));
}

// Sets every element to a number, converted to the output's dtype.
etb_status fill(KernelContext& context, const EValue& number, Tensor& out) {
  ETB_CHECK(expect_arithmetic(context, out));
  const Operand operand(number);
  const ConvertLoops& loops = *vector_table(context).conversions;
  const Compute compute = compute_of(operand.dtype());
  // One converted element, repeated.
  alignas(8) char value[8], element[8];
  loops.load[static_cast<int>(operand.dtype())][static_cast<int>(compute)](value, operand.data(), 1, 1);
  loops.store[static_cast<int>(out.dtype())][static_cast<int>(compute)](element, value, 1, 1);
  StridedCopy copy;
  copy.element_nbytes = element_nbytes(out.dtype());
  copy.rank = 1;
  copy.sizes[0] = out.numel();
  copy.to = out.data();
  copy.to_strides[0] = 1;
  copy.from = element;
  copy.from_strides[0] = 0;
  return copy.run(context);
}

etb_status full_out(KernelContext& context, ops::full_out<KernelArguments> args) {
  ETB_CHECK(resize_to_list(context, args.size(), args.out()));
  return fill(context, args.fill_value(), args.out());
}

etb_status full_like_out(KernelContext& context, ops::full_like_out<KernelArguments> args) {
  ETB_CHECK(resize_output(context, args.out(), args.self().sizes()));
  return fill(context, args.fill_value(), args.out());
}

template <int value>
etb_status constant_out(KernelContext& context, ops::zeros_out<KernelArguments> args) {
  ETB_CHECK(resize_to_list(context, args.size(), args.out()));
  return fill(context, EValue(int64_t{value}), args.out());
}

etb_status scalar_tensor_out(KernelContext& context, ops::scalar_tensor_out<KernelArguments> args) {
  ETB_CHECK(resize_output(context, args.out(), {}));
  return fill(context, args.s(), args.out());
}

etb_status fill_scalar_out(KernelContext& context, ops::fill_Scalar_out<KernelArguments> args) {
  ETB_CHECK(resize_output(context, args.out(), args.self().sizes()));
  return fill(context, args.value(), args.out());
}

etb_status fill_tensor_out(KernelContext& context, ops::fill_Tensor_out<KernelArguments> args) {
  const Tensor &self = args.self(), &value = args.value();
  Tensor& out = args.out();
  if (value.rank() != 0)
    return context.fail(ETB_INVALID_ARGUMENT, "the value has rank %d, expected 0", value.rank());
  ETB_CHECK(resize_output(context, out, self.sizes()));
  ETB_CHECK(expect_arithmetic(context, out));
  ETB_CHECK(expect_arithmetic(context, value));
  double real = 0.0;
  int64_t integer = 0;
  const ConvertLoops& loops = *vector_table(context).conversions;
  if (is_floating(value.dtype())) {
    loops.load[static_cast<int>(value.dtype())][static_cast<int>(Compute::kDouble)](&real, value.data(), 1,
                                                                                    1);
    return fill(context, EValue(real), out);
  }
  loops.load[static_cast<int>(value.dtype())][static_cast<int>(Compute::kInt64)](&integer, value.data(), 1,
                                                                                 1);
  return fill(context, EValue(integer), out);
}

// empty(size, ..., out): the elements keep their values.
template <class Arguments>
etb_status empty_out(KernelContext& context, Arguments args) {
  return resize_to_list(context, args.size(), args.out());
}

etb_status resize_in_place(KernelContext& context, ops::resize_in_place_default<KernelArguments> args) {
  return resize_to_list(context, args.size(), args.self());
}

// A number as an integer that wraps; what no int64 holds becomes 0.
uint64_t to_wrapping(const EValue& number) {
  if (!number.is_double()) return static_cast<uint64_t>(number.to_int());
  const double real = number.to_double();
  return std::fabs(real) < 0x1.0p63 ? static_cast<uint64_t>(static_cast<int64_t>(real)) : 0;
}

// PyTorch cuts the numbers of an int64 range first, but not those of a smaller dtype.
EValue as_range_number(const EValue& number, Dtype dtype) {
  if (dtype != Dtype::INT64 || !number.is_double()) return number;
  const double real = number.to_double();
  return std::fabs(real) < 0x1.0p63 ? EValue(static_cast<int64_t>(real)) : number;
}

etb_status arange(KernelContext& context, const EValue& given_start, const EValue& given_end,
                  const EValue& given_step, Tensor& out) {
  ETB_CHECK(expect_arithmetic(context, out));
  const EValue start = as_range_number(given_start, out.dtype()),
               end = as_range_number(given_end, out.dtype()), step = as_range_number(given_step, out.dtype());
  const bool is_integer_range = !start.is_double() && !end.is_double() && !step.is_double();
  const double first = start.to_double(), last = end.to_double(), by = step.to_double();
  const bool is_valid =
      std::isfinite(first) && std::isfinite(last) && by != 0.0 && (by > 0.0 ? last >= first : last <= first);
  if (!is_valid)
    return context.fail(ETB_INVALID_ARGUMENT, "a range from %g to %g in steps of %g", first, last, by);
  const double wanted = std::ceil((last - first) / by);
  if (!(wanted < 0x1.0p48)) return context.fail(ETB_INVALID_ARGUMENT, "a range of %g elements", wanted);
  const auto count = static_cast<int64_t>(wanted);
  ETB_CHECK(resize_output(context, out, {&count, 1}));
  const ConvertLoops& loops = *vector_table(context).conversions;
  const bool is_integer_out = !is_floating(out.dtype());
  const auto nbytes = static_cast<int64_t>(element_nbytes(out.dtype()));
  constexpr int64_t kChunk = 512;
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    if (context.should_stop(kChunk)) return context.stopped();
    const int64_t length = std::min(kChunk, count - begin);
    char* to = out.data_as<char>() + begin * nbytes;
    if (is_integer_range || is_integer_out) {
      int64_t values[kChunk];
      const uint64_t from = to_wrapping(start), stride = to_wrapping(step);
      for (int64_t i = 0; i < length; ++i)
        values[i] = static_cast<int64_t>(from + static_cast<uint64_t>(begin + i) * stride);
      loops.store[static_cast<int>(out.dtype())][static_cast<int>(Compute::kInt64)](to, values, 1, length);
    } else {
      double values[kChunk];
      for (int64_t i = 0; i < length; ++i) values[i] = first + static_cast<double>(begin + i) * by;
      loops.store[static_cast<int>(out.dtype())][static_cast<int>(Compute::kDouble)](to, values, 1, length);
    }
  }
  return ETB_OK;
}

etb_status arange_out(KernelContext& context, ops::arange_out<KernelArguments> args) {
  return arange(context, EValue(int64_t{0}), args.end(), EValue(int64_t{1}), args.out());
}

etb_status arange_start_out(KernelContext& context, ops::arange_start_out<KernelArguments> args) {
  return arange(context, args.start(), args.end(), args.step(), args.out());
}

// Stores next() for each element.
template <class Next>
etb_status fill_each(KernelContext& context, Tensor& out, Next next) {
  if (!is_floating(out.dtype()))
    return context.fail(ETB_INVALID_TYPE, "the output is %s, expected a float", to_text(out.dtype()));
  const ConvertLoop store =
      vector_table(context)
          .conversions->store[static_cast<int>(out.dtype())][static_cast<int>(Compute::kDouble)];
  const auto nbytes = static_cast<int64_t>(element_nbytes(out.dtype()));
  for (int64_t i = 0; i < out.numel(); ++i) {
    if (context.should_stop(1)) return context.stopped();
    const double value = next();
    store(out.data_as<char>() + i * nbytes, &value, 1, 1);
  }
  return ETB_OK;
}

// Stores alpha - beta * cos(2 pi i / n): n is the length of a periodic window, and one less of a symmetric one.
etb_status cosine_window(KernelContext& context, int64_t length, bool is_periodic, double alpha, double beta,
                         Tensor& out) {
  if (length < 0)
    return context.fail(ETB_INVALID_ARGUMENT, "a window of %lld numbers", static_cast<long long>(length));
  ETB_CHECK(resize_output(context, out, {&length, 1}));
  const double period = static_cast<double>(is_periodic ? length : length - 1);
  constexpr double kTwoPi = 6.283185307179586;
  int64_t i = 0;
  // A window of one number is 1 in PyTorch for any alpha and beta.
  return fill_each(context, out, [&] {
    return length == 1 ? 1.0 : alpha - beta * std::cos(kTwoPi * static_cast<double>(i++) / period);
  });
}

// hamming_window(window_length, periodic, alpha, beta, out) and the forms with fewer arguments; hann_window likewise.
template <class Arguments>
etb_status window_out(KernelContext& context, Arguments args) {
  bool is_periodic = true;
  double alpha = 0.54, beta = 0.46;
  if constexpr (requires { args.periodic(); }) is_periodic = args.periodic();
  if constexpr (requires { args.alpha(); }) alpha = args.alpha();
  if constexpr (requires { args.beta(); }) beta = args.beta();
  return cosine_window(context, args.window_length(), is_periodic, alpha, beta, args.out());
}

template <class Arguments>
etb_status hann_window_out(KernelContext& context, Arguments args) {
  bool is_periodic = true;
  if constexpr (requires { args.periodic(); }) is_periodic = args.periodic();
  return cosine_window(context, args.window_length(), is_periodic, 0.5, 0.5, args.out());
}

// A uniform number that stays below 1 after rounding to the dtype: as many bits as its significand has.
double uniform_of(RandomNumbers& random, Dtype dtype) {
  const int bits = dtype == Dtype::BFLOAT16  ? 8
                   : dtype == Dtype::FLOAT16 ? 11
                   : dtype == Dtype::FLOAT32 ? 24
                                             : 53;
  return std::ldexp(static_cast<double>(random.next() >> (64 - bits)), -bits);
}

etb_status rand_out(KernelContext& context, ops::rand_out<KernelArguments> args) {
  Tensor& out = args.out();
  ETB_CHECK(resize_to_list(context, args.size(), out));
  return fill_each(context, out, [&] { return uniform_of(context.random(), out.dtype()); });
}

etb_status randn_out(KernelContext& context, ops::randn_out<KernelArguments> args) {
  Tensor& out = args.out();
  ETB_CHECK(resize_to_list(context, args.size(), out));
  return fill_each(context, out, [&] { return context.random().next_gaussian(); });
}

// randperm(n, out): Fisher and Yates in scratch.
etb_status randperm_out(KernelContext& context, ops::randperm_out<KernelArguments> args) {
  const int64_t count = args.n();
  Tensor& out = args.out();
  if (count < 0)
    return context.fail(ETB_INVALID_ARGUMENT, "a permutation of %lld", static_cast<long long>(count));
  ETB_CHECK(resize_output(context, out, {&count, 1}));
  ETB_CHECK(expect_arithmetic(context, out));
  int64_t* values = context.allocate_array<int64_t>(count);
  if (values == nullptr) return context.fail_scratch(static_cast<uint64_t>(count) * 8);
  const etb_status numbered = for_each_piece(context, count, [&](int64_t begin, int64_t length) {
    std::iota(values + begin, values + begin + length, begin);
  });
  if (numbered != ETB_OK) return numbered;
  for (int64_t i = count - 1; i > 0; --i) {
    if (context.should_stop(1)) return context.stopped();
    std::swap(values[i],
              values[static_cast<int64_t>(context.random().next() % static_cast<uint64_t>(i + 1))]);
  }
  const ConvertLoop store =
      vector_table(context)
          .conversions->store[static_cast<int>(out.dtype())][static_cast<int>(Compute::kInt64)];
  const auto nbytes = static_cast<int64_t>(element_nbytes(out.dtype()));
  return for_each_piece(context, count, [&](int64_t begin, int64_t length) {
    store(out.data_as<char>() + begin * nbytes, values + begin, 1, length);
  });
}

etb_status native_dropout_out(KernelContext& context, ops::native_dropout_out<KernelArguments> args) {
  const Tensor& input = args.input();
  const double p = args.p();
  Tensor &out = args.out0(), &mask = args.out1();
  const bool is_training = args.train().value_or(true);
  if (!(p >= 0.0 && p <= 1.0))
    return context.fail(ETB_INVALID_ARGUMENT, "probability %g, expected 0 to 1", p);
  const bool has_mask =
      mask.dtype() == Dtype::BOOL || input.numel() == 0;  // PyTorch's own mask of nothing is a float
  if (!is_floating(input.dtype()) || out.dtype() != input.dtype() || !has_mask) {
    return context.fail(ETB_INVALID_TYPE, "%s into %s with a mask of %s", to_text(input.dtype()),
                        to_text(out.dtype()), to_text(mask.dtype()));
  }
  ETB_CHECK(resize_output(context, out, input.sizes()));
  ETB_CHECK(resize_output(context, mask, input.sizes()));
  if (input.numel() == 0) return ETB_OK;
  auto* keeps = mask.data_as<uint8_t>();
  const etb_status chosen = for_each_piece(context, mask.numel(), [&](int64_t begin, int64_t length) {
    for (int64_t i = begin; i < begin + length; ++i)
      keeps[i] = !is_training || context.random().next_uniform() >= p ? 1 : 0;
  });
  if (chosen != ETB_OK) return chosen;
  // out = mask * input / (1 - p), as where(mask, input * scale, 0)
  const EValue zero(0.0);
  const Operand inputs[] = {Operand(mask), Operand(input), Operand(zero)};
  const ElementLoop* choose = vector_table(context).loops(TernaryOp::where);
  const ElementOp op = {choose, input.dtype(), input.dtype(), {}};
  if (const etb_status status = run_elements(context, op, inputs, out);
      status != ETB_OK || !is_training || p == 1.0)
    return status;
  const EValue scale(1.0 / (1.0 - p));
  const Operand scaled[] = {Operand(out), Operand(scale)};
  const ElementLoop* multiply = vector_table(context).loops(BinaryOp::mul);
  return run_elements(context, {multiply, input.dtype(), input.dtype(), {}}, scaled, out);
}

constexpr Kernel kRows[] = {
    kernel_row<ops::full_out, full_out>(),
    kernel_row<ops::full_like_out, full_like_out>(),
    kernel_row<ops::zeros_out, constant_out<0>>(),
    kernel_row<ops::ones_out, constant_out<1>>(),
    kernel_row<ops::scalar_tensor_out, scalar_tensor_out>(),
    kernel_row<ops::fill_Scalar_out, fill_scalar_out>(),
    kernel_row<ops::fill_Tensor_out, fill_tensor_out>(),
    kernel_row<ops::empty_out, empty_out<ops::empty_out<KernelArguments>>>(),
    kernel_row<ops::empty_strided_out, empty_out<ops::empty_strided_out<KernelArguments>>>(),
    kernel_row<ops::empty_permuted_out, empty_out<ops::empty_permuted_out<KernelArguments>>>(),
    kernel_row<ops::dim_order_ops::_empty_dim_order_out,
               empty_out<ops::dim_order_ops::_empty_dim_order_out<KernelArguments>>>(),
    kernel_row<ops::resize_in_place_default, resize_in_place>(),
    kernel_row<ops::arange_out, arange_out>(),
    kernel_row<ops::arange_start_out, arange_start_out>(),
    kernel_row<ops::hamming_window_out, window_out<ops::hamming_window_out<KernelArguments>>>(),
    kernel_row<ops::hamming_window_periodic_out,
               window_out<ops::hamming_window_periodic_out<KernelArguments>>>(),
    kernel_row<ops::hamming_window_periodic_alpha_out,
               window_out<ops::hamming_window_periodic_alpha_out<KernelArguments>>>(),
    kernel_row<ops::hamming_window_periodic_alpha_beta_out,
               window_out<ops::hamming_window_periodic_alpha_beta_out<KernelArguments>>>(),
    kernel_row<ops::hann_window_out, hann_window_out<ops::hann_window_out<KernelArguments>>>(),
    kernel_row<ops::hann_window_periodic_out,
               hann_window_out<ops::hann_window_periodic_out<KernelArguments>>>(),
    kernel_row<ops::rand_out, rand_out>(),
    kernel_row<ops::randn_out, randn_out>(),
    kernel_row<ops::randperm_out, randperm_out>(),
    kernel_row<ops::native_dropout_out, native_dropout_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(fill, kRows);

}  // namespace etb::host
