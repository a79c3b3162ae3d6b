// SPDX-License-Identifier: Apache-2.0
// Writes one self-contained HTML file: verdict, groups, a grid of ops by dtypes, margins, failures with their
// repro commands.
#pragma once

#include "conformance/report/kinds.hpp"
#include "conformance/report/results.hpp"

namespace etb::conformance {

std::string to_html(const Results& results, const Invocation& by);

}  // namespace etb::conformance
