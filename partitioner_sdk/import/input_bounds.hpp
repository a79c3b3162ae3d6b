// SPDX-License-Identifier: Apache-2.0
// Upper bounds for sizes that the exporter left open. Memory is planned for the largest sizes, so each needs one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

// Sets the largest value of symbols: of those that `bounds` names ("s31", or "u0" for a size that depends on data), and
// of the others in sizes of inputs that have none, which get four times the example's size, at least 128. Returns one
// line for each assumption. Fails for a name that is no symbol, and for a bound outside of the exporter's range.
[[nodiscard]] Result<std::vector<std::string>> bound_inputs(ir::Module& module,
                                                            const std::map<std::string, int64_t>& bounds);

// Sets the largest value of sizes that depend on data and still have none after decomposition, which knows the bounds of most.
// Returns one line for each.
[[nodiscard]] std::vector<std::string> bound_data_sizes(ir::Module& module);

}  // namespace etb::pt2
