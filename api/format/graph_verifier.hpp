// Decides whether bytes are a graph image: FlatBuffers' structure and every rule of api/schema/graph.fbs.
#pragma once

#include <cstdint>
#include <span>

#include "etb/cpp/result.hpp"

namespace etb::graph {

// Whether `image` may be handed to a plugin (ABI-GRAPH-01). The error names graph, node and field.
//
// Time and memory are linear in the length of the image, whatever it holds: honest images share by index and not by
// offset, so bytes that would be visited twice are refused.
//
// image    must be aligned to ETB_GRAPH_ALIGNMENT (ImageBytes is)
// returns  INVALID_DATA; INCOMPATIBLE (another version, a required feature that is not known)
[[nodiscard]] Status verify_graph_image(std::span<const uint8_t> image);

// Whether the inline data of every constant has the digest that the image says, where it says one. Separate, because it reads all weights.
[[nodiscard]] Status verify_constant_digests(std::span<const uint8_t> verified_image);

}  // namespace etb::graph
