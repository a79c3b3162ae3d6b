// SPDX-License-Identifier: Apache-2.0
// The text form of a graph image: for reading, golden tests and handwritten cases. One node a line:
//
//   etg 1
//   name "forward"
//   symbol s0 {2..10} hint 7
//   constant "fc.weight": float32[10, 20] sha256 0xc4f0... = 0x3f80...
//
//   graph @forward {
//     user %x: float32[s0{2..10}, 20]
//     parameter %w: float32[10, 20] = "fc.weight" as "fc.weight"
//     %t: float32[20, 10] = aten.permute_copy.default(input=%w, dims=[1, 0]) !1
//     %y: float32[s0{2..10}, 10] = aten.mm.default(input=%x, mat2=%t) !2 at "model.py":14 in "forward" of "fc"
//     return %y
//   }
//
// docs/graph_image.md has the grammar. Text and bytes have equal content. For every verified
// image print(parse(print(image))) == print(image). For an image of Builder
// parse(print(image)) == image, byte by byte.
#pragma once

#include <string>
#include <string_view>

#include "api/format/graph_builder.hpp"
#include "etb/cpp/graph_view.hpp"

namespace etb::graph {

struct PrintOptions {
  // Leaves out inline data longer than this many bytes. The text then does not parse to the same image.
  uint64_t max_data_bytes = UINT64_MAX;
  // Ends the text soon after this many bytes, with a comment. A hostile image may use one long text often,
  // and so have a text far larger than the image.
  uint64_t max_text_bytes = UINT64_MAX;
};

// `view` must have a verified image.
std::string print_graph_image(const View& view, const PrintOptions& options = {});

// Returns the verified image. Errors name line and column. `#` begins a comment.
[[nodiscard]] Result<ImageBytes> parse_graph_text(std::string_view text);

}  // namespace etb::graph
