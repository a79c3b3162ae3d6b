// SPDX-License-Identifier: Apache-2.0
// A command is a file tools/<verb>_command.cpp with one function `register_<verb>`, and its name in the one
// list in tools/CMakeLists.txt.
//
//   void register_hello(CLI::App& app, Session& session) {
//     auto options = std::make_shared<Options>();
//     CLI::App* command = app.add_subcommand("hello", "Greets");
//     command->add_option("NAME", options->name, "Name to greet")->required();
//     run_as(command, session, [options, &session]() -> Result<ExitCode> { ...; return ExitCode::OK; });
//   }
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "etb/cpp/result.hpp"
#include "tools/cli11_fwd.hpp"
#include "tools/exit_code.hpp"

namespace etb::tools {

class PrintableBuffer;
class StandardInput;

// One run of the program: its output streams, and the options that all commands share.
struct Session {
  std::ostream& out;
  std::ostream& err;
  std::vector<std::string> plugin_paths;  // --plugin-path, in the order given
  bool secure = false;                    // --secure
  ExitCode exit = ExitCode::OK;
  PrintableBuffer* screen = nullptr;          // the buffer of `out` if that is a terminal
  std::string command_line = {};              // as the user typed it, without quotes
  std::ostream* raw_out = nullptr;            // the stream below `out`, which escapes nothing
  std::shared_ptr<StandardInput> input = {};  // once a command reads "-"
  std::string color = "auto";                 // --color: auto, always or never
  bool quiet = false;                         // --quiet: shows no progress
  bool verbose = false;                       // --verbose

  // Applies --color and --quiet to the streams.
  void apply_style();
};

// Runs `run` if `command` was given. Prints an Error as "etbackend <command>: <message>" and returns its exit
// code.
void run_as(CLI::App* command, Session& session, std::function<Result<ExitCode>()> run);

// Prints the help of the program or of a command.
void print_help(const CLI::App& app, Session& session);

// Sets the value names that help prints after these options: FILE, PATTERN. A repeatable option reads one
// value each time, so that the next argument can be the file.
using ValueNames = std::initializer_list<std::pair<const char*, const char*>>;
void name_values(CLI::App& command, ValueNames names);

// Runs the whole program; main only passes its arguments. If writing to `out` fails, the exit code is
// UNAVAILABLE.
int run_cli(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace etb::tools
