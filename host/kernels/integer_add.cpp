// SPDX-License-Identifier: Apache-2.0
// cortex_m::quantized_add: sums of int8 codes of two scales, in the 32 bits of CMSIS-NN: a distance from the zero point is
// moved 20 bits to the left before it is rescaled.
#include "host/kernels/integer_pairs.hpp"
#include "host/kernels/integer_products.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/cortex_m/quantized_add.hpp"

namespace etb::host {
namespace {

using Arguments = ops::cortex_m::quantized_add_out<KernelArguments>;

struct Side {
  int64_t zero_point;
  Rescale rescale = {};

  int64_t distance(int64_t code) const noexcept {
    return rescale.apply(static_cast<int32_t>((code - zero_point) * (int64_t{1} << 20)));
  }
};

etb_status read_side(KernelContext& context, int64_t zero_point, int64_t multiplier, int64_t shift,
                     Side* out) {
  if (zero_point < -128 || zero_point > 127)
    return context.fail(ETB_INVALID_ARGUMENT, "zero point %lld, expected -128 to 127",
                        static_cast<long long>(zero_point));
  out->zero_point = zero_point;
  return read_rescale(context, multiplier, shift, &out->rescale);
}

etb_status add_out(KernelContext& context, Arguments args) {
  const Tensor &self = args.self(), &other = args.other();
  Tensor& out = args.out();
  if (self.rank() != other.rank() ||
      !std::equal(self.sizes().begin(), self.sizes().end(), other.sizes().begin()))
    return context.fail(ETB_NOT_SUPPORTED, "%s and %s, expected equal sizes", SizesText(self.sizes()).text,
                        SizesText(other.sizes()).text);
  ETB_CHECK(check_pair(context, self, other, out));
  Side left = {}, right = {};
  Rescale rescale = {};
  CodeLimits codes;
  ETB_CHECK(read_side(context, args.self_zero_point(), args.self_multiplier(), args.self_shift(), &left));
  ETB_CHECK(read_side(context, args.other_zero_point(), args.other_multiplier(), args.other_shift(), &right));
  ETB_CHECK(read_rescale(context, args.output_multiplier(), args.output_shift(), &rescale));
  ETB_CHECK(
      read_limits(context, args.output_zero_point(), args.activation_min(), args.activation_max(), &codes));
  ETB_CHECK(resize_output(context, out, self.sizes()));
  return PairWalk(self, other, out).run(context, [&](int64_t x, int64_t y) {
    const int64_t sum = std::clamp<int64_t>(left.distance(x) + right.distance(y), INT32_MIN, INT32_MAX);
    return codes.code(rescale.apply(static_cast<int32_t>(sum)));
  });
}

constexpr Kernel kRows[] = {kernel_row<ops::cortex_m::quantized_add_out, add_out>()};

}  // namespace

ETB_PUBLISH_INTEGER_KERNELS(integer_add, kRows);

}  // namespace etb::host
