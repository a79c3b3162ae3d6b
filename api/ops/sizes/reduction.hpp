// SPDX-License-Identifier: Apache-2.0
// Sizes of reductions.
#pragma once

#include <cstddef>

namespace etb::ops {

// Calls emit(size) for every size of the result of a reduction. is_reduced(i) is true for the dimensions that go; with
// `keeps_dims` they stay with size 1.
template <class Arithmetic, class List, class IsReduced, class Emit>
void reduce_sizes(const Arithmetic&, const List& in, IsReduced is_reduced, bool keeps_dims, Emit emit) {
  for (size_t i = 0; i < in.size(); ++i) {
    if (!is_reduced(i)) {
      emit(in[i]);
    } else if (keeps_dims) {
      emit(typename Arithmetic::Size(1));
    }
  }
}

}  // namespace etb::ops
