// Sizes of all values of a payload, worked out as XNNPACK does, before XNNPACK is asked: it multiplies without looking for overflow, takes
// any number of rows of any width for a matrix product, and fills tables of as many pixels as a padding says.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "api/format/xnnpack_payload.hpp"

namespace etb::format {

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

// value.sizes
XnnShape xnnpack_shape(const XnnValue& value);

// By value id, for inputs of these sizes, in the order of payload.input_ids.
//
// When all outputs are empty there is nothing to run: XNNPACK is not to be asked then.
//
// Errors: INVALID_DATA naming the node whose inputs do not fit together, that reads nothing and gives something, whose output would take more than 4 GiB, or whose windows have a
// table out of all proportion to input and output.
[[nodiscard]] Result<std::vector<XnnShape>> infer_xnnpack_shapes(const XnnPayload& payload,
                                                                 std::span<const XnnShape> inputs);

}  // namespace etb::format
