// SPDX-License-Identifier: Apache-2.0
// Convolutions of the checks: of images, with one step, one group and no bias.
#pragma once

#include "conformance/cases/case_builder.hpp"

namespace etb::conformance {

// Adds a convolution of `x` with the filters `w` and the same padding on each side. Returns its result.
inline uint32_t add_plain_convolution(CaseBuilder& builder, uint32_t x, uint32_t w, int64_t padding,
                                      const Shape& result) {
  using graph::ints_arg;
  return builder.node(
      "aten.convolution.default",
      {graph::value_arg(x, "input"), graph::value_arg(w, "weight"), graph::none_arg("bias"),
       ints_arg({1, 1}, "stride"), ints_arg({padding, padding}, "padding"), ints_arg({1, 1}, "dilation"),
       graph::bool_arg(false, "transposed"), ints_arg({0, 0}, "output_padding"), graph::int_arg(1, "groups")},
      result);
}

}  // namespace etb::conformance
