// SPDX-License-Identifier: Apache-2.0
// `etbackend help [COMMAND]`: the help of the program, or of a command.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/command.hpp"
#include "tools/command_facts.hpp"
#include "tools/option_values.hpp"
#include "tools/wrong_words.hpp"

namespace etb::tools {
namespace {

nlohmann::ordered_json program_json(const CLI::App& app) {
  nlohmann::ordered_json options = nlohmann::ordered_json::array(), commands = options;
  for (const OptionFacts& option : options_of(app)) options.push_back(to_json(option));
  for (const CommandFacts& command : commands_of(app)) commands.push_back(to_json(command));
  return {{"description", app.get_description()},
          {"options", std::move(options)},
          {"commands", std::move(commands)}};
}

}  // namespace

void register_help(CLI::App& app, Session& session) {
  struct Options {
    std::string name;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("help", "Explain the program, or a command");
  command->add_option("COMMAND", options->name, "Command to explain");
  command->add_flag("--json", options->json, "Print commands, options and examples as JSON");
  run_as(command, session, [options, &app, &session]() -> Result<ExitCode> {
    const std::string& name = options->name;
    if (name.empty()) {
      if (options->json)
        print_json(program_json(app), session.out);
      else
        print_help(app, session);
      return ExitCode::OK;
    }
    for (const CommandFacts& facts : commands_of(app)) {
      if (facts.name != name) continue;
      if (options->json)
        print_json(to_json(facts), session.out);
      else
        print_help(*app.get_subcommand(name), session);
      return ExitCode::OK;
    }
    return tl::make_unexpected(unknown_value("COMMAND", name, command_names(app)));
  });
}

}  // namespace etb::tools
