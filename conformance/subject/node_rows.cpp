// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/node_rows.hpp"

#include <algorithm>

#include "conformance/cases/case.hpp"
#include "etb/aot.h"

namespace etb::conformance {

uint32_t layouts_of(const etb_graph_spec& spec) {
  bool is_contiguous = true, is_channels_last = spec.rank >= 3;
  for (uint32_t d = 0; d < spec.rank; ++d) {
    is_contiguous = is_contiguous && spec.dim_order[d] == d;
    is_channels_last = is_channels_last && spec.dim_order[d] == (d == 0 ? 0 : d + 1 == spec.rank ? 1 : d + 1);
  }
  return ETB_LAYOUT_ANY | (is_contiguous ? ETB_LAYOUT_CONTIGUOUS : 0) |
         (is_channels_last ? ETB_LAYOUT_CHANNELS_LAST : 0);
}

std::vector<ClaimRow> rows_of_nodes(const graph::Graph& method) {
  std::vector<ClaimRow> out;
  for (const graph::Node& node : method.nodes()) {
    const auto operands = node.operands();
    if (operands.empty() || !operands[0].is_tensor()) continue;
    const etb_graph_spec& spec = operands[0].spec();
    ClaimRow row{std::string(node.op_name()),
                 short_name(static_cast<etb_dtype>(spec.dtype)),
                 spec.rank,
                 spec.rank,
                 layouts_of(spec),
                 spec.dynamic_dims != 0};
    const bool is_known = std::any_of(out.begin(), out.end(), [&](const ClaimRow& one) {
      return one.op == row.op && one.dtype == row.dtype && one.min_rank == row.min_rank &&
             one.layouts == row.layouts && one.is_dynamic == row.is_dynamic;
    });
    if (!is_known) out.push_back(std::move(row));
  }
  return out;
}

}  // namespace etb::conformance
