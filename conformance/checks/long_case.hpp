// SPDX-License-Identifier: Apache-2.0
// Cases whose runs take milliseconds.
#pragma once

#include <vector>

#include "conformance/checks/check.hpp"

namespace etb::conformance {

// Returns a product of matrices, or else a sum of millions, compiled. Returns none if the plugin claims neither.
std::vector<ClaimedCase> long_claimed(Subject& subject);

// Returns a product of matrices and a convolution, or else the sum: those that the plugin claims, compiled.
std::vector<ClaimedCase> every_long_claimed(Subject& subject);

}  // namespace etb::conformance
