// SPDX-License-Identifier: Apache-2.0
// Help of the program and its commands: groups, examples, layout. The tables are in help.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/cli11_fwd.hpp"

namespace etb::tools {

// Sorts commands and options into groups, and adds the examples. Called once all commands are registered.
void arrange_help(CLI::App& app);

// Examples of a command, one line each; none for a command that has none.
std::vector<std::string> examples_of(const std::string& command);

// Returns the word for an option's value in help: "FILE", "N=1", "{mmap,file}"; "" for a flag.
std::string value_of(const CLI::Option& option);

// Lays out help for this width: descriptions are wrapped.
std::shared_ptr<CLI::FormatterBase> help_formatter(size_t width);

}  // namespace etb::tools
