// What a command is: a file tools/<verb>_command.cpp with one function `register_<verb>`, its name in the one
// list in tools/CMakeLists.txt, and nothing else anywhere.
//
//   void register_hello(CLI::App& app, Session& session) {
//     auto options = std::make_shared<Options>();
//     CLI::App* command = app.add_subcommand("hello", "Greets");
//     command->add_option("NAME", options->name, "Whom to greet")->required();
//     run_as(command, session, [options, &session]() -> Result<ExitCode> { ...; return ExitCode::OK; });
//   }
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <initializer_list>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "etb/cpp/result.hpp"
#include "tools/exit_code.hpp"

namespace etb::tools {

class PrintableBuffer;

// One run of the program: where it writes, and the options that all commands share.
struct Session {
  std::ostream& out;
  std::ostream& err;
  std::vector<std::string> plugin_paths;  // --plugin-path, in the order given
  bool secure = false;                    // --secure
  ExitCode exit = ExitCode::OK;
  PrintableBuffer* screen = nullptr;  // where `out` ends at a terminal
};

// Runs `run` when `command` was given. An Error is printed as "etbackend <command>: <message>" and becomes an
// exit code.
void run_as(CLI::App* command, Session& session, std::function<Result<ExitCode>()> run);

// What help shows behind these options: FILE, PATTERN. An option that may be repeated takes one value each time, so that what follows
// can be the file.
using ValueNames = std::initializer_list<std::pair<const char*, const char*>>;
void name_values(CLI::App& command, ValueNames names);

// The whole program; main only hands over its arguments. What cannot be written to `out` makes the exit code UNAVAILABLE.
int run_cli(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace etb::tools
