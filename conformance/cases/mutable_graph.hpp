// SPDX-License-Identifier: Apache-2.0
// The graph of a case in a form that can be changed and written again: to remove nodes, and to simplify sizes
// and attributes. Supports one graph without state whose dynamic sizes are plain symbols; read_mutable_graph
// rejects any other.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/format/graph_builder.hpp"
#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {

// Values have the image's numbers: inputs first, then the results of each node.
struct MutableGraph {
  struct Input {
    std::string name;
    graph::SpecDesc spec;
    std::optional<std::vector<uint8_t>> constant;  // its bytes
  };
  struct Node {
    std::string op;
    std::vector<graph::ArgumentDesc> args;
    std::vector<graph::SpecDesc> results;
    std::vector<int32_t> result_lengths;
    uint32_t debug_handle = 0;
  };
  std::vector<graph::SymbolDesc> symbols;  // indexed by `expr` of a dynamic dimension
  std::vector<Input> inputs;
  std::vector<Node> nodes;
  std::vector<uint32_t> outputs;
  std::optional<uint32_t> quantised;   // a value that write_image gives a scale and a zero point
  std::string result_names = "y";      // names of results begin with it
  bool has_outside_constants = false;  // write_image leaves the bytes of constants out

  uint32_t value_count() const;
  uint32_t first_result(size_t node) const;
  const graph::SpecDesc& spec_of(uint32_t value) const;
  graph::SpecDesc& spec_of(uint32_t value);
};

// Returns the bytes of a constant outside the image.
using FindConstant = std::function<std::span<const std::byte>(const char* key)>;

// Without `find_constant`, constants outside the image are an error.
[[nodiscard]] Result<MutableGraph> read_mutable_graph(const graph::ImageBytes& image,
                                                      const FindConstant& find_constant = {});
[[nodiscard]] Result<graph::ImageBytes> write_image(const MutableGraph& graph);

// Returns nodes [first, last) alone. Values from outside become inputs, constants stay constants. Results
// that later nodes or the graph need become outputs. `out_taken` receives the old value of each input.
MutableGraph slice(const MutableGraph& graph, size_t first, size_t last, std::vector<uint32_t>& out_taken);

}  // namespace etb::conformance
