// SPDX-License-Identifier: Apache-2.0
// Sides of which only the outputs are known: a program file, arrays such as the outputs of PyTorch, and the outputs that
// a record or a bundled program stores with inputs.
#pragma once

#include <variant>

#include "tools/diff/side.hpp"
#include "tools/run/array.hpp"

namespace etb::diff {

// Inputs that a file stores with outputs, and for which the outputs are.
using StoredInput = std::variant<tools::Array, host::EValue>;  // a tensor, or a number

struct OpenedSide {
  std::unique_ptr<Side> side;
  std::vector<StoredInput> inputs;  // none: the side computes for any inputs, or does not tell
};

// Opens any side: what Side::open() opens, a program (.pte), arrays (.npy) joined by "+", one for each output, a record
// (.etrecord), a bundled program (.bpte), of which `test_case` is the index of the case, a profile (.etdp) or
// another archive (.pt2), whose values are read later.
[[nodiscard]] Result<OpenedSide> open_side(const std::string& text, const SideOptions& options,
                                           uint32_t test_case);

// Returns the inputs of a record; NOT_FOUND or INVALID_DATA without some.
[[nodiscard]] Result<std::vector<StoredInput>> read_representative_inputs(const std::string& record);

}  // namespace etb::diff
