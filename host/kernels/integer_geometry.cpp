// SPDX-License-Identifier: Apache-2.0
#include "host/kernels/integer_geometry.hpp"

#include "api/ops/sizes/window.hpp"

namespace etb::host {
namespace {

constexpr int64_t kLargest = int64_t{1} << 30;  // so that no product overflows

}  // namespace

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

etb_status read_dim(KernelContext& context, int dim, const IntList& stride, const IntList& padding,
                    const IntList& dilation, ConvolutionGeometry& out) noexcept {
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

}  // namespace etb::host
