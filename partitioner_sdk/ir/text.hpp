// SPDX-License-Identifier: Apache-2.0
// Writes and reads the text form of a module. Golden tests and --dump-after use it.
//
//   module "forward"
//   symbol s77 [2, 10] hint 7
//   op "my::scale(Tensor x, float s=2.0) -> Tensor"
//   constant "fc.weight" float32[4, 3]{1, 4} = ...
//   graph @forward(
//     %w: float32[4, 3]{1, 4} = parameter "fc.weight" constant 0,
//     %x: float32[s77, 3] = user) {
//     %y: float32[s77, 4] = aten.linear.default(%x, %w)  # model.py:3 in forward
//     return %y
//   }
//
// `op` declares an op that PyTorch lacks (api/ops/custom_ops.hpp). {...} after sizes are strides, omitted if the
// tensor is dense and row-major. Small constants show their elements in {...}. "..." replaces the elements of
// others and reads as zeros. Arguments equal to the schema's default are omitted; those after the first
// omitted one are named. Text from # to the end of a line is a comment.
#pragma once

#include <string>
#include <string_view>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::ir {

struct PrintOptions {
  bool has_sources = false;  // print the source of each node
};

std::string print(Module& module, const PrintOptions& options = {});

// Returns one graph's names for its values, as print writes them (without %).
std::vector<std::string> value_names(const Graph& graph);

[[nodiscard]] Result<Module> parse(std::string_view text);

}  // namespace etb::ir
