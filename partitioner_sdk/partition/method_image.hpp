// Graph images of the compiler's graphs: a whole method for the question who takes what, and one region for compilation.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "partitioner_sdk/partition/graph_writer.hpp"

namespace etb::partition {

// A node of the compiler.
struct NodePlace {
  uint32_t graph = 0;  // Module::graphs
  uint32_t node = ir::kNone;
};

struct MethodImage {
  graph::ImageBytes image;
  // By node id of the image; nodes that only compute a number have no place.
  std::vector<NodePlace> nodes;
};

// The whole method. A constant that a subgraph uses is shown
// as one more operand of the nodes that hold subgraphs, since an image has constants in the method alone.
[[nodiscard]] Result<MethodImage> make_method_image(ir::Module& module, ConstantKeys& keys);

// One region as a graph of its own. Inputs are the operands, then what is known ahead of time.
struct RegionImage {
  graph::ImageBytes image;
  std::vector<ir::ValueId> operands;  // what the call is given at run time
  std::vector<ir::ValueId> results;   // values that are used outside
  std::vector<std::string> constant_keys;
  // By node id of the image, the node in the graph.
  std::vector<uint32_t> nodes;
};

// What every region of one graph needs to know, found once.
struct GraphFacts {
  GraphFacts(const ir::Module& module, uint32_t graph_index);

  uint32_t index;
  std::vector<std::string> names;           // of values
  std::vector<const ir::Input*> constants;  // by value: the input that is fixed ahead of time, or NULL
  std::vector<uint32_t> definer;            // by value: the node, kNone for inputs
};

// Nodes that need a number which no tensor of the region tells: a region takes tensors alone.
std::vector<uint32_t> find_untold_nodes(const ir::Module& module, const GraphFacts& facts,
                                        const std::vector<uint32_t>& nodes);

// `nodes` ascending. `is_needed_outside(value)`: something outside of the region uses it.
[[nodiscard]] Result<RegionImage> make_region_image(ir::Module& module, const GraphFacts& facts,
                                                    const std::vector<uint32_t>& nodes,
                                                    const std::function<bool(ir::ValueId)>& is_needed_outside,
                                                    ConstantKeys& keys, const std::string& name);

}  // namespace etb::partition
