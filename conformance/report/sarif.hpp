// SPDX-License-Identifier: Apache-2.0
// Writes failures as SARIF 2.1.0, which code hosts display beside a change.
#pragma once

#include <string>

#include "conformance/report/kinds.hpp"
#include "conformance/report/results.hpp"

namespace etb::conformance {

// `by` is the command line for the repeat commands.
std::string to_sarif(const Results& results, const Invocation& by);

}  // namespace etb::conformance
