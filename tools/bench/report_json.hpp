// SPDX-License-Identifier: Apache-2.0
// The figures of a variant as JSON, from which all reports for programs are made.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tools/bench/results.hpp"

namespace etb::bench {

nlohmann::ordered_json variant_json(const Options& options, const Results& results, size_t index);

inline std::string percent_name(double percent) { return fmt::format("p{:g}", percent); }

}  // namespace etb::bench
