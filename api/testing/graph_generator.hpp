// SPDX-License-Identifier: Apache-2.0
// Generates random graph images for tests, fuzz corpora and benchmarks. The verifier accepts every one, and
// together they use every field of the format.
#pragma once

#include <cstdint>

#include "api/format/graph_builder.hpp"

namespace etb::graph {

// Equal seeds result in equal graphs.
Builder random_graph(uint64_t seed, uint32_t node_count);

// A long chain of three kinds of nodes with weights outside the image, similar to large models.
Builder chain_graph(uint32_t node_count);

}  // namespace etb::graph
