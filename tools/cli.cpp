#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "etb/version.h"
#include "host/registry/fault.hpp"
#include "tools/command.hpp"

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

// What a plugin or a file said may be part of it. An error that lists many things has a line for each, set in, so that none passes
// for a line of ours.
void print_error(const std::string& command, const std::string& message, std::ostream& err) {
  std::string start = "etbackend " + command + ": ";
  for (size_t begin = 0; begin <= message.size();) {
    const size_t end = std::min(message.find('\n', begin), message.size());
    err << start << host::made_printable(message.substr(begin, end - begin), SIZE_MAX) << '\n';
    start = "  ";
    begin = end + 1;
  }
}

// Behind an option stands what to write there and its default: no types of C++, no marks that the description has in words.
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

void run_as(CLI::App* command, Session& session, std::function<Result<ExitCode>()> run) {
  command->fallthrough();  // so that --plugin-path and --secure may also follow the command's name
  command->callback([command, &session, run = std::move(run)] {
    const Result<ExitCode> result = run();
    if (result) {
      session.exit = *result;
      return;
    }
    print_error(command->get_name(), result.error().message, session.err);
    session.exit = to_exit_code(result.error().code);
  });
}

void name_values(CLI::App& command, ValueNames names) {
  for (const auto& [option, value] : names)
    command.get_option(option)->type_name(value)->allow_extra_args(false);
}

int run_cli(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  Session session{out, err, {}, false, ExitCode::OK};
  CLI::App app{"Finds, inspects and runs plugins that execute parts of ExecuTorch programs.", "etbackend"};
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", version_text());
  app.footer(exit_code_footer());
  app.require_subcommand(1);
  app.add_option("--plugin-path", session.plugin_paths,
                 "Search this folder for manifests first (may be repeated)")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_flag("--secure", session.secure,
               "Trust only root's files; no environment, no user folders, no library without a digest");
#define ETB_COMMAND(name) register_##name(app, session);
#include "command_list.inc"
#undef ETB_COMMAND
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {  // CLI11 reports by exception; also --help and --version
    const bool is_answer = app.exit(error, out, err) == 0;
    return static_cast<int>(is_answer ? ExitCode::OK : ExitCode::USAGE);
  }
  return static_cast<int>(session.exit);
}

}  // namespace etb::tools
