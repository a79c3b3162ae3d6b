// SPDX-License-Identifier: Apache-2.0
// Nodes of a graph as rows of an op table would list them: by the first tensor operand.
#pragma once

#include <vector>

#include "conformance/outcome/outcome.hpp"
#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {

// Returns the ETB_LAYOUT_* bits of rows that list such a tensor.
uint32_t layouts_of(const etb_graph_spec& spec);

// Returns each different row of the nodes that have a tensor operand. Both ranks are that of the operand.
std::vector<ClaimRow> rows_of_nodes(const graph::Graph& method);

}  // namespace etb::conformance
