// SPDX-License-Identifier: Apache-2.0
// Writes and reads the text form of a module, which golden tests and --dump-after use. It is the text of a
// graph image (docs/graph_image.md) with the clauses that only modules have:
//
//   etg 1
//   module "forward"
//   symbol s77 {2..10} hint 7
//   op "my::scale(Tensor x, float s=2.0) -> Tensor"
//   constant "fc.weight": float32[4, 3] order(1, 0) = ...
//
//   graph @forward {
//     parameter %w: float32[4, 3] order(1, 0) = "fc.weight" as "fc.weight"
//     user %x: float32[s77, 3]
//     %y: float32[s77, 4] = aten.linear.default(%x, %w) at "model.py":3 in "forward"
//     %z: float32[4*s77] = aten.view.default(%y, [4*s77])
//     return %z
//   }
//
// `op` declares an op that PyTorch lacks (api/ops/custom_ops.hpp). Sizes and ints are numbers or formulas, whose
// range follows from the symbols. strides(...) describes a tensor that is not dense. Small constants show
// their elements; "..." replaces those of others and reads as zeros. Arguments equal to the schema's default
// are omitted; those after the first omitted one are named. "token" is a kind of input, and of output.
#pragma once

#include <string>
#include <string_view>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::ir {

struct PrintOptions {
  bool has_sources = false;  // print debug handle and source of each node
};

struct ParseOptions {
  bool needs_data = false;  // reject a text that leaves out elements of constants
};

std::string print(Module& module, const PrintOptions& options = {});

// Returns one graph's names for its values, as print writes them (without %).
std::vector<std::string> value_names(const Graph& graph);

// Reads the text of a module, or of a graph image without quantisation, aliases and values in lists of
// numbers. Errors name line and column.
[[nodiscard]] Result<Module> parse(std::string_view text, const ParseOptions& options = {});

// True if the text says that it is a module's.
bool is_module_text(std::string_view text);

}  // namespace etb::ir
