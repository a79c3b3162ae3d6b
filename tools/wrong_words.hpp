// SPDX-License-Identifier: Apache-2.0
// Messages for command lines with a word that no command or option has.
#pragma once

#include <string>
#include <vector>

#include "tools/cli11_fwd.hpp"

namespace etb::tools {

// Describes the first unknown command or option among the arguments, with the nearest name: "unknown command
// 'lst'; did you mean 'list'?". Returns "" when all are known.
std::string describe_wrong_word(const CLI::App& app, const std::vector<std::string>& arguments);

// The visible commands' names.
std::vector<std::string> command_names(const CLI::App& app);

// The names of an app's options: "--json", "-o".
std::vector<std::string> option_names(const CLI::App& app);

}  // namespace etb::tools
