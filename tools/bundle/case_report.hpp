// SPDX-License-Identifier: Apache-2.0
// Results of test cases, as JSON and as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/bundle/case_runs.hpp"

namespace etb::tools {

nlohmann::ordered_json report_cases(const CaseRuns& runs, const CaseOptions& options);

// `print_output` is one of none, summary and all.
std::string format_cases(const CaseRuns& runs, const CaseOptions& options, const std::string& print_output);

}  // namespace etb::tools
