// SPDX-License-Identifier: Apache-2.0
// Dimensions of views with strides, merged where they can be: kernels divide once for each dimension.
#pragma once

#include <array>

#include "plugins/gpu/graph/graph.hpp"

namespace etb::gpu {

using Strides = std::array<uint32_t, kMaxRank>;

// Strides of a dense tensor, in elements.
inline Strides dense_strides(const Shape& shape) {
  Strides strides = {};
  uint32_t step = 1;
  for (uint32_t d = shape.rank; d-- > 0;) {
    strides[d] = step;
    step *= shape.sizes[d];
  }
  return strides;
}

// Strides of `from` seen as `to`, to which it broadcasts.
inline Strides broadcast_strides(const Shape& from, const Shape& to) {
  const Strides dense = dense_strides(from);
  Strides strides = {};
  const uint32_t missing = to.rank - from.rank;
  for (uint32_t d = missing; d < to.rank; ++d)
    strides[d] = from.sizes[d - missing] == 1 ? 0 : dense[d - missing];
  return strides;
}

// The dimensions of `shape` in N views, the last dimension first. Dimensions of size 1 are left out.
template <size_t N>
struct StridedDims {
  uint32_t rank = 0;
  std::array<uint32_t, kMaxRank> sizes = {};
  std::array<Strides, N> strides = {};

  StridedDims(const Shape& shape, const std::array<Strides, N>& views) {
    for (uint32_t d = shape.rank; d-- > 0;) {
      if (shape.sizes[d] == 1) continue;
      bool merges = rank > 0;
      for (size_t v = 0; v < N; ++v) merges = merges && views[v][d] == strides[v][rank - 1] * sizes[rank - 1];
      if (merges) {
        sizes[rank - 1] *= shape.sizes[d];
        continue;
      }
      sizes[rank] = shape.sizes[d];
      for (size_t v = 0; v < N; ++v) strides[v][rank] = views[v][d];
      ++rank;
    }
    if (rank == 0) {
      rank = 1;
      sizes[0] = 1;
    }
  }

  // Invocations of a kernel that handles up to four elements of the last dimension each.
  uint64_t groups_of_four() const {
    uint64_t count = (uint64_t{sizes[0]} + 3) / 4;
    for (uint32_t d = 1; d < rank; ++d) count *= sizes[d];
    return count;
  }
};

}  // namespace etb::gpu
