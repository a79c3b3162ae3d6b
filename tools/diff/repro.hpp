// SPDX-License-Identifier: Apache-2.0
// Saves nodes that diverge, with their inputs: NAME.json for `etbackend verify --replay`, NAME.etg for `etbackend graph`.
#pragma once

#include <string>

#include "tools/diff/locate.hpp"

namespace etb::diff {

// Returns the path of the JSON file. `folder` is created.
[[nodiscard]] Result<std::string> save_repro(const Comparison& comparison, const Location& location,
                                             const std::string& folder);

}  // namespace etb::diff
