// SPDX-License-Identifier: Apache-2.0
// The whole program: commands, shared options, help, exit codes.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>

#include "api/format/printable_text.hpp"
#include "etb/version.h"
#include "host/registry/reason.hpp"
#include "tools/command.hpp"
#include "tools/plugin_registry.hpp"
#include "tools/screen.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {

#define ETB_COMMAND(name) void register_##name(CLI::App& app, Session& session);
#include "command_list.inc"
#undef ETB_COMMAND

namespace {

std::string version_text() {
  return fmt::format("etbackend {}.{}.{}, C ABI {}.{}{}", ETB_VERSION_MAJOR, ETB_VERSION_MINOR,
                     ETB_VERSION_PATCH, ETB_ABI_MAJOR, ETB_ABI_MINOR,
                     ETB_ABI_RELEASE_CANDIDATE ? " (release candidate)" : "");
}

std::string exit_code_footer() {
  std::string text = "Exit codes:\n";
  for (const ExitCodeRow& row : exit_code_rows())
    text += fmt::format("  {}  {}\n", static_cast<int>(row.code), row.text);
  return text;
}

// The message may contain text from a plugin or file. Each line of an error list is indented, so that it
// cannot imitate a line of ours.
void print_error(const std::string& command, const std::string& message, std::ostream& err) {
  std::string start = "etbackend " + command + ": ";
  for (size_t begin = 0; begin <= message.size();) {
    const size_t end = std::min(message.find('\n', begin), message.size());
    err << start << format::made_printable(message.substr(begin, end - begin), SIZE_MAX) << '\n';
    start = "  ";
    begin = end + 1;
  }
}

// Prints an option's value and default after its name. Omits C++ types and marks that the description states
// in words.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_positional()) return "";
    std::string value = option->get_type_name();
    if (const size_t choices = value.find('{'); choices != std::string::npos) value.erase(0, choices);
    if (value.rfind("UINT", 0) == 0 || value.rfind("INT", 0) == 0) value = "N";
    if (value.empty()) return "";
    const std::string start = option->get_default_str();
    return " " + value + (start.empty() ? "" : "=" + start);
  }
};

}  // namespace

namespace {

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
    const Result<ExitCode> result = without_exceptions([&]() -> Result<ExitCode> {
      ETB_TRY(check_plugin_paths(session));
      return run();
    });
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

int parse_and_run(int argc, const char* const* argv, Session& session) {
  CLI::App app{"Finds, inspects and runs plugins that execute parts of ExecuTorch programs.", "etbackend"};
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", version_text());
  app.footer(exit_code_footer());
  app.require_subcommand(1);
  app.add_option("--plugin-path", session.plugin_paths, "Search this folder for manifests first; repeatable")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_flag(
      "--secure", session.secure,
      "Trust only files of root; ignore the environment and user folders; require digests of libraries");
#define ETB_COMMAND(name) register_##name(app, session);
#include "command_list.inc"
#undef ETB_COMMAND
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {  // CLI11 reports --help, --version and errors by exception
    const bool is_answer = app.exit(error, session.out, session.err) == 0;
    return static_cast<int>(is_answer ? ExitCode::OK : ExitCode::USAGE);
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
