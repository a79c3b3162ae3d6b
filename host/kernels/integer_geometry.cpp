// SPDX-License-Identifier: Apache-2.0
#include "host/kernels/integer_geometry.hpp"

#include "api/ops/sizes/window.hpp"

namespace etb::host {
etb_status check_codes(KernelContext& context, const Tensor& input, const Tensor& weight,
                       const Tensor& out) noexcept {
  for (const Tensor* tensor : {&input, &weight, &out}) {
    if (tensor->dtype() != Dtype::INT8 || tensor->rank() != 4)
      return context.fail(ETB_INVALID_TYPE, "a tensor is %s %s, expected int8 of rank 4",
                          to_text(tensor->dtype()), SizesText(tensor->sizes()).text);
  }
  if (weight.is_contiguous()) return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "weights %s are not row-major", SizesText(weight.sizes()).text);
}

namespace {

etb_status read_dim(KernelContext& context, int dim, const CodeConvolutionArguments& args,
                    ConvolutionGeometry& shape) noexcept {
  const auto index = static_cast<size_t>(dim);
  const int64_t in = args.input.size(2 + dim), kernel = args.weight.size(1 + dim);
  const int64_t stride = ops::item_of(args.stride, index).value_or(1),
                padding = ops::item_of(args.padding, index).value_or(0),
                dilation = ops::item_of(args.dilation, index).value_or(1);
  const auto is_within = [](int64_t value, int64_t least) {
    return value >= least && value < kLargestExtent;
  };
  if (!is_within(stride, 1) || !is_within(dilation, 1) || !is_within(padding, 0) || !is_within(kernel, 1) ||
      !is_within(in, 0)) {
    return context.fail(ETB_INVALID_ARGUMENT,
                        "stride, padding, dilation, kernel or size of spatial dim %d is out of range", dim);
  }
  ops::Numbers sizes;
  ops::Window window = {kernel, stride, dilation};
  window.set_padding(padding);
  int64_t out = 0;
  if (ops::count_positions(sizes, in, window, ops::WindowRounding::kDown, &out) != ops::WindowError::kNone) {
    return context.fail(ETB_INVALID_ARGUMENT, "a kernel of %lld does not fit into %lld padded by %lld",
                        static_cast<long long>(kernel), static_cast<long long>(in),
                        static_cast<long long>(padding));
  }
  shape.in[dim] = static_cast<ptrdiff_t>(in), shape.out[dim] = static_cast<ptrdiff_t>(out);
  shape.kernel[dim] = static_cast<ptrdiff_t>(kernel), shape.stride[dim] = static_cast<ptrdiff_t>(stride);
  shape.padding[dim] = static_cast<ptrdiff_t>(padding);
  shape.dilation[dim] = static_cast<ptrdiff_t>(dilation);
  return ETB_OK;
}

}  // namespace

etb_status read_geometry(KernelContext& context, const CodeConvolutionArguments& args, int64_t out_channels,
                         ConvolutionGeometry& shape) noexcept {
  shape.batch = static_cast<ptrdiff_t>(args.input.size(0));
  shape.in_channels = static_cast<ptrdiff_t>(args.input.size(1));
  shape.out_channels = static_cast<ptrdiff_t>(out_channels);
  for (int dim = 0; dim < 2; ++dim) ETB_CHECK(read_dim(context, dim, args, shape));
  ETB_CHECK(read_input_offset(context, args.input_offset, &shape.input_offset));
  ETB_CHECK(
      read_limits(context, args.output_offset, args.activation_min, args.activation_max, &shape.limits));
  ETB_CHECK(check_rescales(context, args.multipliers, args.shifts, out_channels));
  ETB_CHECK(check_bias(context, args.bias, out_channels));
  const int64_t sizes[4] = {args.input.size(0), out_channels, shape.out[0], shape.out[1]};
  return resize_output(context, args.out, sizes);
}

}  // namespace etb::host
