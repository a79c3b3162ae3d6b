// The graph of a case as something that can be changed and written again: nodes cut off, sizes and attributes made plainer. One graph, no
// state, dynamic sizes that are symbols themselves; read_draft refuses anything else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/format/graph_builder.hpp"
#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {

// Values are numbered as in the image: inputs first, then the results of each node.
struct GraphDraft {
  struct Input {
    std::string name;
    graph::SpecDraft spec;
    std::optional<std::vector<uint8_t>> constant;  // its bytes
  };
  struct Node {
    std::string op;
    std::vector<graph::ArgumentDraft> args;
    std::vector<graph::SpecDraft> results;
    std::vector<int32_t> result_lengths;
    uint32_t debug_handle = 0;
  };
  std::vector<graph::SymbolDraft> symbols;  // a dynamic dimension's `expr` is the number of one
  std::vector<Input> inputs;
  std::vector<Node> nodes;
  std::vector<uint32_t> outputs;

  uint32_t value_count() const;
  uint32_t first_result(size_t node) const;
  const graph::SpecDraft& spec_of(uint32_t value) const;
  graph::SpecDraft& spec_of(uint32_t value);
};

[[nodiscard]] Result<GraphDraft> read_draft(const graph::ImageBytes& image);
[[nodiscard]] Result<graph::ImageBytes> write_draft(const GraphDraft& draft);

// Nodes [first, last) alone. What they take from outside becomes an input, constants stay constants; what the rest takes of them, and what
// was an output, becomes an output. `out_taken`: which old value each input is.
GraphDraft slice(const GraphDraft& draft, size_t first, size_t last, std::vector<uint32_t>& out_taken);

}  // namespace etb::conformance
