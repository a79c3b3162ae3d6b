// SPDX-License-Identifier: Apache-2.0
// Verifies that bytes are a graph image: FlatBuffers' structure and every rule of api/schema/graph.fbs.
#pragma once

#include <cstdint>
#include <span>

#include "etb/cpp/result.hpp"

namespace etb::graph {

// Succeeds if the host may pass `image` to a plugin (ABI-GRAPH-01). Errors name graph, node and field.
//
// Time and memory are linear in the length of any image. Honest images share by index and not by offset, so
// the verifier rejects bytes that would be read twice.
// 16s/(ImageBytes is)/(ImageBytes does)/
//
// image    must be aligned to ETB_GRAPH_ALIGNMENT (ImageBytes is)
// returns  INVALID_DATA; INCOMPATIBLE (another version, an unknown required feature)
[[nodiscard]] Status verify_graph_image(std::span<const uint8_t> image);

// Checks that the inline data of every constant has the digest in the image, if there is one. Separate,
// because it reads all weights.
[[nodiscard]] Status verify_constant_digests(std::span<const uint8_t> verified_image);

}  // namespace etb::graph
