// SPDX-License-Identifier: Apache-2.0
// cortex_m::quantized_conv2d and quantized_depthwise_conv2d: int8 codes in and out, int32 sums, for every layout of images.
//
// The first is a product of matrices. It gathers the inputs under some outputs into scratch, in the order of the weights, with the
// zero point for padding; a kernel of one position reads them where they are if channels are neighbours in memory. The second adds
// all kernel positions to the sums of a pixel's channels if those are neighbours. Otherwise it adds one position at a time to the
// sums of a row.
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
  CodeLimits limits;

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
  ETB_CHECK(read_limits(context, args.output_offset(), args.activation_min(), args.activation_max(),
                        &shape.limits));
  ETB_CHECK(check_rescales(context, args.requantize_multipliers(), args.requantize_shifts(), out_channels));
  ETB_CHECK(check_bias(context, args.bias(), out_channels));
  const int64_t sizes[4] = {shape.batch, out_channels, shape.out[0], shape.out[1]};
  return resize_output(context, args.out(), sizes);
}

// Writes one group's inputs under outputs, output by output, to rows of kernel positions * channels.
class Gather {
 public:
  // `channels`: the group's first channel of an image.
  Gather(KernelContext& context, const Geometry& shape, const Tensor& input, const int8_t* channels,
         int64_t channel_count)
      : context_(context),
        shape_(shape),
        input_(input),
        channels_(channels),
        channel_count_(channel_count),
        row_count_(shape.kernel[1] * channel_count),
        padding_(static_cast<int8_t>(-shape.input_offset)),
        is_dense_row_(input.stride(1) == 1 && input.stride(3) == channel_count && shape.dilation[1] == 1 &&
                      row_count_ <= KernelContext::kPiece) {}

  etb_status run(int64_t y, int64_t x, int64_t count, int8_t* out) {
    out_ = out;
    for (; count > 0; --count, ++x) {
      if (x == shape_.out[1]) {
        x = 0;
        ++y;
      }
      if (is_dense_row_) find_dense_row(x);
      int64_t row = shape_.source(0, y, 0);
      for (int64_t r = 0; r < shape_.kernel[0]; ++r, row += shape_.dilation[0]) {
        if (row < 0 || row >= shape_.in[0]) {
          ETB_CHECK(pad(row_count_));
        } else if (is_dense_row_) {
          if (context_.should_stop(row_count_)) return context_.stopped();
          add_dense_row(channels_ + row * input_.stride(2));
        } else {
          ETB_CHECK(add_row(row, x));
        }
      }
    }
    return ETB_OK;
  }

 private:
  // All kernel columns are one piece of memory, with padding on both sides.
  struct DenseRow {
    ptrdiff_t left, first, count, right;
  };
  void find_dense_row(int64_t x) {
    const int64_t first = shape_.source(1, x, 0), last = first + shape_.kernel[1];
    const int64_t begin = std::clamp<int64_t>(first, 0, shape_.in[1]),
                  end = std::clamp(last, begin, shape_.in[1]);
    const int64_t left = std::clamp<int64_t>(begin - first, 0, shape_.kernel[1]);
    dense_ = {static_cast<ptrdiff_t>(left * channel_count_), static_cast<ptrdiff_t>(begin * channel_count_),
              static_cast<ptrdiff_t>((end - begin) * channel_count_),
              static_cast<ptrdiff_t>((shape_.kernel[1] - left - (end - begin)) * channel_count_)};
  }
  void add_dense_row(const int8_t* row) {
    int8_t* out = out_;
    for (ptrdiff_t i = dense_.left; i > 0; --i) *out++ = padding_;
    const int8_t* from = row + dense_.first;
    const ptrdiff_t count = dense_.count;
    constexpr ptrdiff_t kShort = 16;  // a call costs more than these
    if (count >= kShort) {
      std::memcpy(out, from, static_cast<size_t>(count));
      out += count;
    } else {
      for (ptrdiff_t i = count; i > 0; --i) *out++ = *from++;
    }
    for (ptrdiff_t i = dense_.right; i > 0; --i) *out++ = padding_;
    out_ = out;
  }

  etb_status add_row(int64_t row, int64_t x) {
    for (int64_t c = 0; c < shape_.kernel[1]; ++c) {
      const int64_t column = shape_.source(1, x, c);
      if (column < 0 || column >= shape_.in[1]) {
        ETB_CHECK(pad(channel_count_));
      } else {
        ETB_CHECK(copy(channels_ + row * input_.stride(2) + column * input_.stride(3),
                       static_cast<ptrdiff_t>(input_.stride(1))));
      }
    }
    return ETB_OK;
  }

  etb_status pad(int64_t count) {
    return for_each_piece(context_, count, [&](int64_t, int64_t length) {
      std::memset(out_, padding_, static_cast<size_t>(length));
      out_ += length;
    });
  }

  etb_status copy(const int8_t* from, ptrdiff_t step) {
    return for_each_piece(context_, channel_count_, [&](int64_t, int64_t length) {
      for (auto i = static_cast<ptrdiff_t>(length); i > 0; --i, from += step) *out_++ = *from;
    });
  }

  KernelContext& context_;
  const Geometry& shape_;
  const Tensor& input_;
  const int8_t* channels_;
  int64_t channel_count_, row_count_;  // row_count_: elements of a row of kernel positions
  int8_t padding_;
  bool is_dense_row_;
  DenseRow dense_ = {};
  int8_t* out_ = nullptr;
};

// Outputs that are gathered together: as many as there is scratch for, up to 8.
int8_t* allocate_rows(KernelContext& context, int64_t k, int64_t line, int64_t* out_count) {
  constexpr int64_t kMost = 8;
  *out_count = std::min(line, kMost);
  context.wish_for(static_cast<uint64_t>(k * *out_count) + 64);
  while (*out_count > 1 && static_cast<uint64_t>(k * *out_count) + 64 > context.scratch_left_bytes()) {
    *out_count = (*out_count + 1) / 2;
  }
  return context.allocate_array<int8_t>(k * *out_count);
}

// Computes one group of one image.
class GroupProduct {
 public:
  GroupProduct(KernelContext& context, const Geometry& shape, const Tensor& input, const Tensor& out)
      : context_(context), shape_(shape), input_(input), out_(out) {
    const bool is_point = shape.kernel[0] == 1 && shape.kernel[1] == 1 && shape.padding[0] == 0 &&
                          shape.padding[1] == 0 && input.stride(1) == 1;
    const bool is_dense = is_point && shape.stride[0] == 1 && shape.stride[1] == 1 &&
                          input.stride(2) == input.stride(3) * shape.in[1];
    is_read_in_place_ = is_point;
    // Outputs whose places are as far apart as those of neighbours are one line: all of a plane, or a row.
    const bool is_plane = out.stride(2) == out.stride(3) * shape.out[1] && (is_dense || !is_point);
    lines_ = is_plane ? 1 : shape.out[0];
    line_ = shape.out[1] * (is_plane ? shape.out[0] : 1);
  }

  etb_status allocate(int64_t k) {
    if (is_read_in_place_) return ETB_OK;
    rows_ = allocate_rows(context_, k, line_, &most_);
    return rows_ != nullptr ? static_cast<etb_status>(ETB_OK)
                            : context_.fail_scratch(static_cast<uint64_t>(k));
  }

  etb_status run(IntegerProduct product, const int8_t* from, int8_t* to, int64_t group_in) {
    Gather gather(context_, shape_, input_, from, group_in);
    for (int64_t y = 0; y < lines_; ++y) {
      if (is_read_in_place_) {
        product.rows = from + shape_.source(0, y, 0) * input_.stride(2);
        product.row_stride = shape_.stride[1] * input_.stride(3);
        product.row_count = line_;
        product.out = to + y * out_.stride(2);
        ETB_CHECK(run_product(context_, product));
        continue;
      }
      for (int64_t at = 0; at < line_; at += most_) {
        product.rows = rows_;
        product.row_stride = product.k;
        product.row_count = std::min(most_, line_ - at);
        product.out = to + y * out_.stride(2) + at * out_.stride(3);
        ETB_CHECK(gather.run(y + at / shape_.out[1], at % shape_.out[1], product.row_count, rows_));
        ETB_CHECK(run_product(context_, product));
      }
    }
    return ETB_OK;
  }

 private:
  KernelContext& context_;
  const Geometry& shape_;
  const Tensor &input_, &out_;
  bool is_read_in_place_ = false;
  int64_t lines_ = 0, line_ = 0, most_ = 0;
  int8_t* rows_ = nullptr;
};

etb_status convolve(KernelContext& context, const Geometry& shape, const Tensor& input, int64_t groups,
                    const IntegerProduct& whole, Tensor& out) {
  const int64_t group_in = shape.in_channels / groups;
  GroupProduct group_product(context, shape, input, out);
  ETB_CHECK(group_product.allocate(whole.k));
  for (int64_t image = 0; image < shape.batch; ++image) {
    for (int64_t group = 0; group < groups; ++group) {
      const int64_t first = group * whole.channel_count;
      IntegerProduct product = whole;
      product.weights += first * product.k;
      product.starts += first;
      product.rescales = whole.rescales.from(static_cast<ptrdiff_t>(first));
      ETB_CHECK(group_product.run(
          product, input.data_as<int8_t>() + image * input.stride(0) + group * group_in * input.stride(1),
          out.data_as<int8_t>() + image * out.stride(0) + first * out.stride(1), group_in));
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
  const SumStarts starts = {product.weights, product.k,
                            args.bias() == nullptr ? nullptr : args.bias()->data_as<int32_t>(),
                            shape.input_offset, 0};
  auto* sums = context.allocate_array<uint32_t>(shape.out_channels);
  if (sums == nullptr)
    return context.fail_scratch(static_cast<uint64_t>(shape.out_channels) * sizeof(uint32_t));
  ETB_CHECK(starts.fill(context, shape.out_channels, sums));
  product.starts = sums;
  product.rescales = {args.requantize_multipliers().data_as<int32_t>(),
                      args.requantize_shifts().data_as<int32_t>(), 1};
  product.limits = shape.limits;
  product.out_row_stride = out.stride(3);
  product.out_channel_stride = out.stride(1);
  return convolve(context, shape, input, groups, product, out);
}

// A function of its own, so that its numbers stay in registers.
[[gnu::noinline]] void add_products(uint32_t* sums, ptrdiff_t count, const int8_t* input, ptrdiff_t step,
                                    int32_t offset, int32_t weight) noexcept {
  for (ptrdiff_t i = 0; i < count; ++i) sums[i] += static_cast<uint32_t>((input[i * step] + offset) * weight);
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
        rescales_{args.requantize_multipliers().data_as<int32_t>(),
                  args.requantize_shifts().data_as<int32_t>(), 1} {}

  etb_status run() {
    const bool is_by_pixel =
        shape_.out_channels == shape_.in_channels && shape_.in_channels > 1 && input_.stride(1) == 1;
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

  // sums_[begin + i] += (input[i * step] + offset) * weight
  etb_status accumulate(int64_t begin, int64_t count, const int8_t* input, int64_t step, int32_t weight) {
    return for_each_piece(context_, count, [&](int64_t from, int64_t length) {
      add_products(sums_ + begin + from, static_cast<ptrdiff_t>(length), input + from * step,
                   static_cast<ptrdiff_t>(step), shape_.input_offset, weight);
    });
  }

  // The kernel positions [begin, end) of one dim that are inside of the image for an output position.
  void find_inside(int dim, int64_t position, int64_t* out_begin, int64_t* out_end) const {
    const int64_t first = shape_.source(dim, position, 0), dilation = shape_.dilation[dim];
    *out_begin = 0;
    *out_end = shape_.kernel[dim];
    // Most positions; the others need divisions.
    if (first >= 0 && shape_.source(dim, position, shape_.kernel[dim] - 1) < shape_.in[dim]) return;
    *out_begin = first >= 0 ? 0 : (-first + dilation - 1) / dilation;
    const int64_t left = shape_.in[dim] - first;
    *out_end = left <= 0 ? 0 : std::min(shape_.kernel[dim], (left + dilation - 1) / dilation);
  }

  // All channels of one output pixel.
  etb_status run_pixel(const int8_t* from, int8_t* to, int64_t y, int64_t x) {
    int64_t top, bottom, left, right;
    find_inside(0, y, &top, &bottom);
    find_inside(1, x, &left, &right);
    const int64_t row_step = shape_.dilation[0] * input_.stride(2);
    DepthwiseWindow window = {0,
                              static_cast<ptrdiff_t>(right - left),
                              static_cast<ptrdiff_t>(row_step),
                              static_cast<ptrdiff_t>(shape_.dilation[1] * input_.stride(3)),
                              static_cast<ptrdiff_t>(shape_.kernel[1] * line_),
                              static_cast<ptrdiff_t>(line_),
                              shape_.input_offset};
    if (top >= bottom || left >= right) {  // no sum
      window.columns = 0;
      top = bottom = left = 0;
    }
    const int8_t* at = from;
    if (window.columns > 0)
      at += shape_.source(0, y, top) * input_.stride(2) + shape_.source(1, x, left) * input_.stride(3);
    ETB_CHECK(add_window(window, bottom - top, at, weights_ + (top * shape_.kernel[1] + left) * line_));
    return store(to + y * out_.stride(2) + x * out_.stride(3), out_.stride(1));
  }

  // The sums of a pixel's channels, in parts between which the run may stop.
  etb_status add_window(DepthwiseWindow window, int64_t rows, const int8_t* input, const int8_t* weights) {
    const auto line = static_cast<ptrdiff_t>(line_);
    const int64_t columns = window.columns, work = rows * columns * line_;
    int64_t most_rows = rows, most_columns = columns;
    if (work > KernelContext::kPiece) {
      most_rows = 1;
      most_columns = std::max<int64_t>(KernelContext::kPiece / line_, 1);
    }
    const uint32_t* from = starts_;
    int64_t r = 0;
    do {
      window.rows = static_cast<ptrdiff_t>(std::min(most_rows, rows - r));
      int64_t c = 0;
      do {
        window.columns = static_cast<ptrdiff_t>(std::min(most_columns, columns - c));
        if (context_.should_stop(std::min(work + 1, KernelContext::kPiece))) return context_.stopped();
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
  etb_status store(int8_t* to, int64_t step) {
    return for_each_piece(context_, line_, [&](int64_t begin, int64_t length) {
      store_codes(rescales_.from(static_cast<ptrdiff_t>(begin)), shape_.limits, sums_ + begin,
                  static_cast<ptrdiff_t>(length), to + begin * step, static_cast<ptrdiff_t>(step));
    });
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
          ETB_CHECK(accumulate(span->begin, span->count, input + span->offset, step, weights_[weight]));
      }
    }
    if (bias_ != nullptr) {
      const auto bias = static_cast<uint32_t>(bias_[channel]);
      ETB_CHECK(for_each_piece(context_, line_, [&](int64_t begin, int64_t length) {
        for (int64_t i = begin; i < begin + length; ++i) sums_[i] += bias;
      }));
    }
    int8_t* line = to + y * out_.stride(2) + channel * out_.stride(1);
    const ChannelRescales one = {rescales_.multipliers + channel, rescales_.shifts + channel, 0};
    return for_each_piece(context_, line_, [&](int64_t begin, int64_t length) {
      store_codes(one, shape_.limits, sums_ + begin, static_cast<ptrdiff_t>(length),
                  line + begin * out_.stride(3), static_cast<ptrdiff_t>(out_.stride(3)));
    });
  }

  etb_status clear() { return clear_bytes(context_, sums_, static_cast<uint64_t>(line_) * sizeof(uint32_t)); }

  KernelContext& context_;
  const Geometry& shape_;
  const Tensor& input_;
  Tensor& out_;
  const int8_t* weights_;
  const int32_t* bias_;
  ChannelRescales rescales_;
  const uint32_t* starts_ = nullptr;  // of the sums of a pixel
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
