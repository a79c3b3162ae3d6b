// SPDX-License-Identifier: Apache-2.0
// Checks of option values for CLI11. An error names the value found, the values expected, and the nearest
// one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "tools/cli11_fwd.hpp"

namespace etb::tools {

// Accepts a whole number from `lowest` to `highest`. CLI11 itself reads "-1" as 2^64-1 for 64-bit options.
// `note` explains the range: "0: all processors".
CLI::Validator whole_number(uint64_t lowest, uint64_t highest, const std::string& note = "");

// Accepts one of these names. Help prints them: {mmap,file}.
CLI::Validator one_of(const std::vector<std::string>& names);

// Returns "found 'bogus', expected one of cpp, c", with the nearest names if any are similar.
std::string unknown_name(const std::string& found, const std::vector<std::string>& expected);
Error unknown_value(const std::string& option, const std::string& found,
                    const std::vector<std::string>& expected);

}  // namespace etb::tools
