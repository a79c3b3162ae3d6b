// SPDX-License-Identifier: Apache-2.0
// Removes parts of a failing case: runs, nodes, sizes, dim orders, attributes. The caller runs the
// candidates.
#pragma once

#include <functional>
#include <optional>

#include "conformance/outcome/small_case.hpp"

namespace etb::conformance {

// True if it fails like the original.
using FailsAlike = std::function<bool(const SmallCase&)>;

// Returns the smallest case found, or nothing. The portable kernels can run every candidate.
std::optional<SmallCase> search_smaller(const BuiltCase& built, const FailsAlike& fails_alike);

}  // namespace etb::conformance
