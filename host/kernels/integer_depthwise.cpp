// SPDX-License-Identifier: Apache-2.0
// cortex_m::quantized_depthwise_conv2d: int8 codes in and out, int32 sums, for every layout of images.
//
// All kernel positions are added to the sums of a pixel's channels if those are neighbours in memory. Otherwise one position at a
// time is added to the sums of a row.
#include <cstddef>

#include "host/kernels/integer_geometry.hpp"
#include "ops/cortex_m/quantized_depthwise_conv2d.hpp"

namespace etb::host {
namespace {

// A function of its own, so that its numbers stay in registers.
[[gnu::noinline]] void add_products(uint32_t* sums, ptrdiff_t count, const int8_t* input, ptrdiff_t step,
                                    int32_t offset, int32_t weight) noexcept {
  for (ptrdiff_t i = 0; i < count; ++i) sums[i] += static_cast<uint32_t>((input[i * step] + offset) * weight);
}

// One convolution of each channel with `depth_multiplier` kernels.
class Depthwise {
 public:
  Depthwise(KernelContext& context, const ConvolutionGeometry& shape,
            const ops::cortex_m::quantized_depthwise_conv2d_out<KernelArguments>& args)
      : context_(context),
        shape_(shape),
        input_(args.input()),
        out_(args.out()),
        weights_(args.weight().data_as<int8_t>()),
        bias_(args.bias() == nullptr ? nullptr : args.bias()->data_as<int32_t>()),
        rescales_{args.requantize_multipliers().data_as<int32_t>(),
                  args.requantize_shifts().data_as<int32_t>(), 1} {}

  etb_status run() {
    const bool is_by_pixel =
        shape_.out_channels == shape_.in_channels && shape_.in_channels > 1 && step_of(input_, 1) == 1;
    line_ = is_by_pixel ? shape_.out_channels : shape_.out[1];
    sums_ = context_.allocate_array<uint32_t>(line_);
    spans_ = context_.allocate_array<Span>(shape_.kernel[1]);
    if (sums_ == nullptr || spans_ == nullptr)
      return context_.fail_scratch(static_cast<uint64_t>(line_) * sizeof(uint32_t) +
                                   static_cast<uint64_t>(shape_.kernel[1]) * sizeof(Span) + 64);
    starts_ = reinterpret_cast<const uint32_t*>(bias_);
    if (is_by_pixel && bias_ == nullptr) {
      auto* zeros = context_.allocate_array<uint32_t>(line_);
      if (zeros == nullptr) return context_.fail_scratch(static_cast<uint64_t>(line_) * sizeof(uint32_t));
      ETB_CHECK(clear_bytes(context_, zeros, static_cast<uint64_t>(line_) * sizeof(uint32_t)));
      starts_ = zeros;
    }
    if (!is_by_pixel) ETB_CHECK(fill_spans());
    for (ptrdiff_t image = 0; image < shape_.batch; ++image) {
      const int8_t* from = input_.data_as<int8_t>() + image * step_of(input_, 0);
      int8_t* to = out_.data_as<int8_t>() + image * step_of(out_, 0);
      const ptrdiff_t lines = is_by_pixel ? shape_.out[1] : shape_.out_channels;
      for (ptrdiff_t y = 0; y < shape_.out[0]; ++y) {
        for (ptrdiff_t line = 0; line < lines; ++line)
          ETB_CHECK(is_by_pixel ? run_pixel(from, to, y, line) : run_row(from, to, y, line));
      }
    }
    return ETB_OK;
  }

 private:
  // Outputs of a row that read the input under one kernel column, and where in an input row the first of them reads.
  struct Span {
    ptrdiff_t begin, count, offset;
  };

  etb_status fill_spans() {
    const ptrdiff_t stride = shape_.stride[1];
    for (ptrdiff_t c = 0; c < shape_.kernel[1]; ++c) {
      if (context_.should_stop(1)) return context_.stopped();
      const ptrdiff_t first = shape_.source(1, 0, c), left = shape_.in[1] - first;
      const ptrdiff_t begin = first >= 0 ? 0 : (stride - 1 - first) / stride;
      const ptrdiff_t end = left <= 0 ? 0 : std::min(line_, (left + stride - 1) / stride);
      spans_[c] = {begin, std::max<ptrdiff_t>(end - begin, 0), (begin * stride + first) * step_of(input_, 3)};
    }
    return ETB_OK;
  }

  // sums_[begin + i] += (input[i * step] + offset) * weight
  etb_status accumulate(ptrdiff_t begin, ptrdiff_t count, const int8_t* input, ptrdiff_t step,
                        int32_t weight) {
    return for_each_piece(context_, count, [&](ptrdiff_t from, ptrdiff_t length) {
      add_products(sums_ + begin + from, length, input + from * step, step, shape_.input_offset, weight);
    });
  }

  // The kernel positions [begin, end) of one dim that are inside of the image for an output position.
  void find_inside(int dim, ptrdiff_t position, ptrdiff_t* out_begin, ptrdiff_t* out_end) const {
    const ptrdiff_t first = shape_.source(dim, position, 0), dilation = shape_.dilation[dim];
    *out_begin = 0;
    *out_end = shape_.kernel[dim];
    // Most positions; the others need divisions.
    if (first >= 0 && shape_.source(dim, position, shape_.kernel[dim] - 1) < shape_.in[dim]) return;
    *out_begin = first >= 0 ? 0 : (-first + dilation - 1) / dilation;
    const ptrdiff_t left = shape_.in[dim] - first;
    *out_end = left <= 0 ? 0 : std::min(shape_.kernel[dim], (left + dilation - 1) / dilation);
  }

  // All channels of one output pixel.
  etb_status run_pixel(const int8_t* from, int8_t* to, ptrdiff_t y, ptrdiff_t x) {
    ptrdiff_t top, bottom, left, right;
    find_inside(0, y, &top, &bottom);
    find_inside(1, x, &left, &right);
    const ptrdiff_t row_step = shape_.dilation[0] * step_of(input_, 2);
    DepthwiseWindow window = {0,
                              right - left,
                              row_step,
                              shape_.dilation[1] * step_of(input_, 3),
                              shape_.kernel[1] * line_,
                              line_,
                              shape_.input_offset};
    if (top >= bottom || left >= right) {  // no sum
      window.columns = 0;
      top = bottom = left = 0;
    }
    const int8_t* at = from;
    if (window.columns > 0)
      at += shape_.source(0, y, top) * step_of(input_, 2) + shape_.source(1, x, left) * step_of(input_, 3);
    ETB_CHECK(add_window(window, bottom - top, at, weights_ + (top * shape_.kernel[1] + left) * line_));
    return store(to + y * step_of(out_, 2) + x * step_of(out_, 3), step_of(out_, 1));
  }

  // The sums of a pixel's channels, in parts between which the run may stop.
  etb_status add_window(DepthwiseWindow window, ptrdiff_t rows, const int8_t* input, const int8_t* weights) {
    const auto line = line_;
    const ptrdiff_t columns = window.columns, work = rows * columns * line_;
    ptrdiff_t most_rows = rows, most_columns = columns;
    if (work > KernelContext::kPiece) {
      most_rows = 1;
      most_columns = std::max<ptrdiff_t>(KernelContext::kPiece / line_, 1);
    }
    const uint32_t* from = starts_;
    ptrdiff_t r = 0;
    do {
      window.rows = std::min(most_rows, rows - r);
      ptrdiff_t c = 0;
      do {
        window.columns = std::min(most_columns, columns - c);
        if (context_.should_stop(std::min<ptrdiff_t>(work + 1, KernelContext::kPiece)))
          return context_.stopped();
        add_window_products(window, input + r * window.input_row + c * window.input_column,
                            weights + r * window.weight_row + c * window.weight_column, line, from, sums_);
        from = sums_;
        c += window.columns;
      } while (c < columns);
      r += window.rows;
    } while (r < rows);
    return ETB_OK;
  }

  // Codes of all channels, from sums_.
  etb_status store(int8_t* to, ptrdiff_t step) {
    return for_each_piece(context_, line_, [&](ptrdiff_t begin, ptrdiff_t length) {
      store_codes(rescales_.from(begin), shape_.limits, sums_ + begin, length, to + begin * step, step);
    });
  }

  // One row of one output channel.
  etb_status run_row(const int8_t* from, int8_t* to, ptrdiff_t y, ptrdiff_t channel) {
    ETB_CHECK(clear());
    from += channel / (shape_.out_channels / shape_.in_channels) * step_of(input_, 1);
    const ptrdiff_t step = shape_.stride[1] * step_of(input_, 3);
    ptrdiff_t weight = channel;
    for (ptrdiff_t r = 0; r < shape_.kernel[0]; ++r) {
      const ptrdiff_t row = shape_.source(0, y, r);
      const bool is_inside = row >= 0 && row < shape_.in[0];
      const int8_t* input = is_inside ? from + row * step_of(input_, 2) : from;
      for (const Span *span = spans_, *end = spans_ + shape_.kernel[1]; span != end;
           ++span, weight += shape_.out_channels) {
        if (context_.should_stop(1)) return context_.stopped();
        if (is_inside && span->count > 0)
          ETB_CHECK(accumulate(span->begin, span->count, input + span->offset, step, weights_[weight]));
      }
    }
    if (bias_ != nullptr) {
      const auto bias = static_cast<uint32_t>(bias_[channel]);
      ETB_CHECK(for_each_piece(context_, line_, [&](ptrdiff_t begin, ptrdiff_t length) {
        for (ptrdiff_t i = begin; i < begin + length; ++i) sums_[i] += bias;
      }));
    }
    int8_t* line = to + y * step_of(out_, 2) + channel * step_of(out_, 1);
    const ChannelRescales one = {rescales_.multipliers + channel, rescales_.shifts + channel, 0};
    return for_each_piece(context_, line_, [&](ptrdiff_t begin, ptrdiff_t length) {
      store_codes(one, shape_.limits, sums_ + begin, length, line + begin * step_of(out_, 3),
                  step_of(out_, 3));
    });
  }

  etb_status clear() { return clear_bytes(context_, sums_, static_cast<uint64_t>(line_) * sizeof(uint32_t)); }

  KernelContext& context_;
  const ConvolutionGeometry& shape_;
  const Tensor& input_;
  Tensor& out_;
  const int8_t* weights_;
  const int32_t* bias_;
  ChannelRescales rescales_;
  const uint32_t* starts_ = nullptr;  // where the sums of a pixel start
  uint32_t* sums_ = nullptr;
  Span* spans_ = nullptr;
  ptrdiff_t line_ = 0;
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
  ConvolutionGeometry shape = {};
  ETB_CHECK(read_geometry(context, CodeConvolutionArguments(args), outputs, shape));
  return args.out().numel() == 0 ? static_cast<etb_status>(ETB_OK) : Depthwise(context, shape, args).run();
}

constexpr Kernel kRows[] = {
    kernel_row<ops::cortex_m::quantized_depthwise_conv2d_out, depthwise_conv2d_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(integer_depthwise, kRows);

}  // namespace etb::host
