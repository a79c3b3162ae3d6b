// SPDX-License-Identifier: Apache-2.0
// Dims of tensors: wrapping negative ones, sets of them, and copying between layouts.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

#include "host/runtime/evalue.hpp"
#include "host/runtime/kernel_context.hpp"

namespace etb::host {

using DimSet = std::bitset<kMaxRank>;

// Turns a dim counted from the end into one from the start. A rank-0 tensor has the dims 0 and -1. Fails with ETB_INVALID_ARGUMENT.
etb_status wrap_dim(KernelContext& context, int64_t dim, int rank, int* out_dim) noexcept;

// The dims in a list, each at most once; an empty list means all of them.
etb_status wrap_dims(KernelContext& context, IntList dims, int rank, DimSet* out_dims) noexcept;

// A walk over one box of elements in two layouts. Strides are in elements and may be 0 (repeat) or negative (reverse).
struct StridedCopy {
  size_t element_nbytes;
  int rank;
  int64_t sizes[kMaxRank];
  void* to;
  int64_t to_strides[kMaxRank];
  const void* from;
  int64_t from_strides[kMaxRank];

  // Copies; does nothing when a size is 0. The box must fit into both memories. Returns the reason for a stop, else ETB_OK.
  etb_status run(KernelContext& context) const noexcept;
};

// Copies all elements of `from` to a tensor of the same sizes and dtype but any dim order.
etb_status copy_tensor(KernelContext& context, const Tensor& from, const Tensor& to) noexcept;

}  // namespace etb::host
