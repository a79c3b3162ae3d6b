// SPDX-License-Identifier: Apache-2.0
// Replaces symbolic sizes by numbers, for tools that run a graph with inputs of known sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

// `sizes` has an entry for each user input: the sizes of a tensor, or the one number of an int, which then is no input
// any more. Fails for sizes that contradict the graph, and for sizes that depend on data (NOT_SUPPORTED).
[[nodiscard]] Status fix_sizes(ir::Module& module, const std::vector<std::vector<int64_t>>& sizes);

}  // namespace etb::pt2
