// SPDX-License-Identifier: Apache-2.0
// The structural difference of two programs (.pte): methods, inputs and outputs, instructions, delegates, constants,
// memory plan, named data.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/program_info/program_report.hpp"

namespace etb::tools {

struct ProgramDiffOptions {
  uint32_t max_samples = 10;  // differing elements that are listed for each constant
};

// Methods belong together by name, instructions by operation and arguments: an instruction that was added does not
// make all later ones different. Members whose two sides are equal are left out; `is_equal` is true if there are none.
// `operators_only_in_a` and the like, `value_count_a`, `num_differing` and the like are named as in ExecuTorch's
// diff_pte.
nlohmann::ordered_json diff_programs(const ProgramFile& a, const ProgramFile& b,
                                     const ProgramDiffOptions& options);

// Text with at most `top` lines of each list; 0: all.
std::string format_program_diff(const nlohmann::ordered_json& diff, uint32_t top);

}  // namespace etb::tools
