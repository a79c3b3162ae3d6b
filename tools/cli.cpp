// SPDX-License-Identifier: Apache-2.0
// The whole program: commands, shared options, help, exit codes.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "api/format/printable_text.hpp"
#include "host/registry/reason.hpp"
#include "host/registry/search_path.hpp"
#include "tools/command.hpp"
#include "tools/command_facts.hpp"
#include "tools/config_file.hpp"
#include "tools/help.hpp"
#include "tools/option_values.hpp"
#include "tools/plugin_registry.hpp"
#include "tools/process_setup.hpp"
#include "tools/screen.hpp"
#include "tools/standard_files.hpp"
#include "tools/version_text.hpp"
#include "tools/wrong_words.hpp"

namespace etb::tools {

#define ETB_COMMAND(name) void register_##name(CLI::App& app, Session& session);
#include "command_list.inc"
#undef ETB_COMMAND

namespace {

// The message may contain text from a plugin or file. Each line of an error list is indented, so that it
// cannot imitate a line of ours.
void print_error(const std::string& command, const std::string& message, std::ostream& err) {
  err << Style::kError << (command.empty() ? "etbackend" : "etbackend " + command) << ':' << Style::kPlain
      << ' ';
  std::string start;
  for (size_t begin = 0; begin <= message.size();) {
    const size_t end = std::min(message.find('\n', begin), message.size());
    err << start << format::made_printable(message.substr(begin, end - begin), SIZE_MAX) << '\n';
    start = "  ";
    begin = end + 1;
  }
}

// Adds the remedy of the error's reason, unless the message has one.
std::string with_hint(const Error& error) {
  const std::string_view hint = host::hint_of(error.reason);
  if (hint.empty() || error.message.find("\nhint: ") != std::string::npos) return error.message;
  return error.message + "\nhint: " + std::string(hint);
}

// Our code returns errors. The standard library throws, for example if memory is exhausted.
Result<ExitCode> without_exceptions(const std::function<Result<ExitCode>()>& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return make_error(Code::OUT_OF_MEMORY, "out of memory");
  } catch (const std::length_error&) {
    return make_error(Code::OUT_OF_MEMORY, "out of memory: a request exceeds the address space");
  } catch (const std::system_error& error) {
    return make_error(Code::OUT_OF_RESOURCES, error.what());
  } catch (const std::exception& error) {
    return make_error(Code::INTERNAL, error.what());
  }
}

}  // namespace

void run_as(CLI::App* command, Session& session, std::function<Result<ExitCode>()> run) {
  command->fallthrough();  // allows --plugin-path and --secure after the command's name, too
  command->callback([command, &session, run = std::move(run)] {
    const auto start = std::chrono::steady_clock::now();
    const Result<ExitCode> result = without_exceptions([&]() -> Result<ExitCode> {
      ETB_TRY(check_plugin_paths(session));
      return run();
    });
    if (session.verbose)
      session.err << fmt::format(
          "{}: {:.3f} s\n", command->get_name(),
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (result) {
      session.exit = *result;
      return;
    }
    print_error(command->get_name(), with_input_named(with_hint(result.error()), session), session.err);
    session.exit = to_exit_code(result.error().code);
  });
}

void name_values(CLI::App& command, ValueNames names) {
  for (const auto& [option, value] : names)
    command.get_option(option)->type_name(value)->allow_extra_args(false);
}

namespace {

// Options of the program that decide how the rest of the command line is read.
struct Preview {
  bool reads_config = true;
  std::string config;  // the file of --config
};

Preview preview(const std::vector<std::string>& arguments) {
  Preview out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--no-config" || word == "--secure") out.reads_config = false;
    if (word == "--config" && i + 1 < arguments.size()) out.config = arguments[i + 1];
    if (word.rfind("--config=", 0) == 0) out.config = word.substr(9);
  }
  return out;
}

void add_shared_options(CLI::App& app, Session& session) {
  app.set_version_flag("--version", version_text);
  app.add_option("--plugin-path", session.plugin_paths, "Search this folder for manifests first; repeatable")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_flag(
      "--secure", session.secure,
      "Trust only files of root; ignore the environment and user folders; require digests of libraries");
  app.add_option_function<std::string>(
         "--config", [](const std::string&) {},
         "Read defaults of options from this file instead of the usual ones")
      ->type_name("FILE");
  app.add_flag_function(
      "--no-config", [](int64_t) {}, "Read no configuration file");
  app.add_option("--color", session.color,
                 "Colours in the output (default: auto, on terminals without NO_COLOR)")
      ->check(one_of({"auto", "always", "never"}));
  app.add_flag("-q,--quiet", session.quiet, "Show no progress");
  app.add_flag("-v,--verbose", session.verbose,
               "Print the folders searched for plugins, and the time of the command");
}

// CLI::App::help() would print the help of the command that was parsed.
std::string help_text(const CLI::App& app) {
  const std::string name = app.get_parent() == nullptr ? "etbackend" : "etbackend " + app.get_name();
  std::string text = app.get_formatter()->make_help(&app, name, CLI::AppFormatMode::Normal);
  for (size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at))
    text.erase(at, 1);
  return text;
}

// Prints what is wrong with a command line, the nearest correct word, and where to read on.
void print_usage_error(const CLI::App& app, const CLI::ParseError& error,
                       const std::vector<std::string>& arguments, Session& session) {
  const auto parsed = app.get_subcommands();
  const std::string command = parsed.empty() ? "" : parsed[0]->get_name();
  const bool is_about_words = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                              dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  std::string message = is_about_words ? describe_wrong_word(app, arguments) : "";
  if (message.empty()) message = error.what();
  print_error(command, message, session.err);
  session.err << "Run `etbackend help" << (command.empty() ? "" : " " + command)
              << "` for more information.\n";
}

// CLI11 reports --help, --version and errors by exception.
int answer(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments,
           Session& session) {
  if (dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr) {
    if (std::find(arguments.begin(), arguments.end(), "--json") != arguments.end())
      print_json(version_json(), session.out);
    else
      session.out << error.what() << '\n';
    return static_cast<int>(ExitCode::OK);
  }
  if (error.get_exit_code() == 0) {
    const auto parsed = app.get_subcommands();
    print_help(parsed.empty() ? app : *parsed[0], session);
    return static_cast<int>(ExitCode::OK);
  }
  if (arguments.empty())
    session.err << help_text(app);
  else
    print_usage_error(app, error, arguments, session);
  return static_cast<int>(ExitCode::USAGE);
}

size_t terminal_width() {
  constexpr size_t kDefault = 100, kLeast = 40, kMost = 160;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kDefault;
  return std::clamp<size_t>(size.ws_col, kLeast, kMost);
}

int parse_and_run(int argc, const char* const* argv, Session& session) {
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  CLI::App app{"Finds, inspects and runs plugins that execute parts of ExecuTorch programs.", "etbackend"};
  app.formatter(help_formatter(session.screen == nullptr ? 100 : terminal_width()));
  app.require_subcommand(1);
  app.parse_complete_callback([&session] { session.apply_style(); });
  add_shared_options(app, session);
#define ETB_COMMAND(name) register_##name(app, session);
#include "command_list.inc"
#undef ETB_COMMAND
  arrange_help(app);
  const Preview wanted = preview(arguments);
  if (!wanted.config.empty())
    read_config_files(app, {wanted.config}, true);
  else if (wanted.reads_config && is_program())
    read_config_files(app, default_config_files(), false);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    session.apply_style();
    return answer(app, error, arguments, session);
  }
  return static_cast<int>(session.exit);
}

// A failed write to standard output is an error. A closed pipe (`| head -1`) needs no message.
int check_output(int exit, std::ostream& out, std::ostream& err) {
  if (out.flush()) return exit;
  const auto* descriptor = dynamic_cast<const DescriptorBuffer*>(out.rdbuf());
  const int number = descriptor == nullptr ? EIO : descriptor->error_number();
  if (number != EPIPE) err << "etbackend: cannot write to standard output: " << std::strerror(number) << '\n';
  const bool was_error =
      exit != static_cast<int>(ExitCode::OK) && exit != static_cast<int>(ExitCode::NEGATIVE);
  return was_error ? exit : static_cast<int>(ExitCode::UNAVAILABLE);
}

}  // namespace

void print_help(const CLI::App& app, Session& session) {
  std::istringstream text(help_text(app));
  for (std::string line; std::getline(text, line);) {
    const bool is_heading = !line.empty() && line[0] != ' ' && line.back() == ':';
    session.out << (is_heading ? Style::kHeading : Style::kPlain) << line << Style::kPlain << '\n';
  }
}

// Only the program asks for the terminal's wishes; a test decides by --color.
void Session::apply_style() {
  const bool wants =
      color == "always" || (color != "never" && is_program() && !host::read_environment("NO_COLOR"));
  const auto set = [&](std::ostream& stream, bool is_terminal) {
    if (auto* const buffer = dynamic_cast<PrintableBuffer*>(stream.rdbuf()); buffer != nullptr)
      buffer->allow_styles(wants && (is_terminal || color == "always"));
  };
  set(out, screen != nullptr);
  set(err, ::isatty(STDERR_FILENO) != 0);
  if (quiet) screen = nullptr;
}

int run_cli(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  int exit = 0;
  {
    PrintableBuffer out_buffer(*out.rdbuf()), err_buffer(*err.rdbuf());
    std::ostream printable_out(&out_buffer), printable_err(&err_buffer);
    printable_err << std::unitbuf;
    Session session{printable_out, printable_err, {}, false, ExitCode::OK, nullptr};
    session.raw_out = &out;
    for (int i = 0; i < argc; ++i) session.command_line += (i == 0 ? "" : " ") + std::string(argv[i]);
    const auto* descriptor = dynamic_cast<const DescriptorBuffer*>(out.rdbuf());
    if (descriptor != nullptr && descriptor->is_terminal()) session.screen = &out_buffer;
    exit = parse_and_run(argc, argv, session);
    if (!printable_out || !out_buffer.finish()) out.setstate(std::ios::badbit);
  }
  return check_output(exit, out, err);
}

}  // namespace etb::tools
