// SPDX-License-Identifier: Apache-2.0
// `etbackend size FILE`: prints what the bytes of a program or archive are, by module, operator and constant.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "partitioner_sdk/import/import.hpp"
#include "tools/command.hpp"
#include "tools/command_facts.hpp"
#include "tools/file_kind.hpp"
#include "tools/option_values.hpp"
#include "tools/size/size_report.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {
namespace {

struct Options {
  std::string file;
  std::string model;
  SizeView view;
  bool json = false;
  bool csv = false;
};

Result<SizeReport> measure(const Options& options, const std::string& path, Session& session) {
  ETB_TRY(
      expect_kind(path, {FileKind::kProgram, FileKind::kArchive}, "a program (.pte) or an archive (.pt2)"));
  if (find_file_kind(path) == FileKind::kArchive) {
    if (!options.model.empty())
      return make_error(Code::INVALID_ARGUMENT,
                        "--model names the weights of a program (.pte), and an archive names "
                        "its own");
    ETB_ASSIGN(const ir::Module module, pt2::import_archive(path));
    std::error_code failed;
    const uint64_t nbytes = std::filesystem::file_size(path, failed);
    return measure_archive(module, with_input_named(path, session), failed ? 0 : nbytes);
  }
  std::optional<ir::Module> model;
  if (!options.model.empty()) {
    ETB_TRY(expect_kind(options.model, {FileKind::kArchive}, "--model: an archive (.pt2)"));
    ETB_ASSIGN(model, pt2::import_archive(options.model));
  }
  ETB_ASSIGN(ProgramFile file, read_program_file(path));
  file.path = with_input_named(file.path, session);
  return measure_program(file, model ? &*model : nullptr);
}

Result<ExitCode> run(const Options& options, Session& session) {
  ETB_ASSIGN(const std::string path, input_path(options.file, session));
  ETB_ASSIGN(const SizeReport report, measure(options, path, session));
  if (options.json)
    print_json(size_json(report, options.view), session.out);
  else
    session.out << (options.csv ? size_csv(report, options.view) : size_text(report, options.view));
  return ExitCode::OK;
}

}  // namespace

void register_size(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "size",
      "Print what the bytes of a program or archive are: by module, operator and constant, with duplicates");
  command->add_option("FILE", options->file, "Program (.pte) or archive (.pt2), - for standard input")
      ->required();
  command->add_option("--by", options->view.by, "Table to print")
      ->check(one_of({"all", "part", "module", "operator", "constant"}))
      ->capture_default_str();
  command->add_option("--top", options->view.top, "Rows of each table as text; 0: all")
      ->check(whole_number(0, 1'000'000, "0: all"))
      ->capture_default_str();
  command
      ->add_option("--depth", options->view.depth,
                   "Group modules by this many names of their path; 0: by all")
      ->check(whole_number(0, 1000, "0: by all"))
      ->capture_default_str();
  command
      ->add_option("--model", options->model,
                   "Archive (.pt2) of the program: names weights that the program stores unchanged")
      ->type_name("FILE");
  auto* const csv =
      command->add_flag("--csv", options->csv, "Print one table as CSV (--by all: the constants)");
  command->add_flag("--json", options->json, "Print everything as JSON")->excludes(csv);
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
