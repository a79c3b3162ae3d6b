// SPDX-License-Identifier: Apache-2.0
// `etbackend man DIR`, a hidden command of the build: writes a man page of the program and one of each command,
// from the option tables that --help prints.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

#include "api/format/output_file.hpp"
#include "etb/version.h"
#include "tools/command.hpp"
#include "tools/help.hpp"

namespace etb::tools {
namespace {

// Escapes what troff would read as a command.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      out += std::string("\\&") + c;
    else
      out += c;
  }
  return out;
}

std::string name_of(const CLI::Option& option) {
  std::string out;
  for (const std::string& name : option.get_snames()) out += (out.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) out += (out.empty() ? "--" : ", --") + name;
  return out.empty() ? option.get_name(true) : out;
}

std::string options_section(const CLI::App& app) {
  std::string out;
  for (const std::string& group : app.get_groups()) {
    std::string part;
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group() != group || group.empty()) continue;
      const std::string value = value_of(*option);
      part += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", escaped(name_of(*option)),
                          value.empty() ? "" : " \\fI" + escaped(value) + "\\fR",
                          escaped(option->get_description()));
    }
    if (!part.empty()) out += fmt::format(".SS {}\n{}", escaped(group), part);
  }
  return out.empty() ? "" : ".SH OPTIONS\n" + out;
}

std::string page_of(const CLI::App& app, const std::string& title, const std::vector<std::string>& examples) {
  std::string upper = title;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string out = fmt::format(".TH {} 1 \"\" \"etbackend {}.{}.{}\"\n.SH NAME\n{} \\- {}\n", escaped(upper),
                                ETB_VERSION_MAJOR, ETB_VERSION_MINOR, ETB_VERSION_PATCH, escaped(title),
                                escaped(app.get_description()));
  std::string words = title;
  if (const size_t dash = words.find('-'); dash != std::string::npos) words[dash] = ' ';
  out += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR [\\fIOPTIONS\\fR]", escaped(words));
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional())
      out += fmt::format(fmt::runtime(option->get_required() ? " \\fI{}\\fR" : " [\\fI{}\\fR]"),
                         escaped(option->get_name(true)));
  out += "\n" + options_section(app);
  const auto commands = app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); });
  if (!commands.empty()) out += ".SH COMMANDS\n";
  for (const CLI::App* command : commands)
    out += fmt::format(".TP\n\\fBetbackend\\-{}\\fR(1)\n{}\n", escaped(command->get_name()),
                       escaped(command->get_description()));
  if (!examples.empty()) out += ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : examples) out += escaped(example) + '\n';
  if (!examples.empty()) out += ".fi\n";
  out += ".SH EXIT STATUS\n";
  for (const ExitCodeRow& row : exit_code_rows())
    out += fmt::format(".TP\n{}\n{}\n", static_cast<int>(row.code), escaped(std::string(row.text)));
  return out;
}

}  // namespace

void register_man(CLI::App& app, Session& session) {
  auto folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("man", "Write man pages to a folder")->group("");
  command->add_option("DIR", *folder, "Folder for the pages")->required();
  run_as(command, session, [folder, &app]() -> Result<ExitCode> {
    const std::string start = *folder + "/etbackend";
    ETB_TRY(format::write_file(start + ".1", page_of(app, "etbackend", {})));
    for (const CLI::App* one : app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); }))
      ETB_TRY(
          format::write_file(start + "-" + one->get_name() + ".1",
                             page_of(*one, "etbackend-" + one->get_name(), examples_of(one->get_name()))));
    return ExitCode::OK;
  });
}

}  // namespace etb::tools
