// SPDX-License-Identifier: Apache-2.0
// cortex_m::quantized_conv2d and quantized_depthwise_conv2d: int8 codes in and out, int32 sums, for every layout of images.
//
// The first gathers the inputs under some outputs of a row into scratch, with their offset added and zeros for padding, in the
// order of the weights; sums are then products of matrices. The second adds one kernel position at a time to the sums of a line.
// A line is all channels of a pixel if they are neighbours in memory. Otherwise it is all pixels of a row.
#include <cstddef>
#include <cstring>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/window.hpp"
#include "host/kernels/integer_products.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/cortex_m/quantized_conv2d.hpp"
#include "ops/cortex_m/quantized_depthwise_conv2d.hpp"

namespace etb::host {
namespace {

constexpr int64_t kLargest = int64_t{1} << 30;  // so that no product overflows

// Arrays have an entry for rows and one for columns.
struct Geometry {
  int64_t batch, in_channels, out_channels;
  int64_t in[2], out[2], kernel[2], stride[2], padding[2], dilation[2];
  int32_t input_offset;
  CodeRange codes;

  // The input index under output `position` and kernel position `tap`; outside of [0, in) for padding.
  int64_t source(int dim, int64_t position, int64_t tap) const noexcept {
    return position * stride[dim] - padding[dim] + tap * dilation[dim];
  }
};

etb_status check_codes(KernelContext& context, const Tensor& input, const Tensor& weight, const Tensor& out) {
  for (const Tensor* tensor : {&input, &weight, &out}) {
    if (tensor->dtype() != Dtype::INT8 || tensor->rank() != 4)
      return context.fail(ETB_INVALID_TYPE, "a tensor is %s %s, expected int8 of rank 4",
                          to_text(tensor->dtype()), SizesText(tensor->sizes()).text);
  }
  if (weight.is_contiguous()) return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "weights %s are not row-major", SizesText(weight.sizes()).text);
}

etb_status read_dim(KernelContext& context, int dim, const IntList& stride, const IntList& padding,
                    const IntList& dilation, Geometry& out) {
  const auto index = static_cast<size_t>(dim);
  out.stride[dim] = ops::item_of(stride, index).value_or(1);
  out.padding[dim] = ops::item_of(padding, index).value_or(0);
  out.dilation[dim] = ops::item_of(dilation, index).value_or(1);
  const auto is_within = [](int64_t value, int64_t least) { return value >= least && value < kLargest; };
  if (!is_within(out.stride[dim], 1) || !is_within(out.dilation[dim], 1) || !is_within(out.padding[dim], 0) ||
      !is_within(out.kernel[dim], 1) || !is_within(out.in[dim], 0)) {
    return context.fail(ETB_INVALID_ARGUMENT,
                        "stride, padding, dilation, kernel or size of spatial dim %d is out of range", dim);
  }
  ops::Numbers sizes;
  ops::Window window = {out.kernel[dim], out.stride[dim], out.dilation[dim]};
  window.set_padding(out.padding[dim]);
  if (ops::count_positions(sizes, out.in[dim], window, ops::WindowRounding::kDown, &out.out[dim]) ==
      ops::WindowError::kNone)
    return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "a kernel of %lld does not fit into %lld padded by %lld",
                      static_cast<long long>(out.kernel[dim]), static_cast<long long>(out.in[dim]),
                      static_cast<long long>(out.padding[dim]));
}

// Reads the arguments that both ops have, and resizes the output.
template <class Arguments>
etb_status read_geometry(KernelContext& context, const Arguments& args, int64_t out_channels,
                         Geometry& shape) {
  const Tensor &input = args.input(), &weight = args.weight();
  shape.batch = input.size(0);
  shape.in_channels = input.size(1);
  shape.out_channels = out_channels;
  const IntList stride = args.stride(), padding = args.padding(), dilation = args.dilation();
  for (int dim = 0; dim < 2; ++dim) {
    shape.in[dim] = input.size(2 + dim);
    shape.kernel[dim] = weight.size(1 + dim);
    ETB_CHECK(read_dim(context, dim, stride, padding, dilation, shape));
  }
  ETB_CHECK(read_input_offset(context, args.input_offset(), &shape.input_offset));
  ETB_CHECK(CodeRange::read(context, args.output_offset(), args.activation_min(), args.activation_max(),
                            &shape.codes));
  ETB_CHECK(check_rescales(context, args.requantize_multipliers(), args.requantize_shifts(), out_channels));
  ETB_CHECK(check_bias(context, args.bias(), out_channels));
  const int64_t sizes[4] = {shape.batch, out_channels, shape.out[0], shape.out[1]};
  return resize_output(context, args.out(), sizes);
}

// One group's inputs under `count` outputs from row `y` and column `x` on, row by row; out_rows has kernel positions * channels for
// each.
etb_status gather(KernelContext& context, const Geometry& shape, const Tensor& input, const int8_t* channels,
                  int64_t channel_count, int64_t y, int64_t x, int64_t count, int16_t* out_rows) {
  const int64_t channel_stride = input.stride(1);
  for (int64_t pixel = 0; pixel < count; ++pixel, ++x) {
    if (x == shape.out[1]) {
      x = 0;
      ++y;
    }
    for (int64_t r = 0; r < shape.kernel[0]; ++r) {
      const int64_t row = shape.source(0, y, r);
      for (int64_t c = 0; c < shape.kernel[1]; ++c) {
        if (context.should_stop(1)) return context.stopped();
        const int64_t column = shape.source(1, x, c);
        const bool is_inside = row >= 0 && row < shape.in[0] && column >= 0 && column < shape.in[1];
        const int8_t* from =
            is_inside ? channels + row * input.stride(2) + column * input.stride(3) : channels;
        ETB_CHECK(for_each_piece(context, channel_count, [&](int64_t begin, int64_t length) {
          const auto count_here = static_cast<ptrdiff_t>(length),
                     step = static_cast<ptrdiff_t>(channel_stride);
          const int8_t* at = from + begin * channel_stride;
          if (is_inside) {
            for (ptrdiff_t i = 0; i < count_here; ++i)
              out_rows[i] = static_cast<int16_t>(at[i * step] + shape.input_offset);
          } else {
            std::memset(out_rows, 0, static_cast<size_t>(count_here) * sizeof(int16_t));
          }
          out_rows += count_here;
        }));
      }
    }
  }
  return ETB_OK;
}

// Outputs that are computed together: as many as there is scratch for, up to 8.
int16_t* allocate_rows(KernelContext& context, int64_t k, int64_t line, int64_t* out_count) {
  constexpr int64_t kMost = 8;
  *out_count = std::min(line, kMost);
  context.wish_for(static_cast<uint64_t>(k * *out_count) * sizeof(int16_t) + 64);
  while (*out_count > 1 &&
         static_cast<uint64_t>(k * *out_count) * sizeof(int16_t) + 64 > context.scratch_left_bytes()) {
    *out_count = (*out_count + 1) / 2;
  }
  return context.allocate_array<int16_t>(k * *out_count);
}

etb_status convolve(KernelContext& context, const Geometry& shape, const Tensor& input, int64_t groups,
                    IntegerProduct product, Tensor& out) {
  const int64_t group_in = shape.in_channels / groups;
  // Outputs whose places are as far apart as those of neighbours are one line: all of a plane, or a row.
  const bool is_plane = out.stride(2) == out.stride(3) * shape.out[1];
  const int64_t lines = is_plane ? 1 : shape.out[0], line = shape.out[1] * (is_plane ? shape.out[0] : 1);
  int64_t most = 0;
  int16_t* rows = allocate_rows(context, product.k, line, &most);
  if (rows == nullptr) return context.fail_scratch(static_cast<uint64_t>(product.k) * sizeof(int16_t));
  product.rows = rows;
  const IntegerProduct whole = product;
  for (int64_t image = 0; image < shape.batch; ++image) {
    for (int64_t group = 0; group < groups; ++group) {
      const int64_t first = group * product.channel_count;
      product.weights = whole.weights + first * product.k;
      if (whole.bias != nullptr) product.bias = whole.bias + first;
      product.multipliers = whole.multipliers + first;
      product.shifts = whole.shifts + first;
      const int8_t* channels =
          input.data_as<int8_t>() + image * input.stride(0) + group * group_in * input.stride(1);
      int8_t* to = out.data_as<int8_t>() + image * out.stride(0) + first * out.stride(1);
      for (int64_t y = 0; y < lines; ++y) {
        for (int64_t at = 0; at < line; at += most) {
          product.row_count = std::min(most, line - at);
          product.out = to + y * out.stride(2) + at * out.stride(3);
          ETB_CHECK(gather(context, shape, input, channels, group_in, y + at / shape.out[1],
                           at % shape.out[1], product.row_count, rows));
          ETB_CHECK(run_product(context, product));
        }
      }
    }
  }
  return ETB_OK;
}

// The weights are [outputs, rows, columns, inputs of a group].
etb_status conv2d_out(KernelContext& context, ops::cortex_m::quantized_conv2d_out<KernelArguments> args) {
  const Tensor &input = args.input(), &weight = args.weight();
  Tensor& out = args.out();
  ETB_CHECK(check_codes(context, input, weight, out));
  const int64_t group_in = weight.size(3), groups = group_in > 0 ? input.size(1) / group_in : 0;
  if (groups < 1 || groups * group_in != input.size(1) || weight.size(0) % groups != 0) {
    return context.fail(ETB_INVALID_ARGUMENT, "input %s with weights %s, expected outputs in as many groups",
                        SizesText(input.sizes()).text, SizesText(weight.sizes()).text);
  }
  Geometry shape = {};
  ETB_CHECK(read_geometry(context, args, weight.size(0), shape));
  if (out.numel() == 0) return ETB_OK;
  IntegerProduct product = {};
  product.k = group_in * shape.kernel[0] * shape.kernel[1];
  product.channel_count = weight.size(0) / groups;
  product.weights = weight.data_as<int8_t>();
  product.bias = args.bias() == nullptr ? nullptr : args.bias()->data_as<int32_t>();
  product.multipliers = args.requantize_multipliers().data_as<int32_t>();
  product.shifts = args.requantize_shifts().data_as<int32_t>();
  product.rescale_stride = 1;
  product.codes = shape.codes;
  product.out_row_stride = out.stride(3);
  product.out_channel_stride = out.stride(1);
  return convolve(context, shape, input, groups, product, out);
}

// A function of its own, so that its numbers stay in registers.
[[gnu::noinline]] void add_products(uint32_t* sums, ptrdiff_t count, const int8_t* input, ptrdiff_t step,
                                    int32_t offset, const int8_t* weights, ptrdiff_t weight_step) noexcept {
  if (weight_step == 0) {
    const int32_t weight = *weights;
    for (ptrdiff_t i = 0; i < count; ++i)
      sums[i] += static_cast<uint32_t>((input[i * step] + offset) * weight);
    return;
  }
  for (ptrdiff_t i = 0; i < count; ++i)
    sums[i] += static_cast<uint32_t>((input[i * step] + offset) * weights[i * weight_step]);
}

// One convolution of each channel with `depth_multiplier` kernels.
class Depthwise {
 public:
  Depthwise(KernelContext& context, const Geometry& shape,
            const ops::cortex_m::quantized_depthwise_conv2d_out<KernelArguments>& args)
      : context_(context),
        shape_(shape),
        input_(args.input()),
        out_(args.out()),
        weights_(args.weight().data_as<int8_t>()),
        bias_(args.bias() == nullptr ? nullptr : args.bias()->data_as<int32_t>()),
        multipliers_(args.requantize_multipliers().data_as<int32_t>()),
        shifts_(args.requantize_shifts().data_as<int32_t>()) {}

  etb_status run() {
    const bool is_by_pixel =
        shape_.out_channels == shape_.in_channels && shape_.in_channels > 1 && input_.stride(1) == 1;
    line_ = is_by_pixel ? shape_.out_channels : shape_.out[1];
    sums_ = context_.allocate_array<uint32_t>(line_);
    spans_ = context_.allocate_array<Span>(shape_.kernel[1]);
    if (sums_ == nullptr || spans_ == nullptr)
      return context_.fail_scratch(static_cast<uint64_t>(line_) * sizeof(uint32_t) +
                                   static_cast<uint64_t>(shape_.kernel[1]) * sizeof(Span) + 64);
    if (!is_by_pixel) ETB_CHECK(fill_spans());
    for (int64_t image = 0; image < shape_.batch; ++image) {
      const int8_t* from = input_.data_as<int8_t>() + image * input_.stride(0);
      int8_t* to = out_.data_as<int8_t>() + image * out_.stride(0);
      const int64_t lines = is_by_pixel ? shape_.out[1] : shape_.out_channels;
      for (int64_t y = 0; y < shape_.out[0]; ++y) {
        for (int64_t line = 0; line < lines; ++line)
          ETB_CHECK(is_by_pixel ? run_pixel(from, to, y, line) : run_row(from, to, y, line));
      }
    }
    return ETB_OK;
  }

 private:
  // Outputs of a row that read the input under one kernel column, and where in an input row the first of them reads.
  struct Span {
    int64_t begin, count, offset;
  };

  etb_status fill_spans() {
    const int64_t stride = shape_.stride[1];
    for (int64_t c = 0; c < shape_.kernel[1]; ++c) {
      if (context_.should_stop(1)) return context_.stopped();
      const int64_t first = shape_.source(1, 0, c), left = shape_.in[1] - first;
      const int64_t begin = first >= 0 ? 0 : (stride - 1 - first) / stride;
      const int64_t end = left <= 0 ? 0 : std::min(line_, (left + stride - 1) / stride);
      spans_[c] = {begin, std::max<int64_t>(end - begin, 0), (begin * stride + first) * input_.stride(3)};
    }
    return ETB_OK;
  }

  // sums_[begin + i] += (input[i * step] + offset) * weights[i * weight_step]
  etb_status accumulate(int64_t begin, int64_t count, const int8_t* input, int64_t step,
                        const int8_t* weights, int64_t weight_step) {
    return for_each_piece(context_, count, [&](int64_t from, int64_t length) {
      add_products(sums_ + begin + from, static_cast<ptrdiff_t>(length), input + from * step,
                   static_cast<ptrdiff_t>(step), shape_.input_offset, weights + from * weight_step,
                   static_cast<ptrdiff_t>(weight_step));
    });
  }

  void store(int64_t index, int64_t channel, int8_t* to) const {
    const uint32_t sum = sums_[index] + (bias_ == nullptr ? 0 : static_cast<uint32_t>(bias_[channel]));
    const Rescale rescale = {multipliers_[channel], shifts_[channel]};
    *to = shape_.codes.code(rescale.apply(static_cast<int32_t>(sum)));
  }

  // All channels of one output pixel.
  etb_status run_pixel(const int8_t* from, int8_t* to, int64_t y, int64_t x) {
    ETB_CHECK(clear());
    for (int64_t r = 0; r < shape_.kernel[0]; ++r) {
      const int64_t row = shape_.source(0, y, r);
      if (context_.should_stop(1)) return context_.stopped();
      if (row < 0 || row >= shape_.in[0]) continue;
      for (int64_t c = 0; c < shape_.kernel[1]; ++c) {
        const int64_t column = shape_.source(1, x, c);
        if (context_.should_stop(1)) return context_.stopped();
        if (column < 0 || column >= shape_.in[1]) continue;
        ETB_CHECK(accumulate(0, line_, from + row * input_.stride(2) + column * input_.stride(3), 1,
                             weights_ + (r * shape_.kernel[1] + c) * line_, 1));
      }
    }
    int8_t* pixel = to + y * out_.stride(2) + x * out_.stride(3);
    for (int64_t channel = 0; channel < line_; ++channel) {
      if (context_.should_stop(1)) return context_.stopped();
      store(channel, channel, pixel + channel * out_.stride(1));
    }
    return ETB_OK;
  }

  // One row of one output channel.
  etb_status run_row(const int8_t* from, int8_t* to, int64_t y, int64_t channel) {
    ETB_CHECK(clear());
    from += channel / (shape_.out_channels / shape_.in_channels) * input_.stride(1);
    const int64_t step = shape_.stride[1] * input_.stride(3);
    int64_t weight = channel;
    for (int64_t r = 0; r < shape_.kernel[0]; ++r) {
      const int64_t row = shape_.source(0, y, r);
      const bool is_inside = row >= 0 && row < shape_.in[0];
      const int8_t* input = is_inside ? from + row * input_.stride(2) : from;
      for (const Span *span = spans_, *end = spans_ + shape_.kernel[1]; span != end;
           ++span, weight += shape_.out_channels) {
        if (context_.should_stop(1)) return context_.stopped();
        if (is_inside && span->count > 0)
          ETB_CHECK(accumulate(span->begin, span->count, input + span->offset, step, weights_ + weight, 0));
      }
    }
    int8_t* line = to + y * out_.stride(2) + channel * out_.stride(1);
    for (int64_t x = 0; x < line_; ++x) {
      if (context_.should_stop(1)) return context_.stopped();
      store(x, channel, line + x * out_.stride(3));
    }
    return ETB_OK;
  }

  etb_status clear() { return clear_bytes(context_, sums_, static_cast<uint64_t>(line_) * sizeof(uint32_t)); }

  KernelContext& context_;
  const Geometry& shape_;
  const Tensor& input_;
  Tensor& out_;
  const int8_t* weights_;
  const int32_t* bias_;
  const int32_t *multipliers_, *shifts_;
  uint32_t* sums_ = nullptr;
  Span* spans_ = nullptr;
  int64_t line_ = 0;
};

// The weights are [1, rows, columns, outputs].
etb_status depthwise_conv2d_out(KernelContext& context,
                                ops::cortex_m::quantized_depthwise_conv2d_out<KernelArguments> args) {
  const Tensor &input = args.input(), &weight = args.weight();
  ETB_CHECK(check_codes(context, input, weight, args.out()));
  const int64_t inputs = input.size(1), outputs = weight.size(3), multiplier = args.depth_multiplier();
  if (weight.size(0) != 1 || inputs < 1 || multiplier < 1 || outputs % inputs != 0 ||
      outputs / inputs != multiplier) {
    return context.fail(ETB_INVALID_ARGUMENT, "input %s with weights %s and depth multiplier %lld",
                        SizesText(input.sizes()).text, SizesText(weight.sizes()).text,
                        static_cast<long long>(multiplier));
  }
  Geometry shape = {};
  ETB_CHECK(read_geometry(context, args, outputs, shape));
  return args.out().numel() == 0 ? static_cast<etb_status>(ETB_OK) : Depthwise(context, shape, args).run();
}

constexpr Kernel kRows[] = {
    kernel_row<ops::cortex_m::quantized_conv2d_out, conv2d_out>(),
    kernel_row<ops::cortex_m::quantized_depthwise_conv2d_out, depthwise_conv2d_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(integer_convolution, kRows);

}  // namespace etb::host
