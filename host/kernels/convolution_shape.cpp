// SPDX-License-Identifier: Apache-2.0
// The geometry of a convolution, read from its arguments.
#include "host/kernels/convolution.hpp"

#include "host/kernels/elementwise.hpp"

namespace etb::host {
namespace {

// One item of a list that may have a single entry for all dims.
bool read_item(const IntList& list, int dim, int rank, int64_t absent, int64_t* out_value) {
  if (list.size() > 1 && list.size() != static_cast<size_t>(rank)) return false;
  *out_value = list.empty() ? absent : list.size() == 1 ? list[0] : list[static_cast<size_t>(dim)];
  return true;
}

}  // namespace

etb_status Convolution::read(KernelContext& context, const Tensor& input, const Tensor& weight,
                             const IntList& strides, const IntList& paddings, const IntList& dilations,
                             bool transposed, const IntList& output_padding, int64_t group_count) noexcept {
  spatial_rank = input.rank() - 2;
  if (spatial_rank < 1 || spatial_rank > 3 || weight.rank() != input.rank()) {
    return context.fail(ETB_INVALID_ARGUMENT, "input of rank %d with weights of rank %d, expected 3 to 5",
                        input.rank(), weight.rank());
  }
  is_transposed = transposed;
  groups = group_count;
  batch = input.size(0);
  in_channels = input.size(1);
  constexpr int64_t kLargest = int64_t{1} << 30;  // so that no product below overflows
  if (groups >= kLargest || weight.size(0) >= kLargest || weight.size(1) >= kLargest)
    return context.fail(ETB_INVALID_ARGUMENT, "weights %s in %lld groups", SizesText(weight.sizes()).text,
                        static_cast<long long>(groups));
  const int64_t group_in = weight.size(transposed ? 0 : 1);
  if (groups < 1 || (transposed ? group_in : group_in * groups) != in_channels ||
      weight.size(0) % groups != 0) {
    return context.fail(ETB_INVALID_ARGUMENT, "input %s with weights %s in %lld groups",
                        SizesText(input.sizes()).text, SizesText(weight.sizes()).text,
                        static_cast<long long>(groups));
  }
  out_channels = transposed ? weight.size(1) * groups : weight.size(0);
  for (int dim = 0; dim < 3; ++dim) {
    const int own = dim - (3 - spatial_rank);
    in[dim] = own < 0 ? 1 : input.size(2 + own);
    kernel[dim] = own < 0 ? 1 : weight.size(2 + own);
    stride[dim] = dilation[dim] = 1;
    padding[dim] = 0;
    int64_t extra = 0;
    const bool fits = own < 0 || (read_item(strides, own, spatial_rank, 1, &stride[dim]) &&
                                  read_item(paddings, own, spatial_rank, 0, &padding[dim]) &&
                                  read_item(dilations, own, spatial_rank, 1, &dilation[dim]) &&
                                  (!transposed || read_item(output_padding, own, spatial_rank, 0, &extra)));
    const bool in_range = fits && stride[dim] >= 1 && dilation[dim] >= 1 && padding[dim] >= 0 && extra >= 0 &&
                          kernel[dim] >= 1 && stride[dim] < kLargest && dilation[dim] < kLargest &&
                          padding[dim] < kLargest && extra < kLargest && kernel[dim] < kLargest &&
                          in[dim] < kLargest;
    if (!in_range)
      return context.fail(ETB_INVALID_ARGUMENT,
                          "stride, padding, dilation or kernel of spatial dim %d is out of range", own);
    const int64_t reach = dilation[dim] * (kernel[dim] - 1) + 1;
    constexpr int64_t kLargestReach = int64_t{1} << 24;  // rows of this length are copied
    if (reach > kLargestReach)
      return context.fail(ETB_NOT_SUPPORTED, "a kernel reaching over %lld elements",
                          static_cast<long long>(reach));
    out[dim] = transposed ? (in[dim] - 1) * stride[dim] - 2 * padding[dim] + reach + extra
                          : (in[dim] + 2 * padding[dim] - reach) / stride[dim] + 1;
    if (out[dim] < 0 || (!transposed && in[dim] + 2 * padding[dim] < reach)) {
      return context.fail(ETB_INVALID_ARGUMENT,
                          "a kernel reaching over %lld elements does not fit into %lld padded by %lld",
                          static_cast<long long>(reach), static_cast<long long>(in[dim]),
                          static_cast<long long>(padding[dim]));
    }
  }
  return ETB_OK;
}

void Convolution::fill_out_sizes(int64_t* out_sizes) const noexcept {
  out_sizes[0] = batch;
  out_sizes[1] = out_channels;
  for (int dim = 0; dim < spatial_rank; ++dim) out_sizes[2 + dim] = out[3 - spatial_rank + dim];
}

}  // namespace etb::host
