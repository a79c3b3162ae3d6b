// SPDX-License-Identifier: Apache-2.0
// `etbackend exit-codes`: the exit codes of all commands; --markdown is docs/exit_codes.md.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "tools/command.hpp"

namespace etb::tools {
namespace {

constexpr const char* kMarkdownHead =
    "# Exit codes\n\n"
    "Every `etbackend` command ends with one of these (`etbackend exit-codes --markdown` prints this page; "
    "the list is\n"
    "`tools/exit_code.def`).\n\n"
    "| code | name | meaning |\n|---|---|---|\n";

constexpr const char* kMarkdownTail = R"(
## Wrong inputs and outputs

These hold for every command; `tools/hostile_inputs_test.cpp` and `tools/output_files_test.cpp` try them all. No file ends a command by a
signal, and none gives code 7.

| found | code |
|---|---|
| an option, name or number that is unknown or out of range: `--threads 999999`, `--repeat 0`, `--dump-after bogus`; an option without effect: `--only-op` that matches nothing, `--device` for a program without delegates | 2 |
| no such file, plugin or method; no such folder for a file to write | 3 |
| an input that is empty, cut off or damaged, of another kind (`.pte` for `.pt2`, a zip file without a model, ONNX) or larger than it may be | 4 |
| an input that is a folder, a named pipe or a device: only plain files are read | 4 |
| text with a byte order mark or a NUL byte, a name with a NUL inside | 4 |
| a program that became shorter while it was mapped | 4 |
| an output that is a folder, a symbolic link to nothing, or a file that may not be written | 4 |
| an archive or program of another version, a plugin that is not trusted | 5 |
| a full disk, a pipe whose reader has gone (also on standard output), no memory left | 6 |

`-` is standard input where a file is read, and standard output where one is written; there a pipe is read to its end. Binary data for a terminal is
code 2. With `--json` standard output has one JSON document and nothing else; after an error it may have none. Errors are text on standard error.

When the reader of standard output has gone (`etbackend list | head -1`) the command ends with 6 and without a message. Any other failure of
standard output is a message, even when the rest of the command succeeded.
)";

}  // namespace

void register_exit_codes(CLI::App& app, Session& session) {
  auto markdown = std::make_shared<bool>(false), json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("exit-codes", "Print the exit codes of all commands");
  auto* as_json = command->add_flag("--json", *json, "Print JSON");
  command->add_flag("--markdown", *markdown, "As the documentation page")->excludes(as_json);
  run_as(command, session, [markdown, json, &session]() -> Result<ExitCode> {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    if (*markdown) session.out << kMarkdownHead;
    for (const ExitCodeRow& row : exit_code_rows()) {
      const int code = static_cast<int>(row.code);
      rows.push_back({{"code", code}, {"name", row.name}, {"meaning", row.text}});
      if (!*json)
        session.out << fmt::format(fmt::runtime(*markdown ? "| {} | {} | {} |\n" : "{}  {:<14} {}\n"), code,
                                   row.name, row.text);
    }
    if (*markdown) session.out << kMarkdownTail;
    if (*json) session.out << nlohmann::ordered_json{{"exit_codes", rows}}.dump(2) << '\n';
    return ExitCode::OK;
  });
}

}  // namespace etb::tools
