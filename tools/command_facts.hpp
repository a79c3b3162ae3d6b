// SPDX-License-Identifier: Apache-2.0
// Lists of the commands and options, read from the option tables: for completion scripts and for programs that call
// etbackend.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/cli11_fwd.hpp"

namespace etb::tools {

struct OptionFacts {
  std::vector<std::string> names;    // "--json", "-o"; of an argument without dashes its one name
  std::vector<std::string> choices;  // of its value; empty: any
  std::string text, group, value;    // value: the word for it in help, "" for a flag
  bool takes_value = false;
  bool is_required = false;
};

struct CommandFacts {
  std::string name, text, group;
  std::vector<OptionFacts> options;    // with those that all commands share
  std::vector<OptionFacts> arguments;  // without dashes, in order
  std::vector<std::string> examples;
  bool takes_plugin = false;  // its first argument may name a plugin
};

// The options of the program itself.
std::vector<OptionFacts> options_of(const CLI::App& app);
// All visible commands.
std::vector<CommandFacts> commands_of(const CLI::App& app);

nlohmann::ordered_json to_json(const CommandFacts& command);
nlohmann::ordered_json to_json(const OptionFacts& option);

// Prints a document of a few lines; bytes that are no UTF-8 are replaced.
void print_json(const nlohmann::ordered_json& document, std::ostream& out);

}  // namespace etb::tools
