// What the parts of the payload reader share; not for users of xnnpack_payload.hpp.
#pragma once

#include "api/format/xnnpack_payload.hpp"
#include "etb_schema/xnnpack_graph_generated.h"

namespace etb::format {

inline constexpr uint32_t kXnnMaxRank = 6;  // XNN_MAX_TENSOR_DIMS
// FullyConnected: the filter is; BatchMatrixMultiply: the second factor is.
inline constexpr uint32_t kXnnFlagTransposed = 1;

// INVALID_DATA with a text made of its parts.
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

// INCOMPATIBLE for a number that stands for no operator here.
[[nodiscard]] Status check_xnnpack_operator(uint32_t node, uint8_t number);

// Reads the nodes; constants, values and externals of `out` are read already.
[[nodiscard]] Status read_xnnpack_nodes(const xnnpack_schema::Graph& graph, XnnPayload& out);

}  // namespace etb::format
