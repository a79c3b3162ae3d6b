// SPDX-License-Identifier: Apache-2.0
// cortex_m::quantized_avg_pool2d: means of int8 codes of the same scale and zero point.
#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/window.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/cortex_m/quantized_avg_pool2d.hpp"

namespace etb::host {
namespace {

using Arguments = ops::cortex_m::quantized_avg_pool2d_out<KernelArguments>;

constexpr int64_t kLargest = int64_t{1} << 30;  // so that no product overflows

// Arrays have an entry for rows and one for columns.
struct Pool {
  int64_t in[2], out[2], kernel[2], stride[2], padding[2];
  int64_t zero_point;

  etb_status read(KernelContext& context, const Arguments& args) noexcept;

  // The part of the window at an output position that is inside of the image.
  int64_t begin(int dim, int64_t position) const noexcept {
    return std::max<int64_t>(position * stride[dim] - padding[dim], 0);
  }
  int64_t end(int dim, int64_t position) const noexcept {
    return std::min(position * stride[dim] - padding[dim] + kernel[dim], in[dim]);
  }

  // Ties go to the even distance from the zero point.
  int8_t code(int64_t sum, int64_t count) const noexcept {
    const int64_t distance = sum - zero_point * count;
    const int64_t quotient = distance / count - (distance % count < 0 ? 1 : 0);
    const int64_t twice_rest = 2 * (distance - quotient * count);
    const bool is_up = twice_rest > count || (twice_rest == count && quotient % 2 != 0);
    return static_cast<int8_t>(std::clamp<int64_t>(quotient + (is_up ? 1 : 0) + zero_point, -128, 127));
  }
};

etb_status Pool::read(KernelContext& context, const Arguments& args) noexcept {
  zero_point = args.zero_point();
  if (zero_point < -128 || zero_point > 127)
    return context.fail(ETB_INVALID_ARGUMENT, "zero point %lld, expected -128 to 127",
                        static_cast<long long>(zero_point));
  const IntList kernels = args.kernel_size(), strides = args.stride(), paddings = args.padding();
  for (int dim = 0; dim < 2; ++dim) {
    const auto index = static_cast<size_t>(dim);
    in[dim] = args.input().size(2 + dim);
    kernel[dim] = ops::item_of(kernels, index).value_or(0);
    stride[dim] = strides.empty() ? kernel[dim] : ops::item_of(strides, index).value_or(0);
    padding[dim] = ops::item_of(paddings, index).value_or(0);
    const bool is_within = in[dim] < kLargest && kernel[dim] >= 1 && kernel[dim] < kLargest &&
                           stride[dim] >= 1 && stride[dim] < kLargest && padding[dim] >= 0 &&
                           padding[dim] <= kernel[dim] / 2;
    ops::Numbers sizes;
    ops::Window window = {kernel[dim], stride[dim]};
    window.set_padding(padding[dim]);
    const ops::WindowRounding rounding =
        args.ceil_mode() ? ops::WindowRounding::kUp : ops::WindowRounding::kDown;
    if (!is_within ||
        ops::count_positions(sizes, in[dim], window, rounding, &out[dim]) != ops::WindowError::kNone) {
      return context.fail(ETB_INVALID_ARGUMENT,
                          "kernel %lld, stride %lld and padding %lld for %lld elements of spatial dim %d",
                          static_cast<long long>(kernel[dim]), static_cast<long long>(stride[dim]),
                          static_cast<long long>(padding[dim]), static_cast<long long>(in[dim]), dim);
    }
  }
  return ETB_OK;
}

etb_status pool_plane(KernelContext& context, const Pool& pool, const Tensor& input, const int8_t* from,
                      Tensor& out, int8_t* to) {
  for (int64_t y = 0; y < pool.out[0]; ++y) {
    for (int64_t x = 0; x < pool.out[1]; ++x) {
      const int64_t left = pool.begin(1, x), right = pool.end(1, x);
      const int64_t top = pool.begin(0, y), bottom = pool.end(0, y);
      int64_t sum = 0;
      for (int64_t row = top; row < bottom; ++row) {
        ETB_CHECK(for_each_piece(context, right - left, [&](int64_t begin, int64_t length) {
          const int8_t* at = from + row * input.stride(2) + (left + begin) * input.stride(3);
          const auto size = static_cast<ptrdiff_t>(length), step = static_cast<ptrdiff_t>(input.stride(3));
          for (ptrdiff_t i = 0; i < size; ++i) sum += at[i * step];
        }));
        if (context.should_stop(1)) return context.stopped();
      }
      const int64_t count = std::max<int64_t>((right - left) * (bottom - top), 1);
      to[y * out.stride(2) + x * out.stride(3)] = pool.code(sum, count);
    }
  }
  return ETB_OK;
}

etb_status avg_pool2d_out(KernelContext& context, Arguments args) {
  const Tensor& input = args.input();
  Tensor& out = args.out();
  if (input.dtype() != Dtype::INT8 || out.dtype() != Dtype::INT8 || input.rank() != 4)
    return context.fail(ETB_INVALID_TYPE, "%s %s into %s, expected int8 of rank 4", to_text(input.dtype()),
                        SizesText(input.sizes()).text, to_text(out.dtype()));
  Pool pool = {};
  ETB_CHECK(pool.read(context, args));
  const int64_t sizes[4] = {input.size(0), input.size(1), pool.out[0], pool.out[1]};
  ETB_CHECK(resize_output(context, out, sizes));
  for (int64_t image = 0; image < input.size(0); ++image) {
    for (int64_t channel = 0; channel < input.size(1); ++channel) {
      if (context.should_stop(1)) return context.stopped();
      ETB_CHECK(pool_plane(context, pool, input,
                           input.data_as<int8_t>() + image * input.stride(0) + channel * input.stride(1), out,
                           out.data_as<int8_t>() + image * out.stride(0) + channel * out.stride(1)));
    }
  }
  return ETB_OK;
}

constexpr Kernel kRows[] = {kernel_row<ops::cortex_m::quantized_avg_pool2d_out, avg_pool2d_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(integer_pool, kRows);

}  // namespace etb::host
