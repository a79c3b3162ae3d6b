// SPDX-License-Identifier: Apache-2.0
// cortex_m::softmax: codes of 256ths, in the 32 bits of CMSIS-NN.
//
// Distances from the largest code of a row become numbers of 26 bits after the point, their exponentials numbers of 31. A sum has
// 19 bits after the point, so 4095 elements fit into 32 bits. A longer row loses bits of its quotients instead of overflowing.
#include <bit>

#include "host/kernels/dims.hpp"
#include "host/kernels/integer_products.hpp"
#include "host/kernels/kernel.hpp"
#include "host/kernels/rows.hpp"
#include "ops/cortex_m/softmax.hpp"

namespace etb::host {
namespace {

constexpr int kSumBits = 12;  // fraction bits that a sum has less than its terms

// a * b for numbers with 31 bits after the point: nearest, halves upwards.
int32_t multiply(int32_t a, int32_t b) noexcept {
  return static_cast<int32_t>((static_cast<int64_t>(a) * b + (int64_t{1} << 30)) >> 31);
}

// value / 2^bits: nearest, halves away from 0.
int32_t divide(int32_t value, int bits) noexcept {
  return static_cast<int32_t>((value + (int64_t{1} << (bits - 1)) - (value < 0 ? 1 : 0)) >> bits);
}

// exp of a number with 26 bits after the point that is at most 0.
//
// The number is a sum of -1/8, of a rest within 1/8, and of negative powers of two from -1/4 to -16. A polynomial of degree 4 has
// the exponential of the first two.
int32_t exponential(int32_t value) noexcept {
  constexpr int32_t kQuarter = 1 << 24;
  constexpr int32_t kEighth = 1895147668, kThird = 715827883;  // exp(-1/8), 1/3
  constexpr int32_t kPowers[] = {1672461947, 1302514674, 790015084, 290630308,
                                 39332535,   720401,     242};  // exp(-2^(i - 2))
  if (value == 0) return INT32_MAX;
  const int32_t fraction = (value & (kQuarter - 1)) - kQuarter;
  const auto quarters = (static_cast<uint32_t>(fraction) - static_cast<uint32_t>(value)) / kQuarter;
  const int32_t x = fraction * 32 + (1 << 28);
  const int32_t square = multiply(x, x);
  const int32_t high_terms = multiply(divide(multiply(square, square), 2) + multiply(square, x), kThird);
  int32_t result = kEighth + multiply(kEighth, x + divide(high_terms + square, 1));
  for (int i = 0; i < 7; ++i) {
    if ((quarters >> i & 1) != 0) result = multiply(result, kPowers[i]);
  }
  return result;
}

// 2^61 / value, at most 2^31 - 1, for a value of at least 2^31: three steps of Newton's method, with 29 bits after the point.
int32_t reciprocal(uint32_t value) noexcept {
  constexpr int32_t kStart = 1515870810,
                    kSlope = -1010580540;  // 48/17 and -32/17: the best line from 1/2 to 1
  const auto half = static_cast<int32_t>(value >> 1);
  int32_t x = kStart + multiply(half, kSlope);
  for (int i = 0; i < 3; ++i) x += multiply(x, (1 << 29) - multiply(half, x)) * 4;
  return static_cast<int32_t>(std::min<int64_t>(int64_t{x} * 2, INT32_MAX));
}

// One row, whose elements are `step` apart.
class SoftmaxRow {
 public:
  SoftmaxRow(KernelContext& context, const Rescale& rescale, int64_t least)
      : context_(context), rescale_(rescale), least_(least) {}

  etb_status run(const int8_t* x, int64_t step, int64_t count, int8_t* out, int64_t out_step) {
    int32_t largest = -128;
    ETB_CHECK(for_each(x, step, count, [&](int64_t, int32_t code) { largest = std::max(largest, code); }));
    int64_t sum = 0;
    ETB_CHECK(for_each(x, step, count, [&](int64_t, int32_t code) {
      const int32_t distance = code - largest;
      if (distance >= least_) sum += divide(exponential(rescale_.apply(distance)), kSumBits);
    }));
    // The sum with its first bit at bit 31. Fewer leading zeros than 32: a sum beyond 32 bits.
    const int zeros = std::countl_zero(static_cast<uint64_t>(sum)) - 32;
    const int32_t factor =
        sum == 0 ? 0 : reciprocal(static_cast<uint32_t>(zeros >= 0 ? sum << zeros : sum >> -zeros));
    const int bits = std::min(kSumBits + 23 - zeros, 62);
    return for_each(x, step, count, [&](int64_t i, int32_t code) {
      const int32_t distance = code - largest;
      int32_t result = -128;
      if (distance >= least_) result += divide(multiply(factor, exponential(rescale_.apply(distance))), bits);
      out[i * out_step] = static_cast<int8_t>(std::clamp<int32_t>(result, -128, 127));
    });
  }

 private:
  template <class Visit>
  etb_status for_each(const int8_t* x, int64_t step, int64_t count, Visit visit) {
    return for_each_piece(context_, count, [&](int64_t begin, int64_t length) {
      for (int64_t i = begin; i < begin + length; ++i) visit(i, x[i * step]);
    });
  }

  KernelContext& context_;
  Rescale rescale_;
  int64_t least_;
};

etb_status softmax_out(KernelContext& context, ops::cortex_m::softmax_out<KernelArguments> args) {
  const Tensor& input = args.input();
  Tensor& out = args.out();
  int dim = 0;
  Rescale rescale = {};
  ETB_CHECK(wrap_dim(context, args.dim(), input.rank(), &dim));
  if (input.dtype() != Dtype::INT8 || out.dtype() != Dtype::INT8)
    return context.fail(ETB_INVALID_TYPE, "%s into %s, expected int8", to_text(input.dtype()),
                        to_text(out.dtype()));
  ETB_CHECK(read_rescale(context, args.input_multiplier(), args.input_shift(), &rescale));
  if (args.output_zero_point() != -128 || rescale.shift < 0)
    return context.fail(ETB_INVALID_ARGUMENT,
                        "output zero point %lld with shift %d, expected -128 and 0 to 30",
                        static_cast<long long>(args.output_zero_point()), static_cast<int>(rescale.shift));
  ETB_CHECK(resize_output(context, out, input.sizes()));
  const auto step = [dim](const Tensor& tensor) { return tensor.rank() == 0 ? 1 : tensor.stride(dim); };
  const DimSet dims = one_dim(input, dim);
  RowWalk from(input, dims), to(out, dims);
  SoftmaxRow row(context, rescale, args.diff_min());
  for (int64_t i = 0; i < from.row_count(); ++i, from.advance(), to.advance())
    ETB_CHECK(row.run(input.data_as<int8_t>() + from.offset(), step(input), from.row_numel(),
                      out.data_as<int8_t>() + to.offset(), step(out)));
  return ETB_OK;
}

constexpr Kernel kRows[] = {kernel_row<ops::cortex_m::softmax_out, softmax_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(integer_softmax, kRows);

}  // namespace etb::host
