// `etbackend exit-codes`: the exit codes of all commands; --markdown is docs/exit_codes.md.
#include <fmt/format.h>

#include <memory>

#include "tools/command.hpp"

namespace etb::tools {
namespace {

constexpr const char* kMarkdownHead =
    "# Exit codes\n\n"
    "Every `etbackend` command ends with one of these (`etbackend exit-codes --markdown` prints this page; "
    "the list is\n"
    "`tools/exit_code.def`).\n\n"
    "| code | name | meaning |\n|---|---|---|\n";

}  // namespace

void register_exit_codes(CLI::App& app, Session& session) {
  auto markdown = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("exit-codes", "Print the exit codes of all commands");
  command->add_flag("--markdown", *markdown, "As the documentation page");
  run_as(command, session, [markdown, &session]() -> Result<ExitCode> {
    if (*markdown) session.out << kMarkdownHead;
    for (const ExitCodeRow& row : exit_code_rows())
      session.out << fmt::format(fmt::runtime(*markdown ? "| {} | {} | {} |\n" : "{}  {:<14} {}\n"),
                                 static_cast<int>(row.code), row.name, row.text);
    return ExitCode::OK;
  });
}

}  // namespace etb::tools
