// SPDX-License-Identifier: Apache-2.0
// Writes JUnit XML, as CI servers read it.
#pragma once

#include "conformance/report/kinds.hpp"
#include "conformance/report/results.hpp"

namespace etb::conformance {

std::string to_junit(const Results& results, const Invocation& by);

// Escapes markup for XML and HTML and removes control characters.
std::string escape_markup(std::string_view text);

}  // namespace etb::conformance
