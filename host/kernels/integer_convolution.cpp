// SPDX-License-Identifier: Apache-2.0
// cortex_m::quantized_conv2d: int8 codes in and out, int32 sums, for every layout of images.
//
// A product of matrices. It gathers the inputs under some outputs into scratch, in the order of the weights, with the zero point for
// padding; a kernel of one position reads them where they are if channels are neighbours in memory.
#include <cstddef>
#include <cstring>

#include "host/kernels/integer_geometry.hpp"
#include "ops/cortex_m/quantized_conv2d.hpp"

namespace etb::host {
namespace {

// Writes one group's inputs under outputs, output by output, to rows of kernel positions * channels.
class Gather {
 public:
  // `channels`: the group's first channel of an image.
  Gather(KernelContext& context, const ConvolutionGeometry& shape, const Tensor& input,
         const int8_t* channels, ptrdiff_t channel_count)
      : context_(context),
        shape_(shape),
        input_(input),
        channels_(channels),
        channel_count_(channel_count),
        row_count_(shape.kernel[1] * channel_count),
        padding_(static_cast<int8_t>(-shape.input_offset)),
        is_dense_row_(step_of(input, 1) == 1 && step_of(input, 3) == channel_count &&
                      shape.dilation[1] == 1 && row_count_ * shape.kernel[0] <= KernelContext::kPiece) {}

  etb_status run(ptrdiff_t y, ptrdiff_t x, ptrdiff_t count, int8_t* out) {
    out_ = out;
    for (; count > 0; --count, ++x) {
      if (x == shape_.out[1]) {
        x = 0;
        ++y;
      }
      if (is_dense_row_) {
        if (context_.should_stop(row_count_ * shape_.kernel[0])) return context_.stopped();
        find_dense_row(x);
      }
      ptrdiff_t row = shape_.source(0, y, 0);
      for (ptrdiff_t r = 0; r < shape_.kernel[0]; ++r, row += shape_.dilation[0]) {
        const bool is_inside = row >= 0 && row < shape_.in[0];
        if (is_dense_row_) {
          if (is_inside)
            add_dense_row(channels_ + row * step_of(input_, 2));
          else
            add_padding(row_count_);
        } else if (!is_inside) {
          ETB_CHECK(pad(row_count_));
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
  void find_dense_row(ptrdiff_t x) {
    const ptrdiff_t first = shape_.source(1, x, 0), last = first + shape_.kernel[1];
    const ptrdiff_t begin = std::clamp<ptrdiff_t>(first, 0, shape_.in[1]),
                    end = std::clamp(last, begin, shape_.in[1]);
    const ptrdiff_t left = std::clamp<ptrdiff_t>(begin - first, 0, shape_.kernel[1]);
    dense_ = {static_cast<ptrdiff_t>(left * channel_count_), static_cast<ptrdiff_t>(begin * channel_count_),
              static_cast<ptrdiff_t>((end - begin) * channel_count_),
              static_cast<ptrdiff_t>((shape_.kernel[1] - left - (end - begin)) * channel_count_)};
  }
  void add_dense_row(const int8_t* row) {
    if (dense_.left > 0) add_padding(dense_.left);
    copy_codes(row + dense_.first, dense_.count, out_);
    out_ += dense_.count;
    if (dense_.right > 0) add_padding(dense_.right);
  }
  void add_padding(ptrdiff_t count) {
    std::memset(out_, padding_, static_cast<size_t>(count));
    out_ += count;
  }

  etb_status add_row(ptrdiff_t row, ptrdiff_t x) {
    for (ptrdiff_t c = 0; c < shape_.kernel[1]; ++c) {
      const ptrdiff_t column = shape_.source(1, x, c);
      if (column < 0 || column >= shape_.in[1]) {
        ETB_CHECK(pad(channel_count_));
      } else {
        ETB_CHECK(copy(channels_ + row * step_of(input_, 2) + column * step_of(input_, 3),
                       static_cast<ptrdiff_t>(step_of(input_, 1))));
      }
    }
    return ETB_OK;
  }

  etb_status pad(ptrdiff_t count) {
    return for_each_piece(context_, count, [&](ptrdiff_t, ptrdiff_t length) { add_padding(length); });
  }

  etb_status copy(const int8_t* from, ptrdiff_t step) {
    return for_each_piece(context_, channel_count_, [&](ptrdiff_t, ptrdiff_t length) {
      for (auto i = static_cast<ptrdiff_t>(length); i > 0; --i, from += step) *out_++ = *from;
    });
  }

  KernelContext& context_;
  const ConvolutionGeometry& shape_;
  const Tensor& input_;
  const int8_t* channels_;
  ptrdiff_t channel_count_, row_count_;  // row_count_: elements of a row of kernel positions
  int8_t padding_;
  bool is_dense_row_;
  DenseRow dense_ = {};
  int8_t* out_ = nullptr;
};

// Outputs that are gathered together: as many as there is scratch for, up to 8.
int8_t* allocate_rows(KernelContext& context, ptrdiff_t k, ptrdiff_t line, ptrdiff_t* out_count) {
  constexpr ptrdiff_t kMost = 8;
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
  GroupProduct(KernelContext& context, const ConvolutionGeometry& shape, const Tensor& input,
               const Tensor& out)
      : context_(context), shape_(shape), input_(input), out_(out) {
    const bool is_point = shape.kernel[0] == 1 && shape.kernel[1] == 1 && shape.padding[0] == 0 &&
                          shape.padding[1] == 0 && step_of(input, 1) == 1;
    const bool is_dense = is_point && shape.stride[0] == 1 && shape.stride[1] == 1 &&
                          step_of(input, 2) == step_of(input, 3) * shape.in[1];
    is_read_in_place_ = is_point;
    // Outputs whose places are as far apart as those of neighbours are one line: all of a plane, or a row.
    const bool is_plane = step_of(out, 2) == step_of(out, 3) * shape.out[1] && (is_dense || !is_point);
    lines_ = is_plane ? 1 : shape.out[0];
    line_ = shape.out[1] * (is_plane ? shape.out[0] : 1);
  }

  etb_status allocate(ptrdiff_t k) {
    if (is_read_in_place_) return ETB_OK;
    rows_ = allocate_rows(context_, k, line_, &most_);
    return rows_ != nullptr ? static_cast<etb_status>(ETB_OK)
                            : context_.fail_scratch(static_cast<uint64_t>(k));
  }

  etb_status run(IntegerProduct product, const int8_t* from, int8_t* to, ptrdiff_t group_in) {
    Gather gather(context_, shape_, input_, from, group_in);
    for (ptrdiff_t y = 0; y < lines_; ++y) {
      if (is_read_in_place_) {
        product.rows = from + shape_.source(0, y, 0) * step_of(input_, 2);
        product.row_stride = shape_.stride[1] * step_of(input_, 3);
        product.row_count = line_;
        product.out = to + y * step_of(out_, 2);
        ETB_CHECK(run_product(context_, product));
        continue;
      }
      for (ptrdiff_t at = 0; at < line_; at += most_) {
        product.rows = rows_;
        product.row_stride = product.k;
        product.row_count = std::min(most_, line_ - at);
        product.out = to + y * step_of(out_, 2) + at * step_of(out_, 3);
        ETB_CHECK(gather.run(y + at / shape_.out[1], at % shape_.out[1], product.row_count, rows_));
        ETB_CHECK(run_product(context_, product));
      }
    }
    return ETB_OK;
  }

 private:
  KernelContext& context_;
  const ConvolutionGeometry& shape_;
  const Tensor &input_, &out_;
  bool is_read_in_place_ = false;
  ptrdiff_t lines_ = 0, line_ = 0, most_ = 0;
  int8_t* rows_ = nullptr;
};

etb_status convolve(KernelContext& context, const ConvolutionGeometry& shape, const Tensor& input,
                    ptrdiff_t groups, const IntegerProduct& whole, Tensor& out) {
  const ptrdiff_t group_in = shape.in_channels / groups;
  GroupProduct group_product(context, shape, input, out);
  ETB_CHECK(group_product.allocate(whole.k));
  for (ptrdiff_t image = 0; image < shape.batch; ++image) {
    for (ptrdiff_t group = 0; group < groups; ++group) {
      const ptrdiff_t first = group * whole.channel_count;
      IntegerProduct product = whole;
      product.weights += first * product.k;
      product.starts += first;
      product.rescales = whole.rescales.from(static_cast<ptrdiff_t>(first));
      ETB_CHECK(group_product.run(
          product, input.data_as<int8_t>() + image * step_of(input, 0) + group * group_in * step_of(input, 1),
          out.data_as<int8_t>() + image * step_of(out, 0) + first * step_of(out, 1), group_in));
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
  ConvolutionGeometry shape = {};
  ETB_CHECK(read_geometry(context, CodeConvolutionArguments(args), weight.size(0), shape));
  if (out.numel() == 0) return ETB_OK;
  IntegerProduct product = {};
  product.k = static_cast<ptrdiff_t>(group_in) * shape.kernel[0] * shape.kernel[1];
  product.channel_count = shape.out_channels / static_cast<ptrdiff_t>(groups);
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
  product.out_row_stride = step_of(out, 3);
  product.out_channel_stride = step_of(out, 1);
  return convolve(context, shape, input, static_cast<ptrdiff_t>(groups), product, out);
}

constexpr Kernel kRows[] = {
    kernel_row<ops::cortex_m::quantized_conv2d_out, conv2d_out>(),
};

}  // namespace

ETB_PUBLISH_INTEGER_KERNELS(integer_convolution, kRows);

}  // namespace etb::host
