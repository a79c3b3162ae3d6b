// SPDX-License-Identifier: Apache-2.0
// Finds the input that an output of a graph updates.
#pragma once

#include <optional>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::ir {

// Returns the index of the first input whose buffer or tensor gets this output; nullopt if there is none.
inline std::optional<uint32_t> find_updated_input(const Graph& graph, const Output& output) {
  const bool is_buffer = output.kind == OutputKind::kBufferMutation;
  if (!is_buffer && output.kind != OutputKind::kInputMutation) return std::nullopt;
  for (uint32_t i = 0; i < graph.inputs.size(); ++i) {
    const Input& input = graph.inputs[i];
    if (is_buffer == (input.kind == InputKind::kUser)) continue;
    if ((is_buffer ? input.target : graph.values[input.value].name) == output.target) return i;
  }
  return std::nullopt;
}

}  // namespace etb::ir
