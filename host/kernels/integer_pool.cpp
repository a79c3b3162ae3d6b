// SPDX-License-Identifier: Apache-2.0
// cortex_m::quantized_avg_pool2d and quantized_max_pool2d: means and maxima of int8 codes of the same scale and zero point.
#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/window.hpp"
#include "host/kernels/integer_geometry.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/cortex_m/quantized_avg_pool2d.hpp"
#include "ops/cortex_m/quantized_max_pool2d.hpp"

namespace etb::host {
namespace {

using Average = ops::cortex_m::quantized_avg_pool2d_out<KernelArguments>;
using Maximum = ops::cortex_m::quantized_max_pool2d_out<KernelArguments>;

// Arrays have an entry for rows and one for columns.
struct Pool {
  ptrdiff_t in[2], out[2], kernel[2], stride[2], padding[2], dilation[2];

  // Reads the arguments that both ops have, and resizes the output. A list without entries is one of ones.
  template <class Arguments>
  etb_status read(KernelContext& context, const Arguments& args, const IntList* dilations) noexcept {
    const IntList kernels = args.kernel_size(), strides = args.stride(), paddings = args.padding();
    return read(context, args.input(),
                {&kernels, strides.empty() ? &kernels : &strides, &paddings, dilations}, args.ceil_mode(),
                args.out());
  }

  // Positions in the window at an output position that are inside of the image: first, first + dilation, ... below end.
  ptrdiff_t begin(int dim, ptrdiff_t position) const noexcept {
    const ptrdiff_t first = position * stride[dim] - padding[dim];
    return first >= 0 ? first : first + (dilation[dim] - 1 - first) / dilation[dim] * dilation[dim];
  }
  ptrdiff_t end(int dim, ptrdiff_t position) const noexcept {
    return std::min(position * stride[dim] - padding[dim] + (kernel[dim] - 1) * dilation[dim] + 1, in[dim]);
  }

 private:
  struct Lists {
    const IntList *kernel, *stride, *padding, *dilation;  // dilation: null for ones
  };
  etb_status read(KernelContext& context, const Tensor& input, const Lists& lists, bool ceil_mode,
                  Tensor& out_tensor) noexcept;
  etb_status read_dim(KernelContext& context, int dim, int64_t size, const Lists& lists,
                      bool ceil_mode) noexcept;
};

etb_status Pool::read_dim(KernelContext& context, int dim, int64_t size, const Lists& lists,
                          bool ceil_mode) noexcept {
  const auto index = static_cast<size_t>(dim);
  ops::Window window = {ops::item_of(*lists.kernel, index).value_or(0),
                        ops::item_of(*lists.stride, index).value_or(0),
                        lists.dilation == nullptr ? 1 : ops::item_of(*lists.dilation, index).value_or(1)};
  window.set_padding(ops::item_of(*lists.padding, index).value_or(0));
  const auto is_within = [](int64_t value) { return value >= 1 && value < kLargestExtent; };
  ops::Numbers sizes;
  const ops::WindowRounding rounding = ceil_mode ? ops::WindowRounding::kUp : ops::WindowRounding::kDown;
  int64_t count = 0;
  if (!is_within(size) || !is_within(window.kernel) || !is_within(window.stride) ||
      !is_within(window.dilation) || window.padding_before < 0 || window.padding_before > window.kernel / 2 ||
      ops::count_positions(sizes, size, window, rounding, &count) != ops::WindowError::kNone) {
    return context.fail(
        ETB_INVALID_ARGUMENT,
        "kernel %lld, stride %lld, padding %lld and dilation %lld for %lld elements of spatial dim %d",
        static_cast<long long>(window.kernel), static_cast<long long>(window.stride),
        static_cast<long long>(window.padding_before), static_cast<long long>(window.dilation),
        static_cast<long long>(size), dim);
  }
  in[dim] = static_cast<ptrdiff_t>(size), out[dim] = static_cast<ptrdiff_t>(count);
  kernel[dim] = static_cast<ptrdiff_t>(window.kernel), stride[dim] = static_cast<ptrdiff_t>(window.stride);
  padding[dim] = static_cast<ptrdiff_t>(window.padding_before);
  dilation[dim] = static_cast<ptrdiff_t>(window.dilation);
  return ETB_OK;
}

etb_status Pool::read(KernelContext& context, const Tensor& input, const Lists& lists, bool ceil_mode,
                      Tensor& out_tensor) noexcept {
  if (input.dtype() != Dtype::INT8 || out_tensor.dtype() != Dtype::INT8 || input.rank() != 4)
    return context.fail(ETB_INVALID_TYPE, "%s %s into %s, expected int8 of rank 4", to_text(input.dtype()),
                        SizesText(input.sizes()).text, to_text(out_tensor.dtype()));
  for (int dim = 0; dim < 2; ++dim) ETB_CHECK(read_dim(context, dim, input.size(2 + dim), lists, ceil_mode));
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
  for (ptrdiff_t y = 0; y < pool.out[0]; ++y) {
    for (ptrdiff_t x = 0; x < pool.out[1]; ++x) {
      const ptrdiff_t left = pool.begin(1, x), right = pool.end(1, x);
      const ptrdiff_t top = pool.begin(0, y), bottom = pool.end(0, y);
      int64_t sum = 0;
      for (ptrdiff_t row = top; row < bottom; ++row) {
        ETB_CHECK(for_each_piece(context, right - left, [&](ptrdiff_t begin, ptrdiff_t length) {
          const int8_t* at = from + row * step_of(input, 2) + (left + begin) * step_of(input, 3);
          const ptrdiff_t step = step_of(input, 3);
          for (ptrdiff_t i = 0; i < length; ++i) sum += at[i * step];
        }));
        if (context.should_stop(1)) return context.stopped();
      }
      const ptrdiff_t count = std::max<ptrdiff_t>((right - left) * (bottom - top), 1);
      to[y * step_of(out, 2) + x * step_of(out, 3)] = mean_of(sum, count, zero_point);
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
  if (out.numel() == 0) return ETB_OK;
  const auto images = static_cast<ptrdiff_t>(input.size(0)), channels = static_cast<ptrdiff_t>(input.size(1));
  for (ptrdiff_t image = 0; image < images; ++image) {
    for (ptrdiff_t channel = 0; channel < channels; ++channel) {
      if (context.should_stop(1)) return context.stopped();
      ETB_CHECK(
          average_plane(context, pool, limits.offset, input,
                        input.data_as<int8_t>() + image * step_of(input, 0) + channel * step_of(input, 1),
                        out, out.data_as<int8_t>() + image * step_of(out, 0) + channel * step_of(out, 1)));
    }
  }
  return ETB_OK;
}

// Channels of a pixel: `step` apart in memory.
struct Channels {
  ptrdiff_t count, step, out_step;

  // Calls visit(code, result) for each channel.
  template <class Visit>
  etb_status for_each(KernelContext& context, const int8_t* from, int8_t* to, Visit visit) const {
    return for_each_piece(context, count, [&](ptrdiff_t begin, ptrdiff_t length) {
      const int8_t* x = from + begin * step;
      int8_t* y = to + begin * out_step;
      for (ptrdiff_t i = length; i > 0; --i, x += step, y += out_step) visit(*x, *y);
    });
  }
};

// The largest codes of all channels under one output. A window without positions has the least code.
etb_status find_largest(KernelContext& context, const Pool& pool, const CodeLimits& limits, ptrdiff_t y,
                        ptrdiff_t x, const Tensor& input, const int8_t* from, const Channels& channels,
                        int8_t* to) {
  const auto low = static_cast<int8_t>(limits.low), high = static_cast<int8_t>(limits.high);
  ETB_CHECK(channels.for_each(context, from, to, [&](int8_t, int8_t& result) { result = low; }));
  const ptrdiff_t bottom = pool.end(0, y), right = pool.end(1, x);
  for (ptrdiff_t row = pool.begin(0, y); row < bottom; row += pool.dilation[0]) {
    for (ptrdiff_t column = pool.begin(1, x); column < right; column += pool.dilation[1]) {
      ETB_CHECK(channels.for_each(
          context, from + row * step_of(input, 2) + column * step_of(input, 3), to,
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
  const auto images = static_cast<ptrdiff_t>(input.size(0));
  const Channels channels = {static_cast<ptrdiff_t>(input.size(1)), step_of(input, 1), step_of(out, 1)};
  for (ptrdiff_t image = 0; image < images; ++image) {
    const int8_t* from = input.data_as<int8_t>() + image * step_of(input, 0);
    int8_t* to = out.data_as<int8_t>() + image * step_of(out, 0);
    for (ptrdiff_t y = 0; y < pool.out[0]; ++y)
      for (ptrdiff_t x = 0; x < pool.out[1]; ++x)
        ETB_CHECK(find_largest(context, pool, limits, y, x, input, from, channels,
                               to + y * step_of(out, 2) + x * step_of(out, 3)));
  }
  return ETB_OK;
}

constexpr Kernel kRows[] = {
    kernel_row<ops::cortex_m::quantized_avg_pool2d_out, avg_pool2d_out>(),
    kernel_row<ops::cortex_m::quantized_max_pool2d_out, max_pool2d_out>(),
};

}  // namespace

ETB_PUBLISH_INTEGER_KERNELS(integer_pool, kRows);

}  // namespace etb::host
