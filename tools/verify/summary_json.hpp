// SPDX-License-Identifier: Apache-2.0
// The summary of `etbackend verify --json`: what the terminal shows, as one JSON object.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "conformance/report/results.hpp"
#include "conformance/runner/runner.hpp"

namespace etb::tools {

nlohmann::ordered_json verify_summary(const conformance::Results& results);

// The cases and checks of --list.
nlohmann::ordered_json item_list(const std::vector<conformance::Item>& items);

}  // namespace etb::tools
