// SPDX-License-Identifier: Apache-2.0
#include "tools/command_facts.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>

#include "tools/help.hpp"

namespace etb::tools {
namespace {

using Json = nlohmann::ordered_json;

// The words between the braces of "{mmap,file}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{'), close = type.rfind('}');
  std::vector<std::string> out;
  if (open == std::string::npos || close == std::string::npos) return out;
  for (size_t at = open + 1; at < close;) {
    const size_t end = std::min(type.find(',', at), close);
    out.push_back(type.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// An option such as "FILE,--model_path" is an argument, too, with the first of its names.
OptionFacts facts_of(const CLI::Option& option, bool is_argument) {
  OptionFacts facts;
  if (is_argument) {
    facts.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
    for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  }
  facts.choices = choices_of(option);
  facts.text = option.get_description();
  facts.group = option.get_group();
  facts.value = value_of(option);
  facts.takes_value = option.get_items_expected_max() != 0;
  facts.is_required = option.get_required();
  return facts;
}

bool has_dashes(const CLI::Option& option) {
  return !option.get_lnames().empty() || !option.get_snames().empty();
}

std::vector<OptionFacts> arguments_of(const CLI::App& app) {
  std::vector<OptionFacts> out;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty() && option->get_positional()) out.push_back(facts_of(*option, true));
  return out;
}

}  // namespace

std::vector<OptionFacts> options_of(const CLI::App& app) {
  std::vector<OptionFacts> out;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty() && has_dashes(*option)) out.push_back(facts_of(*option, false));
  return out;
}

std::vector<CommandFacts> commands_of(const CLI::App& app) {
  std::vector<CommandFacts> out;
  const std::vector<OptionFacts> shared = options_of(app);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;
    CommandFacts facts;
    facts.name = command->get_name();
    facts.text = command->get_description();
    facts.group = command->get_group();
    facts.options = options_of(*command);
    facts.arguments = arguments_of(*command);
    facts.examples = examples_of(facts.name);
    for (const OptionFacts& option : shared)
      if (option.names[0] != "--version" && option.names[0] != "--help") facts.options.push_back(option);
    facts.takes_plugin = facts.name == "verify" || facts.name == "info" || facts.name == "explain";
    out.push_back(std::move(facts));
  }
  return out;
}

Json to_json(const OptionFacts& option) {
  Json out{{"names", option.names},
           {"description", option.text},
           {"group", option.group},
           {"takes_value", option.takes_value}};
  if (option.takes_value) out["value"] = option.value;
  if (!option.choices.empty()) out["choices"] = option.choices;
  if (option.is_required) out["required"] = true;
  return out;
}

Json to_json(const CommandFacts& command) {
  const auto list = [](const std::vector<OptionFacts>& options) {
    Json rows = Json::array();
    for (const OptionFacts& option : options) rows.push_back(to_json(option));
    return rows;
  };
  return {{"name", command.name},
          {"description", command.text},
          {"group", command.group},
          {"arguments", list(command.arguments)},
          {"options", list(command.options)},
          {"examples", command.examples}};
}

void print_json(const Json& document, std::ostream& out) {
  out << document.dump(2, ' ', true, Json::error_handler_t::replace) << '\n';
}

}  // namespace etb::tools
