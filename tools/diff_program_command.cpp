// SPDX-License-Identifier: Apache-2.0
// `etbackend diff-program A B`: prints the structural difference of two programs.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/command.hpp"
#include "tools/command_facts.hpp"
#include "tools/diff_program/program_diff.hpp"
#include "tools/file_kind.hpp"
#include "tools/option_values.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {
namespace {

struct Options {
  std::string a, b;
  ProgramDiffOptions diff;
  uint32_t top = 20;
  bool json = false;
};

Result<ProgramFile> read(const std::string& name, Session& session) {
  ETB_ASSIGN(const std::string path, input_path(name, session));
  ETB_TRY(expect_kind(path, {FileKind::kProgram}, "a program (.pte)"));
  ETB_ASSIGN(ProgramFile file, read_program_file(path));
  file.path = with_input_named(file.path, session);
  return file;
}

Result<ExitCode> run(const Options& options, Session& session) {
  ETB_ASSIGN(const ProgramFile a, read(options.a, session));
  ETB_ASSIGN(const ProgramFile b, read(options.b, session));
  const nlohmann::ordered_json diff = diff_programs(a, b, options.diff);
  if (options.json)
    print_json(diff, session.out);
  else
    session.out << format_program_diff(diff, options.top);
  return diff["is_equal"].get<bool>() ? ExitCode::OK : ExitCode::NEGATIVE;
}

}  // namespace

void register_diff_program(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "diff-program", "Compare two programs: methods, instructions, delegates, constants, memory plan");
  command->add_option("A", options->a, "Program (.pte), - for standard input")->required();
  command->add_option("B", options->b, "Program (.pte), - for standard input")->required();
  command
      ->add_option("--max-samples", options->diff.max_samples, "Differing elements to list for each constant")
      ->check(whole_number(0, 1'000'000))
      ->capture_default_str();
  command->add_option("--top", options->top, "Rows of each list as text; 0: all")
      ->check(whole_number(0, 1'000'000, "0: all"))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print the difference as JSON");
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
