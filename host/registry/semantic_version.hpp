// SPDX-License-Identifier: Apache-2.0
// Semantic versions (semver.org 2.0.0): validity and order.
#pragma once

#include <string_view>

namespace etb::host {

bool is_semantic_version(std::string_view text);

// Returns < 0, 0, > 0 as a precedes, equals, follows b. Ignores build metadata. Both must be valid.
int compare_semantic_versions(std::string_view a, std::string_view b);

}  // namespace etb::host
