// What of a failing case can be left out: runs, nodes, sizes, dim orders, attributes. How a candidate is tried is the caller's business.
#pragma once

#include <functional>
#include <optional>

#include "conformance/runner/small_case.hpp"

namespace etb::conformance {

// Whether it fails as the original does.
using FailsAlike = std::function<bool(const SmallCase&)>;

// The smallest that was found, or nothing. Every candidate means something to the portable kernels.
std::optional<SmallCase> search_smaller(const BuiltCase& built, const FailsAlike& fails_alike);

}  // namespace etb::conformance
