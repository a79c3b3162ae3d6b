// SPDX-License-Identifier: Apache-2.0
// `--constant NAME=VALUE`: methods without inputs that return constants.
#pragma once

#include <string>
#include <vector>

#include "partitioner_sdk/emit/emit.hpp"

namespace etb::tools {

// Parses NAME=VALUE, or NAME=[VALUE,VALUE] for a method of several outputs. A value is true, false, a number
// or else text.
[[nodiscard]] Result<std::vector<emit::ConstantMethod>> parse_constant_methods(
    const std::vector<std::string>& texts);

}  // namespace etb::tools
