// SPDX-License-Identifier: Apache-2.0
// cortex_m::quantized_depthwise_conv2d: int8 codes in and out, int32 sums, for every layout of images.
//
// All kernel positions are added to the sums of a pixel's channels if those are neighbours in memory. Otherwise one position at a
// time is added to the sums of a row.
#include <cstddef>
#include <cstring>

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
    ETB_CHECK(allocate(&sums_));
    ETB_CHECK(is_by_pixel ? prepare_pixels() : prepare_rows());
    for (ptrdiff_t image = 0; image < shape_.batch; ++image) {
      const int8_t* from = input_.data_as<int8_t>() + image * step_of(input_, 0);
      int8_t* to = out_.data_as<int8_t>() + image * step_of(out_, 0);
      ETB_CHECK(is_by_pixel ? run_pixels(from, to) : run_rows(from, to));
    }
    return ETB_OK;
  }

 private:
  // Outputs of a row that read the input under one kernel column, and where in an input row the first of them reads.
  struct Span {
    ptrdiff_t begin, count, offset;
  };

  // Neighbouring positions of an output dim under which the same kernel positions [begin, end) are inside of the image.
  struct Stretch {
    ptrdiff_t first, last, begin, end;
  };

  // An array with an entry for each sum of a line.
  etb_status allocate(uint32_t** out_array) {
    *out_array = context_.allocate_array<uint32_t>(line_);
    return *out_array != nullptr ? static_cast<etb_status>(ETB_OK)
                                 : context_.fail_scratch(static_cast<uint64_t>(line_) * sizeof(uint32_t));
  }

  etb_status prepare_pixels() {
    biases_ = reinterpret_cast<const uint32_t*>(bias_);
    if (shape_.input_offset != 0) ETB_CHECK(allocate(&starts_));
    if (bias_ != nullptr) return ETB_OK;
    uint32_t* zeros = nullptr;
    ETB_CHECK(allocate(&zeros));
    biases_ = zeros;
    return clear(zeros);
  }

  etb_status prepare_rows() {
    spans_ = context_.allocate_array<Span>(shape_.kernel[1]);
    if (spans_ == nullptr)
      return context_.fail_scratch(static_cast<uint64_t>(shape_.kernel[1]) * sizeof(Span) + 64);
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

  // The stretch that begins at `position`. Where the image ends inside of the window, it has one position.
  Stretch find_stretch(int dim, ptrdiff_t position) const {
    const ptrdiff_t first = shape_.source(dim, position, 0), dilation = shape_.dilation[dim];
    const ptrdiff_t room = shape_.in[dim] - 1 - shape_.source(dim, position, shape_.kernel[dim] - 1);
    Stretch stretch = {position, position + 1, 0, shape_.kernel[dim]};
    if (first >= 0 && room >= 0) {
      stretch.last = std::min(shape_.out[dim], position + room / shape_.stride[dim] + 1);
      return stretch;
    }
    if (first < 0) stretch.begin = (-first + dilation - 1) / dilation;
    const ptrdiff_t left = shape_.in[dim] - first;
    stretch.end = left <= 0 ? 0 : std::min(stretch.end, (left + dilation - 1) / dilation);
    return stretch;
  }

  etb_status run_pixels(const int8_t* from, int8_t* to) {
    for (ptrdiff_t y = 0; y < shape_.out[0];) {
      const Stretch rows = find_stretch(0, y);
      for (ptrdiff_t x = 0; x < shape_.out[1];) {
        const Stretch columns = find_stretch(1, x);
        ETB_CHECK(run_rectangle(rows, columns, from, to));
        x = columns.last;
      }
      y = rows.last;
    }
    return ETB_OK;
  }

  // Outputs whose windows have the same weights, so that their sums have the same starts.
  etb_status run_rectangle(const Stretch& rows, const Stretch& columns, const int8_t* from, int8_t* to) {
    const ptrdiff_t row_step = step_of(input_, 2), column_step = step_of(input_, 3);
    DepthwiseWindow window = {rows.end - rows.begin,         columns.end - columns.begin,
                              shape_.dilation[0] * row_step, shape_.dilation[1] * column_step,
                              shape_.kernel[1] * line_,      line_};
    const int8_t *weights = weights_, *row = from;
    ptrdiff_t y_step = shape_.stride[0] * row_step, x_step = shape_.stride[1] * column_step;
    if (window.rows > 0 && window.columns > 0) {
      weights += (rows.begin * shape_.kernel[1] + columns.begin) * line_;
      row += shape_.source(0, rows.first, rows.begin) * row_step +
             shape_.source(1, columns.first, columns.begin) * column_step;
    } else {  // no products
      window.rows = window.columns = 0;
      y_step = x_step = 0;
    }
    const uint32_t* starts = nullptr;
    ETB_CHECK(fill_starts(window, weights, &starts));
    int8_t* out_row = to + rows.first * step_of(out_, 2) + columns.first * step_of(out_, 3);
    for (ptrdiff_t y = rows.first; y < rows.last; ++y, row += y_step, out_row += step_of(out_, 2)) {
      const int8_t* at = row;
      int8_t* out = out_row;
      for (ptrdiff_t x = columns.first; x < columns.last; ++x, at += x_step, out += step_of(out_, 3)) {
        ETB_CHECK(add_window(window, at, weights, starts, sums_));
        ETB_CHECK(store(out, step_of(out_, 1)));
      }
    }
    return ETB_OK;
  }

  // The bias, and the part of the input offset: the sums of a window whose inputs are the offset. 128 is no code, so it needs two.
  etb_status fill_starts(DepthwiseWindow window, const int8_t* weights, const uint32_t** out_starts) {
    *out_starts = biases_;
    window.input_row = window.input_column = 0;
    auto* codes = reinterpret_cast<int8_t*>(sums_);
    for (int32_t left = window.rows > 0 ? shape_.input_offset : 0; left != 0;) {
      const int32_t code = std::min<int32_t>(left, 127);
      ETB_CHECK(for_each_piece(context_, line_, [&](ptrdiff_t begin, ptrdiff_t length) {
        std::memset(codes + begin, code, static_cast<size_t>(length));
      }));
      ETB_CHECK(add_window(window, codes, weights, *out_starts, starts_));
      *out_starts = starts_;
      left -= code;
    }
    return ETB_OK;
  }

  // The sums of a pixel's channels, in parts between which the run may stop.
  etb_status add_window(const DepthwiseWindow& window, const int8_t* input, const int8_t* weights,
                        const uint32_t* starts, uint32_t* sums) {
    const ptrdiff_t work = window.rows * window.columns * line_;
    if (work >= KernelContext::kPiece) return add_large_window(window, input, weights, starts, sums);
    if (context_.should_stop(work + 1)) return context_.stopped();
    add_window_products(window, input, weights, line_, starts, sums);
    return ETB_OK;
  }

  etb_status add_large_window(const DepthwiseWindow& window, const int8_t* input, const int8_t* weights,
                              const uint32_t* starts, uint32_t* sums) {
    const ptrdiff_t most_columns = std::max<ptrdiff_t>(KernelContext::kPiece / line_, 1);
    DepthwiseWindow part = window;
    part.rows = 1;
    for (ptrdiff_t r = 0; r < window.rows; ++r) {
      for (ptrdiff_t c = 0; c < window.columns; c += part.columns) {
        part.columns = std::min(most_columns, window.columns - c);
        if (context_.should_stop(KernelContext::kPiece)) return context_.stopped();
        add_window_products(part, input + r * window.input_row + c * window.input_column,
                            weights + r * window.weight_row + c * window.weight_column, line_, starts, sums);
        starts = sums;
      }
    }
    return ETB_OK;
  }

  // Codes of all channels, from sums_.
  etb_status store(int8_t* to, ptrdiff_t step) {
    return for_each_piece(context_, line_, [&](ptrdiff_t begin, ptrdiff_t length) {
      store_codes(rescales_.from(begin), shape_.limits, sums_ + begin, length, to + begin * step, step);
    });
  }

  etb_status run_rows(const int8_t* from, int8_t* to) {
    for (ptrdiff_t y = 0; y < shape_.out[0]; ++y)
      for (ptrdiff_t channel = 0; channel < shape_.out_channels; ++channel)
        ETB_CHECK(run_row(from, to, y, channel));
    return ETB_OK;
  }

  // One row of one output channel.
  etb_status run_row(const int8_t* from, int8_t* to, ptrdiff_t y, ptrdiff_t channel) {
    ETB_CHECK(clear(sums_));
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

  etb_status clear(uint32_t* line) {
    return clear_bytes(context_, line, static_cast<uint64_t>(line_) * sizeof(uint32_t));
  }

  KernelContext& context_;
  const ConvolutionGeometry& shape_;
  const Tensor& input_;
  Tensor& out_;
  const int8_t* weights_;
  const int32_t* bias_;
  ChannelRescales rescales_;
  const uint32_t* biases_ = nullptr;  // zeros if the layer has none
  uint32_t* starts_ = nullptr;        // biases with the part of the input offset
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

ETB_PUBLISH_INTEGER_KERNELS(integer_depthwise, kRows);

}  // namespace etb::host
