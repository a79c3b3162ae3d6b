// SPDX-License-Identifier: Apache-2.0
// `etbackend bind OPS.yaml`: writes the C++ that registers an application's functions as kernels of custom ops.
#include <CLI/CLI.hpp>
#include <memory>

#include "api/format/input_file.hpp"
#include "tools/bind/bindings.hpp"
#include "tools/command.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {
namespace {

constexpr uint64_t kMaxListBytes = 1 << 20;

struct Options {
  std::string file;
  std::string output = std::string(kStandardFile);
  std::string function;
};

Result<ExitCode> run(const Options& options, Session& session) {
  ETB_ASSIGN(const std::string path, input_path(options.file, session));
  ETB_ASSIGN(const std::string text, format::read_file_text(path, kMaxListBytes));
  ETB_ASSIGN(const OpList list, parse_op_list(text, options.file));
  ETB_ASSIGN(const std::string code, write_bindings(list, options.file, options.function));
  ETB_TRY(write_output(options.output, code, session));
  return ExitCode::OK;
}

}  // namespace

void register_bind(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "bind", "Write C++ that registers functions as kernels of custom ops, and checks them");
  command
      ->add_option("FILE", options->file,
                   "List of ops: lines 'func: SCHEMA', 'kernel: FUNCTION' and 'header: FILE' (YAML)")
      ->required();
  command->add_option("-o,--output", options->output, "C++ to write, - for standard output")
      ->capture_default_str();
  command
      ->add_option(
          "--rows-function", options->function,
          "Define this function, which returns the rows, instead of exporting a library for run --kernels")
      ->type_name("NAME");
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
