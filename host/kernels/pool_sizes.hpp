// SPDX-License-Identifier: Apache-2.0
// Sizes of pools in up to three spatial dims, which are the last dims of a tensor with one or no dim for the batch.
#pragma once

#include "host/kernels/kernel.hpp"
#include "host/kernels/rows.hpp"

namespace etb::host {

inline DimSet spatial_dims(const Tensor& tensor, int spatial_rank) {
  DimSet dims;
  for (int i = 0; i < spatial_rank; ++i) dims.set(static_cast<size_t>(tensor.rank() - 1 - i));
  return dims;
}

// Entries are depth, height, width; a missing dim has size 1.
struct PoolSizes {
  int spatial_rank = 0;
  int64_t in[3]{1, 1, 1}, out[3]{1, 1, 1};

  explicit PoolSizes(int rank) : spatial_rank(rank) {}

  // The entry of the spatial dim `own`, counted from 0.
  int entry(int own) const { return own + 3 - spatial_rank; }
  bool accepts(const Tensor& self) const {
    return self.rank() == spatial_rank + 1 || self.rank() == spatial_rank + 2;
  }
  etb_status expect_rank(KernelContext& context, const Tensor& self) const {
    if (accepts(self)) return ETB_OK;
    return context.fail(ETB_INVALID_ARGUMENT, "the input has rank %d, expected %d or %d", self.rank(),
                        spatial_rank + 1, spatial_rank + 2);
  }
  void read_input(const Tensor& self) {
    for (int own = 0; own < spatial_rank; ++own) in[entry(own)] = self.size(self.rank() - spatial_rank + own);
  }
  // Gives `result` the sizes of `self` with `out` for the spatial ones.
  etb_status resize(KernelContext& context, const Tensor& self, Tensor& result) const {
    int64_t sizes[kMaxRank];
    const int lead = self.rank() - spatial_rank;
    for (int dim = 0; dim < self.rank(); ++dim)
      sizes[dim] = dim < lead ? self.size(dim) : out[entry(dim - lead)];
    return resize_output(context, result, {sizes, static_cast<size_t>(self.rank())});
  }
  int64_t in_numel() const { return in[0] * in[1] * in[2]; }
  int64_t out_numel() const { return out[0] * out[1] * out[2]; }
};

}  // namespace etb::host
