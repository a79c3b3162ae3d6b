// The text form of a module, written and read. Golden tests and --dump-after use it.
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
// `op` declares an op that PyTorch lacks (api/ops/own_ops.hpp). {...} behind sizes are strides, left out when the tensor is dense and row-major. A constant of few elements shows them in
// {...}; "..." stands for the others and is read as zeros. Arguments that equal the schema's default are left out, those behind
// the first such one are named. Everything from # to the end of a line is a comment.
#pragma once

#include <string>
#include <string_view>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::ir {

struct PrintOptions {
  bool has_sources = false;  // show where each node comes from
};

std::string print(Module& module, const PrintOptions& options = {});

// One graph's names for its values, as print writes them (without %).
std::vector<std::string> value_names(const Graph& graph);

[[nodiscard]] Result<Module> parse(std::string_view text);

}  // namespace etb::ir
