// SPDX-License-Identifier: Apache-2.0
// Infers the sizes of all values of a payload as XNNPACK does, before XNNPACK runs. XNNPACK multiplies
// without overflow checks, accepts any rows of any width for a matrix product, and fills tables with as many
// pixels as the padding declares.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "plugins/xnnpack/payload/payload.hpp"

namespace etb::xnnpack {

struct XnnShape {
  uint32_t rank = 0;
  std::array<uint64_t, 6> sizes{};  // outermost first

  std::span<const uint64_t> span() const { return {sizes.data(), rank}; }
  bool is_empty() const {
    return std::any_of(span().begin(), span().end(), [](uint64_t size) { return size == 0; });
  }
  friend bool operator==(const XnnShape& a, const XnnShape& b) {
    return std::equal(a.span().begin(), a.span().end(), b.span().begin(), b.span().end());
  }
};

// Converts value.sizes.
XnnShape xnnpack_shape(const XnnValue& value);

// Returns sizes by value id, for inputs of these sizes in the order of payload.input_ids.
//
// When all outputs are empty the caller must not run XNNPACK.
//
// Errors: INVALID_DATA with the node. Its inputs do not match, it has an output but no input elements, its
// output needs more than 4 GiB, or its windows need a table out of proportion to input and output.
[[nodiscard]] Result<std::vector<XnnShape>> infer_xnnpack_shapes(const XnnPayload& payload,
                                                                 std::span<const XnnShape> inputs);

}  // namespace etb::xnnpack
