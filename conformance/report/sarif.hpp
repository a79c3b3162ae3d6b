// Failures as SARIF 2.1.0, which code hosts show beside a change.
#pragma once

#include <string>

#include "conformance/report/kinds.hpp"
#include "conformance/report/results.hpp"

namespace etb::conformance {

// `target` is the plugin as the commands that repeat a failure name it.
std::string to_sarif(const Results& results, const Invocation& by);

}  // namespace etb::conformance
