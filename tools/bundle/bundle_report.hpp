// SPDX-License-Identifier: Apache-2.0
// The contents of a bundled program (.bpte): its test cases, as JSON and as text.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "api/format/bundled_program_view.hpp"

namespace etb::tools {

// Returns the version, the size of the program, and the cases of each method.
nlohmann::ordered_json report_bundle(const format::BundledProgramView& view, const std::string& path);

std::string format_bundle(const nlohmann::ordered_json& report);

}  // namespace etb::tools
