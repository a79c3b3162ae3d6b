#pragma once

#include <vector>

#include "api/format/xnnpack_payload.hpp"
#include "etb/cpp/compile.hpp"

namespace etb::xnnpack {

using format::kXnnNoValue;

// What is asked of every node of a graph, found once.
struct GraphFacts {
  explicit GraphFacts(const Graph& graph);
  std::vector<uint32_t> use_counts;  // by value: reads by nodes and the graph's outputs
  std::vector<uint32_t> producers;   // by value: position of the node, kXnnNoValue for an input
  std::vector<uint32_t> readers;     // by value: position of one that reads it, kXnnNoValue when none does
};

}  // namespace etb::xnnpack
