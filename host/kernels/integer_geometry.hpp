// SPDX-License-Identifier: Apache-2.0
// Sizes and offsets of the convolutions of cortex_m.
#pragma once

#include "api/ops/sizes/arithmetic.hpp"
#include "host/kernels/integer_products.hpp"
#include "host/kernels/kernel.hpp"

namespace etb::host {

// Arrays have an entry for rows and one for columns.
struct ConvolutionGeometry {
  int64_t batch, in_channels, out_channels;
  int64_t in[2], out[2], kernel[2], stride[2], padding[2], dilation[2];
  int32_t input_offset;
  CodeLimits limits;

  // The input index under output `position` and kernel position `tap`; outside of [0, in) for padding.
  int64_t source(int dim, int64_t position, int64_t tap) const noexcept {
    return position * stride[dim] - padding[dim] + tap * dilation[dim];
  }
};

// Int8 tensors of rank 4, row-major weights.
etb_status check_codes(KernelContext& context, const Tensor& input, const Tensor& weight,
                       const Tensor& out) noexcept;

// Reads stride, padding and dilation of a dim, of which `out` has the sizes, and counts the outputs.
etb_status read_dim(KernelContext& context, int dim, const IntList& stride, const IntList& padding,
                    const IntList& dilation, ConvolutionGeometry& out) noexcept;

// Reads the arguments that both ops have, and resizes the output.
template <class Arguments>
etb_status read_geometry(KernelContext& context, const Arguments& args, int64_t out_channels,
                         ConvolutionGeometry& shape) {
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

}  // namespace etb::host
