// SPDX-License-Identifier: Apache-2.0
// Sides of which only the outputs are known: a program file, and arrays such as the outputs of PyTorch.
#pragma once

#include "tools/diff/side.hpp"

namespace etb::diff {

// Opens any side: what Side::open() opens, a program (.pte), or arrays (.npy) joined by "+", one for each output.
[[nodiscard]] Result<std::unique_ptr<Side>> open_side(const std::string& text, const SideOptions& options);

}  // namespace etb::diff
