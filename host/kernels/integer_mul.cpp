// SPDX-License-Identifier: Apache-2.0
// cortex_m::quantized_mul: products of int8 codes, which fit into 17 bits, times one factor.
#include "host/kernels/integer_pairs.hpp"
#include "host/kernels/integer_products.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/cortex_m/quantized_mul.hpp"

namespace etb::host {
namespace {

using Arguments = ops::cortex_m::quantized_mul_out<KernelArguments>;

// ExecuTorch's operator repeats an operand [1, C, 1, 1] or [C, 1, 1]; this one repeats any dims of size 1.
etb_status resize(KernelContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  int64_t sizes[kMaxRank];
  bool fits = self.rank() == other.rank();
  for (int dim = 0; fits && dim < self.rank(); ++dim) {
    const int64_t left = self.size(dim), right = other.size(dim);
    fits = left == right || left == 1 || right == 1;
    sizes[dim] = left == 1 ? right : left;
  }
  if (!fits)
    return context.fail(ETB_NOT_SUPPORTED, "%s and %s, expected one rank, and equal sizes or 1",
                        SizesText(self.sizes()).text, SizesText(other.sizes()).text);
  return resize_output(context, out, {sizes, static_cast<size_t>(self.rank())});
}

etb_status mul_out(KernelContext& context, Arguments args) {
  const Tensor &self = args.self(), &other = args.other();
  Tensor& out = args.out();
  Rescale rescale = {};
  CodeLimits left, right, codes;
  ETB_CHECK(check_pair(context, self, other, out));
  ETB_CHECK(read_limits(context, args.self_zero_point(), -128, 127, &left));
  ETB_CHECK(read_limits(context, args.other_zero_point(), -128, 127, &right));
  ETB_CHECK(read_limits(context, args.output_zero_point(), -128, 127, &codes));
  ETB_CHECK(read_rescale(context, args.output_multiplier(), args.output_shift(), &rescale));
  ETB_CHECK(resize(context, self, other, out));
  return PairWalk(self, other, out).run(context, [&](int32_t x, int32_t y) {
    return codes.code(rescale.apply((x - left.offset) * (y - right.offset)));
  });
}

constexpr Kernel kRows[] = {kernel_row<ops::cortex_m::quantized_mul_out, mul_out>()};

}  // namespace

ETB_PUBLISH_INTEGER_KERNELS(integer_mul, kRows);

}  // namespace etb::host
