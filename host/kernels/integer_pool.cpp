// SPDX-License-Identifier: Apache-2.0
// cortex_m::quantized_avg_pool2d and quantized_max_pool2d: means and maxima of int8 codes of the same scale and zero point.
#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/window.hpp"
#include "host/kernels/integer_products.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/cortex_m/quantized_avg_pool2d.hpp"
#include "ops/cortex_m/quantized_max_pool2d.hpp"

namespace etb::host {
namespace {

using Average = ops::cortex_m::quantized_avg_pool2d_out<KernelArguments>;
using Maximum = ops::cortex_m::quantized_max_pool2d_out<KernelArguments>;

constexpr int64_t kLargest = int64_t{1} << 30;  // so that no product overflows

// Arrays have an entry for rows and one for columns.
struct Pool {
  int64_t in[2], out[2], kernel[2], stride[2], padding[2], dilation[2];

  // Reads the arguments that both ops have, and resizes the output. A list without entries is one of ones.
  template <class Arguments>
  etb_status read(KernelContext& context, const Arguments& args, const IntList* dilations) noexcept {
    const IntList kernels = args.kernel_size(), strides = args.stride(), paddings = args.padding();
    return read(context, args.input(),
                {&kernels, strides.empty() ? &kernels : &strides, &paddings, dilations}, args.ceil_mode(),
                args.out());
  }

  // Positions in the window at an output position that are inside of the image: first, first + dilation, ... below end.
  int64_t begin(int dim, int64_t position) const noexcept {
    const int64_t first = position * stride[dim] - padding[dim];
    return first >= 0 ? first : first + (dilation[dim] - 1 - first) / dilation[dim] * dilation[dim];
  }
  int64_t end(int dim, int64_t position) const noexcept {
    return std::min(position * stride[dim] - padding[dim] + (kernel[dim] - 1) * dilation[dim] + 1, in[dim]);
  }

 private:
  struct Lists {
    const IntList *kernel, *stride, *padding, *dilation;  // dilation: null for ones
  };
  etb_status read(KernelContext& context, const Tensor& input, const Lists& lists, bool ceil_mode,
                  Tensor& out_tensor) noexcept;
  etb_status read_dim(KernelContext& context, int dim, const Lists& lists, bool ceil_mode) noexcept;
};

etb_status Pool::read_dim(KernelContext& context, int dim, const Lists& lists, bool ceil_mode) noexcept {
  const auto index = static_cast<size_t>(dim);
  kernel[dim] = ops::item_of(*lists.kernel, index).value_or(0);
  stride[dim] = ops::item_of(*lists.stride, index).value_or(0);
  padding[dim] = ops::item_of(*lists.padding, index).value_or(0);
  dilation[dim] = lists.dilation == nullptr ? 1 : ops::item_of(*lists.dilation, index).value_or(1);
  const auto is_within = [](int64_t value) { return value >= 1 && value < kLargest; };
  ops::Numbers sizes;
  ops::Window window = {kernel[dim], stride[dim], dilation[dim]};
  window.set_padding(padding[dim]);
  const ops::WindowRounding rounding = ceil_mode ? ops::WindowRounding::kUp : ops::WindowRounding::kDown;
  if (is_within(in[dim]) && is_within(kernel[dim]) && is_within(stride[dim]) && is_within(dilation[dim]) &&
      padding[dim] >= 0 && padding[dim] <= kernel[dim] / 2 &&
      ops::count_positions(sizes, in[dim], window, rounding, &out[dim]) == ops::WindowError::kNone)
    return ETB_OK;
  return context.fail(
      ETB_INVALID_ARGUMENT,
      "kernel %lld, stride %lld, padding %lld and dilation %lld for %lld elements of spatial dim %d",
      static_cast<long long>(kernel[dim]), static_cast<long long>(stride[dim]),
      static_cast<long long>(padding[dim]), static_cast<long long>(dilation[dim]),
      static_cast<long long>(in[dim]), dim);
}

etb_status Pool::read(KernelContext& context, const Tensor& input, const Lists& lists, bool ceil_mode,
                      Tensor& out_tensor) noexcept {
  if (input.dtype() != Dtype::INT8 || out_tensor.dtype() != Dtype::INT8 || input.rank() != 4)
    return context.fail(ETB_INVALID_TYPE, "%s %s into %s, expected int8 of rank 4", to_text(input.dtype()),
                        SizesText(input.sizes()).text, to_text(out_tensor.dtype()));
  for (int dim = 0; dim < 2; ++dim) {
    in[dim] = input.size(2 + dim);
    ETB_CHECK(read_dim(context, dim, lists, ceil_mode));
  }
  const int64_t sizes[4] = {input.size(0), input.size(1), out[0], out[1]};
  return resize_output(context, out_tensor, sizes);
}

// The mean of a sum of codes. Ties go to the even distance from the zero point.
int8_t mean_of(int64_t sum, int64_t count, int64_t zero_point) noexcept {
  const int64_t distance = sum - zero_point * count;
  const int64_t quotient = distance / count - (distance % count < 0 ? 1 : 0);
  const int64_t twice_rest = 2 * (distance - quotient * count);
  const bool is_up = twice_rest > count || (twice_rest == count && quotient % 2 != 0);
  return static_cast<int8_t>(std::clamp<int64_t>(quotient + (is_up ? 1 : 0) + zero_point, -128, 127));
}

etb_status average_plane(KernelContext& context, const Pool& pool, int64_t zero_point, const Tensor& input,
                         const int8_t* from, Tensor& out, int8_t* to) {
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
      to[y * out.stride(2) + x * out.stride(3)] = mean_of(sum, count, zero_point);
    }
  }
  return ETB_OK;
}

etb_status avg_pool2d_out(KernelContext& context, Average args) {
  const Tensor& input = args.input();
  Tensor& out = args.out();
  CodeLimits limits;
  ETB_CHECK(read_limits(context, args.zero_point(), -128, 127, &limits));
  Pool pool = {};
  ETB_CHECK(pool.read(context, args, nullptr));
  for (int64_t image = 0; image < input.size(0); ++image) {
    for (int64_t channel = 0; channel < input.size(1); ++channel) {
      if (context.should_stop(1)) return context.stopped();
      ETB_CHECK(average_plane(context, pool, limits.offset, input,
                              input.data_as<int8_t>() + image * input.stride(0) + channel * input.stride(1),
                              out, out.data_as<int8_t>() + image * out.stride(0) + channel * out.stride(1)));
    }
  }
  return ETB_OK;
}

// Channels of a pixel: `step` apart in memory.
struct Channels {
  int64_t count, step, out_step;

  // Calls visit(code, result) for each channel.
  template <class Visit>
  etb_status for_each(KernelContext& context, const int8_t* from, int8_t* to, Visit visit) const {
    return for_each_piece(context, count, [&](int64_t begin, int64_t length) {
      const int8_t* x = from + begin * step;
      int8_t* y = to + begin * out_step;
      const auto x_step = static_cast<ptrdiff_t>(step), y_step = static_cast<ptrdiff_t>(out_step);
      for (auto i = static_cast<ptrdiff_t>(length); i > 0; --i, x += x_step, y += y_step) visit(*x, *y);
    });
  }
};

// The largest codes of all channels under one output. A window without positions has the least code.
etb_status find_largest(KernelContext& context, const Pool& pool, const CodeLimits& limits, int64_t y,
                        int64_t x, const Tensor& input, const int8_t* from, const Channels& channels,
                        int8_t* to) {
  const auto low = static_cast<int8_t>(limits.low), high = static_cast<int8_t>(limits.high);
  ETB_CHECK(channels.for_each(context, from, to, [&](int8_t, int8_t& result) { result = low; }));
  const int64_t bottom = pool.end(0, y), right = pool.end(1, x);
  for (int64_t row = pool.begin(0, y); row < bottom; row += pool.dilation[0]) {
    for (int64_t column = pool.begin(1, x); column < right; column += pool.dilation[1]) {
      ETB_CHECK(channels.for_each(
          context, from + row * input.stride(2) + column * input.stride(3), to,
          [&](int8_t code, int8_t& result) { result = std::max(result, std::min(code, high)); }));
    }
  }
  return ETB_OK;
}

etb_status max_pool2d_out(KernelContext& context, Maximum args) {
  const Tensor& input = args.input();
  Tensor& out = args.out();
  if (args.input_zero_point() != args.output_zero_point())
    return context.fail(ETB_NOT_SUPPORTED, "zero points %lld and %lld, expected equal ones",
                        static_cast<long long>(args.input_zero_point()),
                        static_cast<long long>(args.output_zero_point()));
  CodeLimits limits;
  ETB_CHECK(
      read_limits(context, args.output_zero_point(), args.activation_min(), args.activation_max(), &limits));
  Pool pool = {};
  const IntList dilations = args.dilation();
  ETB_CHECK(pool.read(context, args, &dilations));
  if (out.numel() == 0) return ETB_OK;
  const Channels channels = {input.size(1), input.stride(1), out.stride(1)};
  for (int64_t image = 0; image < input.size(0); ++image) {
    const int8_t* from = input.data_as<int8_t>() + image * input.stride(0);
    int8_t* to = out.data_as<int8_t>() + image * out.stride(0);
    for (int64_t y = 0; y < pool.out[0]; ++y)
      for (int64_t x = 0; x < pool.out[1]; ++x)
        ETB_CHECK(find_largest(context, pool, limits, y, x, input, from, channels,
                               to + y * out.stride(2) + x * out.stride(3)));
  }
  return ETB_OK;
}

constexpr Kernel kRows[] = {
    kernel_row<ops::cortex_m::quantized_avg_pool2d_out, avg_pool2d_out>(),
    kernel_row<ops::cortex_m::quantized_max_pool2d_out, max_pool2d_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(integer_pool, kRows);

}  // namespace etb::host
