#pragma once

#include <vector>

#include "api/format/xnnpack_payload.hpp"
#include "etb/cpp/compile.hpp"

namespace etb::xnnpack {

using format::kXnnNoValue;

// Facts about the nodes of a graph, computed once.
struct GraphFacts {
  explicit GraphFacts(const Graph& graph);
  std::vector<uint32_t> use_counts;  // by value: number of reads by nodes and the graph's outputs
  std::vector<uint32_t> producers;   // by value: index of the node, kXnnNoValue for an input
  std::vector<uint32_t> readers;     // by value: index of one reader, kXnnNoValue if there is none
};

}  // namespace etb::xnnpack
