// One HTML file that needs nothing else: verdict, groups, a picture of ops by dtypes, margins, failures with their repro commands.
#pragma once

#include "conformance/report/results.hpp"

namespace etb::conformance {

std::string to_html(const Results& results, const std::string& target);

}  // namespace etb::conformance
