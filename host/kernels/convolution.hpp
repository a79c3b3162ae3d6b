// SPDX-License-Identifier: Apache-2.0
// The geometry of a convolution, shared by the forward and the backward kernel. One to three spatial dims are treated as three.
#pragma once

#include <cstdint>
#include <utility>

#include "host/runtime/evalue.hpp"
#include "host/runtime/kernel_context.hpp"

namespace etb::host {

// The arguments that follow input, weight and bias in aten::convolution.
struct ConvolutionArguments {
  IntList stride, padding, dilation;
  bool transposed;
  IntList output_padding;
  int64_t groups;

  // From a view of the op or of its backward.
  template <class View>
  explicit ConvolutionArguments(const View& args)
      : stride(args.stride()),
        padding(args.padding()),
        dilation(args.dilation()),
        transposed(args.transposed()),
        output_padding(args.output_padding()),
        groups(args.groups()) {}
};

// Entries are depth, height, width.
struct Convolution {
  int spatial_rank;
  bool is_transposed;
  int64_t groups;
  int64_t batch, in_channels, out_channels;
  int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];

  // Reads and checks the arguments and works out the sizes of the output.
  etb_status read(KernelContext& context, const Tensor& input, const Tensor& weight,
                  const ConvolutionArguments& arguments) noexcept;

  // The stride of a tensor along spatial dim 0 to 2; 0 for those that it lacks.
  int64_t spatial_stride(const Tensor& tensor, int dim) const noexcept {
    const int own = dim - (3 - spatial_rank);
    return own < 0 ? 0 : tensor.stride(2 + own);
  }
  // The convolution that carries gradients of the output back to the input, with the same weights: a transposed one for a plain one
  // and the other way round.
  Convolution backward() const noexcept {
    Convolution back = *this;
    back.is_transposed = !is_transposed;
    std::swap(back.in_channels, back.out_channels);
    std::swap(back.in, back.out);
    return back;
  }
  // Sizes of the output, rank entries.
  void fill_out_sizes(int64_t* out_sizes) const noexcept;

 private:
  etb_status read_channels(KernelContext& context, const Tensor& input, const Tensor& weight) noexcept;
  // `own` counts the spatial dims that the input has.
  etb_status read_dim(KernelContext& context, const ConvolutionArguments& arguments, int own) noexcept;
};

// Elements of a tensor as a convolution counts them; steps are in elements and may be negative. `outer` are those of images and
// channels, for weights those of output and input channels within a group.
struct ConvolutionOperand {
  char* data;
  Dtype dtype;
  int64_t outer[2], inner[3], group;

  // The input or the output.
  static ConvolutionOperand places(const Convolution& shape, const Tensor& tensor, int64_t channels) noexcept;
  // Weights as they are used for sums over windows: those of a transposed convolution are turned round.
  static ConvolutionOperand weights(const Convolution& shape, const Tensor& tensor) noexcept;

  char* at(int64_t offset) const noexcept {
    return data + offset * static_cast<int64_t>(element_nbytes(dtype));
  }
};

// A plain convolution of these operands; `shape` is not transposed, and its padding may be negative.
etb_status run_windows(KernelContext& context, const Convolution& shape, const ConvolutionOperand& input,
                       const ConvolutionOperand& weight, const Tensor* bias,
                       const ConvolutionOperand& out) noexcept;

// A transposed one, of the operands that belong to `shape`.
etb_status run_transposed(KernelContext& context, const Convolution& shape, const ConvolutionOperand& input,
                          const ConvolutionOperand& weight, const Tensor* bias,
                          const ConvolutionOperand& out) noexcept;

// Computes what `shape` says into `out`, whose sizes are set; dtypes were checked. `bias` may be null.
etb_status run_convolution(KernelContext& context, const Convolution& shape, const Tensor& input,
                           const Tensor& weight, const Tensor* bias, Tensor& out) noexcept;

}  // namespace etb::host
