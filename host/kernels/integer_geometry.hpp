// SPDX-License-Identifier: Apache-2.0
// Sizes and offsets of the convolutions of cortex_m.
#pragma once

#include <cstddef>

#include "api/ops/sizes/arithmetic.hpp"
#include "host/kernels/integer_products.hpp"
#include "host/kernels/kernel.hpp"

namespace etb::host {

// Distance of neighbours in a dim, in elements. Kernels of integers count in the width of addresses, because 64 bits cost a small
// processor twice the code: a tensor with elements is in memory.
inline ptrdiff_t step_of(const Tensor& tensor, int dim) noexcept {
  return static_cast<ptrdiff_t>(tensor.stride(dim));
}

// The limit of sizes, strides, paddings and dilations, so that no offset in a padded image overflows.
inline constexpr int64_t kLargestExtent = int64_t{1} << (sizeof(ptrdiff_t) == 4 ? 28 : 30);

// Arrays have an entry for rows and one for columns.
struct ConvolutionGeometry {
  ptrdiff_t batch, in_channels, out_channels;
  ptrdiff_t in[2], out[2], kernel[2], stride[2], padding[2], dilation[2];
  int32_t input_offset;
  CodeLimits limits;

  // The input index under output `position` and kernel position `tap`; outside of [0, in) for padding.
  ptrdiff_t source(int dim, ptrdiff_t position, ptrdiff_t tap) const noexcept {
    return position * stride[dim] - padding[dim] + tap * dilation[dim];
  }
};

// Int8 tensors of rank 4, row-major weights.
etb_status check_codes(KernelContext& context, const Tensor& input, const Tensor& weight,
                       const Tensor& out) noexcept;

// The arguments that both ops have.
struct CodeConvolutionArguments {
  const Tensor &input, &weight;
  const Tensor* bias;
  IntList stride, padding, dilation;
  int64_t input_offset, output_offset;
  const Tensor &multipliers, &shifts;
  int64_t activation_min, activation_max;
  Tensor& out;

  template <class Arguments>
  explicit CodeConvolutionArguments(const Arguments& args)
      : input(args.input()),
        weight(args.weight()),
        bias(args.bias()),
        stride(args.stride()),
        padding(args.padding()),
        dilation(args.dilation()),
        input_offset(args.input_offset()),
        output_offset(args.output_offset()),
        multipliers(args.requantize_multipliers()),
        shifts(args.requantize_shifts()),
        activation_min(args.activation_min()),
        activation_max(args.activation_max()),
        out(args.out()) {}
};

// Checks them, counts the outputs of each dim, and resizes the output.
etb_status read_geometry(KernelContext& context, const CodeConvolutionArguments& args, int64_t out_channels,
                         ConvolutionGeometry& shape) noexcept;

}  // namespace etb::host
