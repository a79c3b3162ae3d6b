// SPDX-License-Identifier: Apache-2.0
// `etbackend help [COMMAND]`: the help of the program, or of a command.
#include <memory>

#include "tools/command.hpp"
#include "tools/option_values.hpp"
#include "tools/wrong_words.hpp"

namespace etb::tools {

void register_help(CLI::App& app, Session& session) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("help", "Explain the program, or a command");
  command->add_option("COMMAND", *name, "Command to explain");
  run_as(command, session, [name, &app, &session]() -> Result<ExitCode> {
    if (name->empty()) {
      print_help(app, session);
      return ExitCode::OK;
    }
    for (const CLI::App* found : app.get_subcommands([](const CLI::App*) { return true; })) {
      if (!found->check_name(*name)) continue;
      print_help(*found, session);
      return ExitCode::OK;
    }
    return tl::make_unexpected(unknown_value("COMMAND", *name, command_names(app)));
  });
}

}  // namespace etb::tools
