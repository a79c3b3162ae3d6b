// SPDX-License-Identifier: Apache-2.0
// Finds the names that differ least from a name that was not found ("did you mean").
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace etb::host {

// Returns at most max_count of `names`, nearest first. Leaves out names that share hardly anything with
// `wanted`.
std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names,
                                       size_t max_count = 3);

}  // namespace etb::host
