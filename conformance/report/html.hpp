// One HTML file that needs nothing else: verdict, groups, a picture of ops by dtypes, margins, failures with their repro commands.
#pragma once

#include "conformance/report/kinds.hpp"
#include "conformance/report/results.hpp"

namespace etb::conformance {

std::string to_html(const Results& results, const Invocation& by);

}  // namespace etb::conformance
