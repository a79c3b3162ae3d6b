// SPDX-License-Identifier: Apache-2.0
// Some nodes of a graph as a method of its own, which each side compiles and runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::diff {

struct Part {
  ir::Module module;                  // its inputs are `operands`, its outputs `results`
  std::vector<ir::ValueId> operands;  // values from outside, in order of their first use
  std::vector<ir::ValueId> results;
};

enum class PartResults : uint8_t {
  kNeeded,  // values that other nodes or the method's outputs use
  kAll,     // every tensor, so that no pass can merge two nodes
};

// Returns nodes of the main graph as a part; ascending. State is an operand.
Part extract_part(const ir::Module& whole, std::span<const uint32_t> nodes, PartResults results);

// Returns a copy of the method with its own inputs, whose outputs are all tensors that its nodes compute. State is
// constant.
Part extract_whole(const ir::Module& whole);

// Returns a copy of a method.
ir::Module clone_module(const ir::Module& whole);

// Replaces formulas by numbers, as far as the sizes that tensors of the main graph had in a run determine them.
// `sizes` is by value, empty for values without a tensor.
void fix_sizes(ir::Module& module, const std::vector<std::vector<int64_t>>& sizes);

// Returns why the nodes cannot be a part, or "": numbers cross its border.
std::string find_obstacle(const ir::Module& whole, std::span<const uint32_t> nodes);

}  // namespace etb::diff
