// SPDX-License-Identifier: Apache-2.0
// The geometry of a convolution, read from its arguments.
#include "host/kernels/convolution.hpp"

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/window.hpp"
#include "etb/cpp/fail.hpp"
#include "host/kernels/elementwise.hpp"

namespace etb::host {
namespace {

constexpr int64_t kLargest = int64_t{1} << 30;       // so that no product overflows
constexpr int64_t kLargestReach = int64_t{1} << 24;  // rows of this length are copied

// Item `dim` of a list with no, one or `rank` entries.
bool read_item(const IntList& list, int dim, int rank, int64_t absent, int64_t* out_value) {
  if (list.size() > 1 && list.size() != static_cast<size_t>(rank)) return false;
  *out_value = ops::item_of(list, static_cast<size_t>(dim)).value_or(absent);
  return true;
}

bool is_within(int64_t value, int64_t least) { return value >= least && value < kLargest; }

}  // namespace

etb_status Convolution::read_channels(KernelContext& context, const Tensor& input,
                                      const Tensor& weight) noexcept {
  if (groups >= kLargest || weight.size(0) >= kLargest || weight.size(1) >= kLargest)
    return context.fail(ETB_INVALID_ARGUMENT, "weights %s in %lld groups", SizesText(weight.sizes()).text,
                        static_cast<long long>(groups));
  const int64_t group_in = weight.size(is_transposed ? 0 : 1);
  if (groups < 1 || (is_transposed ? group_in : group_in * groups) != in_channels ||
      weight.size(0) % groups != 0) {
    return context.fail(ETB_INVALID_ARGUMENT, "input %s with weights %s in %lld groups",
                        SizesText(input.sizes()).text, SizesText(weight.sizes()).text,
                        static_cast<long long>(groups));
  }
  ops::Numbers sizes;
  out_channels = ops::convolution_channels(sizes, weight.size(0), weight.size(1), is_transposed, groups);
  return ETB_OK;
}

etb_status Convolution::read_dim(KernelContext& context, const ConvolutionArguments& arguments,
                                 int own) noexcept {
  const int dim = own + 3 - spatial_rank;
  int64_t extra = 0;
  const bool fits = read_item(arguments.stride, own, spatial_rank, 1, &stride[dim]) &&
                    read_item(arguments.padding, own, spatial_rank, 0, &padding[dim]) &&
                    read_item(arguments.dilation, own, spatial_rank, 1, &dilation[dim]) &&
                    (!is_transposed || read_item(arguments.output_padding, own, spatial_rank, 0, &extra));
  if (!fits || !is_within(stride[dim], 1) || !is_within(dilation[dim], 1) || !is_within(padding[dim], 0) ||
      !is_within(extra, 0) || !is_within(kernel[dim], 1) || in[dim] >= kLargest) {
    return context.fail(ETB_INVALID_ARGUMENT,
                        "stride, padding, dilation or kernel of spatial dim %d is out of range", own);
  }
  ops::Numbers sizes;
  const ops::Window window = {kernel[dim], stride[dim], dilation[dim], padding[dim], padding[dim]};
  const int64_t reach = ops::window_reach(sizes, window);
  if (reach > kLargestReach)
    return context.fail(ETB_NOT_SUPPORTED, "a kernel reaching over %lld elements",
                        static_cast<long long>(reach));
  const ops::WindowError error =
      is_transposed ? ops::transposed_size(sizes, in[dim], window, extra, &out[dim])
                    : ops::count_positions(sizes, in[dim], window, ops::WindowRounding::kDown, &out[dim]);
  if (error != ops::WindowError::kNone) {
    return context.fail(
        ETB_INVALID_ARGUMENT, "a kernel reaching over %lld elements does not fit into %lld padded by %lld",
        static_cast<long long>(reach), static_cast<long long>(in[dim]), static_cast<long long>(padding[dim]));
  }
  return ETB_OK;
}

etb_status Convolution::read(KernelContext& context, const Tensor& input, const Tensor& weight,
                             const ConvolutionArguments& arguments) noexcept {
  spatial_rank = input.rank() - 2;
  if (spatial_rank < 1 || spatial_rank > 3 || weight.rank() != input.rank()) {
    return context.fail(ETB_INVALID_ARGUMENT, "input of rank %d with weights of rank %d, expected 3 to 5",
                        input.rank(), weight.rank());
  }
  is_transposed = arguments.transposed;
  groups = arguments.groups;
  batch = input.size(0);
  in_channels = input.size(1);
  ETB_CHECK(read_channels(context, input, weight));
  for (int dim = 0; dim < 3; ++dim) {
    in[dim] = out[dim] = kernel[dim] = stride[dim] = dilation[dim] = 1;
    padding[dim] = 0;
  }
  for (int own = 0; own < spatial_rank; ++own) {
    in[own + 3 - spatial_rank] = input.size(2 + own);
    kernel[own + 3 - spatial_rank] = weight.size(2 + own);
    ETB_CHECK(read_dim(context, arguments, own));
  }
  return ETB_OK;
}

void Convolution::fill_out_sizes(int64_t* out_sizes) const noexcept {
  out_sizes[0] = batch;
  out_sizes[1] = out_channels;
  for (int dim = 0; dim < spatial_rank; ++dim) out_sizes[2 + dim] = out[3 - spatial_rank + dim];
}

ConvolutionOperand ConvolutionOperand::places(const Convolution& shape, const Tensor& tensor,
                                              int64_t channels) noexcept {
  ConvolutionOperand operand = {tensor.data_as<char>(),
                                tensor.dtype(),
                                {tensor.stride(0), tensor.stride(1)},
                                {},
                                channels / shape.groups * tensor.stride(1)};
  for (int dim = 0; dim < 3; ++dim) operand.inner[dim] = shape.spatial_stride(tensor, dim);
  return operand;
}

ConvolutionOperand ConvolutionOperand::weights(const Convolution& shape, const Tensor& tensor) noexcept {
  ConvolutionOperand operand = places(shape, tensor, 0);
  operand.group = tensor.size(0) / shape.groups * tensor.stride(0);
  if (!shape.is_transposed) return operand;
  std::swap(operand.outer[0], operand.outer[1]);
  for (int dim = 0; dim < 3; ++dim) {
    operand.data = operand.at((shape.kernel[dim] - 1) * operand.inner[dim]);
    operand.inner[dim] = -operand.inner[dim];
  }
  return operand;
}

}  // namespace etb::host
