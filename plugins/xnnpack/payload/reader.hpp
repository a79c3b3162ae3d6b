// SPDX-License-Identifier: Apache-2.0
// Shared parts of the payload reader; not for users of xnnpack_payload.hpp.
#pragma once

#include "etb_schema/xnnpack_graph_generated.h"
#include "plugins/xnnpack/payload/payload.hpp"

namespace etb::xnnpack {

inline constexpr uint32_t kXnnMaxRank = 6;  // XNN_MAX_TENSOR_DIMS
// FullyConnected: the filter is transposed. BatchMatrixMultiply: the second factor is.
inline constexpr uint32_t kXnnFlagTransposed = 1;

// Returns INVALID_DATA with the parts joined as its text.
template <class... T>
auto bad(const T&... parts) {
  std::string text;
  const auto add = [&](const auto& part) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>) {
      text += std::to_string(part);
    } else {
      text += part;
    }
  };
  (add(parts), ...);
  return make_error(Code::INVALID_DATA, std::move(text));
}

// "node 3 (Conv2d)"
std::string xnnpack_node_name(uint32_t node, XnnOperator op);

// Returns INCOMPATIBLE for an unknown operator number.
[[nodiscard]] Status check_xnnpack_operator(uint32_t node, uint8_t number);

// Reads the nodes. Constants, values and externals of `out` must be read before.
[[nodiscard]] Status read_xnnpack_nodes(const xnnpack_schema::Graph& graph, XnnPayload& out);

}  // namespace etb::xnnpack
