// SPDX-License-Identifier: Apache-2.0
// Measures a plugin's own latency in another process: a correct device may be slow.
#pragma once

#include "conformance/process/plan.hpp"

namespace etb::conformance {

// Opens the plugin in a separate process and runs a small case that it claims. Steps that fail have latency
// 0; the checks report them.
Latency measure_latency(const Plan& plan);

}  // namespace etb::conformance
