// SPDX-License-Identifier: Apache-2.0
// `etbackend completion SHELL`: a script that completes commands, options, choices and files. It is made from
// the option tables of the commands, so it knows what this build of the program knows.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "tools/command.hpp"
#include "tools/command_facts.hpp"
#include "tools/option_values.hpp"

namespace etb::tools {
namespace {

std::vector<std::string> all_names(const std::vector<OptionFacts>& options) {
  std::vector<std::string> out;
  for (const OptionFacts& option : options) out.insert(out.end(), option.names.begin(), option.names.end());
  return out;
}

std::string bash_script(const CLI::App& app) {
  std::string out =
      "# Completion of etbackend for bash; made by `etbackend completion bash`.\n"
      "_etbackend_plugins() { etbackend list 2>/dev/null --json | sed -n 's/.*\"id\": "
      "\"\\([^\"]*\\)\".*/\\1/p'; }\n"
      "_etbackend() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case ${COMP_WORDS[i]} in -*) ;; *) command=${COMP_WORDS[i]}; break ;; esac\n"
      "  done\n"
      "  COMPREPLY=()\n"
      "  case $command:$before in\n";
  const std::vector<CommandFacts> commands = commands_of(app);
  for (const CommandFacts& command : commands)
    for (const OptionFacts& option : command.options)
      for (const std::string& name : option.names) {
        if (!option.takes_value) continue;
        if (option.choices.empty())
          out += fmt::format("    {}:{}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", command.name,
                             name);
        else
          out += fmt::format("    {}:{}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                             command.name, name, fmt::join(option.choices, " "));
      }
  out += "  esac\n  case $command in\n";
  std::vector<std::string> names;
  for (const CommandFacts& command : commands) {
    names.push_back(command.name);
    out += fmt::format("    {}) if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '{}' -- \"$word\")); ",
                       command.name, fmt::join(all_names(command.options), " "));
    if (command.takes_plugin)
      out +=
          "else COMPREPLY=($(compgen -f -- \"$word\") $(compgen -W \"$(_etbackend_plugins)\" -- \"$word\")); "
          "fi ;;\n";
    else
      out += "else COMPREPLY=($(compgen -f -- \"$word\")); fi ;;\n";
  }
  out += fmt::format("    *) COMPREPLY=($(compgen -W '{} {}' -- \"$word\")) ;;\n", fmt::join(names, " "),
                     fmt::join(all_names(options_of(app)), " "));
  out += "  esac\n}\ncomplete -o filenames -F _etbackend etbackend\n";
  return out;
}

// A text inside single quotes of a shell, and inside the brackets of zsh's _arguments.
std::string quoted(const std::string& text, bool is_zsh) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (is_zsh && (c == '[' || c == ']' || c == ':' || c == '\\'))
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

std::string zsh_script(const CLI::App& app) {
  std::string out =
      "#compdef etbackend\n"
      "# Completion of etbackend for zsh; made by `etbackend completion zsh`.\n"
      "_etbackend() {\n"
      "  local state\n"
      "  local -a commands\n"
      "  commands=(\n";
  const std::vector<CommandFacts> commands = commands_of(app);
  for (const CommandFacts& command : commands)
    out += fmt::format("    '{}:{}'\n", command.name, quoted(command.text, true));
  out +=
      "  )\n  _arguments -C '1: :->command' '*:: :->rest'\n"
      "  case $state in\n"
      "    command) _describe command commands ;;\n"
      "    rest) case $words[1] in\n";
  for (const CommandFacts& command : commands) {
    out += fmt::format("      {}) _arguments", command.name);
    for (const OptionFacts& option : command.options)
      for (const std::string& name : option.names) {
        out += fmt::format(" \\\n        '*{}[{}]", name, quoted(option.text, true));
        if (option.takes_value)
          out += option.choices.empty() ? ":value:_files"
                                        : fmt::format(":value:({})", fmt::join(option.choices, " "));
        out += "'";
      }
    out += " \\\n        '*:file:_files' ;;\n";
  }
  out += "    esac ;;\n  esac\n}\n_etbackend \"$@\"\n";
  return out;
}

std::string fish_script(const CLI::App& app) {
  std::string out = "# Completion of etbackend for fish; made by `etbackend completion fish`.\n";
  for (const CommandFacts& command : commands_of(app)) {
    out += fmt::format("complete -c etbackend -n __fish_use_subcommand -f -a {} -d '{}'\n", command.name,
                       quoted(command.text, false));
    for (const OptionFacts& option : command.options) {
      out += fmt::format("complete -c etbackend -n '__fish_seen_subcommand_from {}'", command.name);
      for (const std::string& name : option.names)
        out += name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (option.takes_value) out += " -r";
      if (!option.choices.empty()) out += fmt::format(" -f -a '{}'", fmt::join(option.choices, " "));
      out += fmt::format(" -d '{}'\n", quoted(option.text, false));
    }
  }
  return out;
}

}  // namespace

void register_completion(CLI::App& app, Session& session) {
  struct Options {
    std::string shell;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("completion", "Print a script that completes command lines in a shell");
  command->add_option("SHELL", options->shell, "Shell: bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}));
  command->add_flag("--json", options->json, "Print JSON with the script as a text");
  run_as(command, session, [options, &app, &session]() -> Result<ExitCode> {
    const std::string& shell = options->shell;
    const std::string script = shell == "bash"  ? bash_script(app)
                               : shell == "zsh" ? zsh_script(app)
                                                : fish_script(app);
    if (options->json)
      print_json({{"shell", shell}, {"script", script}}, session.out);
    else
      session.out << script;
    return ExitCode::OK;
  });
}

}  // namespace etb::tools
