// SPDX-License-Identifier: Apache-2.0
// Graph images of the compiler's graphs: a whole method for partitioning, and one region for compilation.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "partitioner_sdk/partition/graph_writer.hpp"

namespace etb::partition {

// A node of the compiler.
struct NodeLocation {
  uint32_t graph = 0;  // index into Module::graphs
  uint32_t node = ir::kNone;
};

// True if the node runs graphs of its module (control flow).
bool has_subgraphs(const ir::Node& node);

struct MethodImage {
  graph::ImageBytes image;
  // By node id of the image. Nodes that only compute a number have no entry in the compiler's graph.
  std::vector<NodeLocation> nodes;
};

// Writes the whole method. An image has constants in the method only. So a constant that a subgraph uses
// becomes an operand of the nodes that hold subgraphs.
[[nodiscard]] Result<MethodImage> make_method_image(ir::Module& module, ConstantKeys& keys);

// Rejects a module that an image cannot describe fully: a tensor that is no dense tensor in some order, a token,
// an output that is a literal. Before views_to_copies tensors may be views with gaps. The error names the
// node.
[[nodiscard]] Status check_expressible(ir::Module& module);

// One region as a separate graph. Inputs are the operands, then the constants.
struct RegionImage {
  graph::ImageBytes image;
  std::vector<ir::ValueId> operands;  // arguments of the call at run time
  std::vector<ir::ValueId> results;   // values that are used outside
  std::vector<std::string> constant_keys;
  // By node id of the image: the node in the graph.
  std::vector<uint32_t> nodes;
};

// Facts shared by all regions of one graph, computed once.
struct GraphFacts {
  GraphFacts(const ir::Module& module, uint32_t graph_index);

  uint32_t index;
  std::vector<std::string> names;           // names of the values
  std::vector<const ir::Input*> constants;  // by value: its input if known ahead of time, or NULL
  std::vector<uint32_t> definer;            // by value: the node, kNone for inputs
};

// Returns nodes that need a symbolic size which no tensor input of the region determines. Regions have tensor
// inputs only.
std::vector<uint32_t> find_undetermined_nodes(const ir::Module& module, const GraphFacts& facts,
                                              const std::vector<uint32_t>& nodes);

// `nodes` are ascending. `is_needed_outside(value)`: true if the value is used outside the region.
[[nodiscard]] Result<RegionImage> make_region_image(ir::Module& module, const GraphFacts& facts,
                                                    const std::vector<uint32_t>& nodes,
                                                    const std::function<bool(ir::ValueId)>& is_needed_outside,
                                                    ConstantKeys& keys, const std::string& name);

}  // namespace etb::partition
