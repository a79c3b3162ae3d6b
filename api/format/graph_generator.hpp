// Random graph images for tests, fuzz corpora and benchmarks: every one passes the verifier, and together they
// use every field of the format.
#pragma once

#include <cstdint>

#include "api/format/graph_builder.hpp"

namespace etb::graph {

// The same seed gives the same graph.
Builder random_graph(uint64_t seed, uint32_t node_count);

// A long chain of three kinds of nodes with weights outside the image, as large models look.
Builder chain_graph(uint32_t node_count);

}  // namespace etb::graph
