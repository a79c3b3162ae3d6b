// SPDX-License-Identifier: Apache-2.0
// Prints outputs for the user.
#pragma once

#include <string>

#include "host/runtime/evalue.hpp"

namespace etb::tools {

// Returns "float32 [2, 3]: 0.1, 0.2, ... (min 0.1, max 0.6, mean 0.35)", or the number itself. With
// `shows_all`, returns every element.
std::string describe_value(const host::EValue& value, bool shows_all = false);

}  // namespace etb::tools
