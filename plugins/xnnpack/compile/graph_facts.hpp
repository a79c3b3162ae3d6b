// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "etb/cpp/compile.hpp"
#include "plugins/xnnpack/payload/payload.hpp"

namespace etb::xnnpack {

// Facts about the nodes of a graph, computed once.
struct GraphFacts {
  explicit GraphFacts(const Graph& graph);
  std::vector<uint32_t> use_counts;  // by value: number of reads by nodes and the graph's outputs
  std::vector<uint32_t> producers;   // by value: index of the node, kXnnNoValue for an input
  std::vector<uint32_t> readers;     // by value: index of one reader, kXnnNoValue if there is none
};

}  // namespace etb::xnnpack
