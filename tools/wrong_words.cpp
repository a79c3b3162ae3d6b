// SPDX-License-Identifier: Apache-2.0
#include "tools/wrong_words.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "api/format/printable_text.hpp"
#include "host/registry/nearest_names.hpp"

namespace etb::tools {
namespace {

std::string question(const std::string& word, const std::vector<std::string>& names) {
  const std::vector<std::string> nearest = host::nearest_names(word, names, 1);
  return nearest.empty() ? "" : "; did you mean '" + nearest[0] + "'?";
}

const CLI::Option* find_option(const CLI::App& app, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  for (const CLI::Option* option : app.get_options())
    if (option->check_name(name) ||
        (word.size() > 2 && word[1] != '-' && option->check_name(word.substr(0, 2))))
      return option;
  return nullptr;
}

const CLI::App* find_command(const CLI::App& app, const std::string& word) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (command->check_name(word)) return command;
  return nullptr;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() != 0; }

}  // namespace

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string describe_wrong_word(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* command = nullptr;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") return "";
    if (word.size() > 1 && word[0] == '-') {
      const CLI::Option* option = command == nullptr ? nullptr : find_option(*command, word);
      if (option == nullptr) option = find_option(app, word);
      if (option != nullptr) {
        if (takes_value(*option) && word.find('=') == std::string::npos &&
            (word[1] == '-' || word.size() == 2))
          ++i;
        continue;
      }
      if (word[1] != '-' && word.find_first_not_of("0123456789.", 1) == std::string::npos)
        continue;  // a number
      std::vector<std::string> names = option_names(app);
      if (command != nullptr) {
        const std::vector<std::string> own = option_names(*command);
        names.insert(names.end(), own.begin(), own.end());
      }
      const std::string name = word.substr(0, word.find('='));
      return "unknown option " + format::in_quotes(name) +
             (command == nullptr ? "" : " of '" + command->get_name() + "'") + question(name, names);
    }
    if (command != nullptr) continue;  // a positional
    command = find_command(app, word);
    if (command == nullptr)
      return "unknown command " + format::in_quotes(word) + question(word, command_names(app));
  }
  return "";
}

}  // namespace etb::tools
