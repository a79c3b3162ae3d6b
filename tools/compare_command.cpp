// SPDX-License-Identifier: Apache-2.0
// `etbackend compare A B -o PAGE`: two reports side by side.
#include <CLI/CLI.hpp>
#include <memory>

#include "api/format/input_file.hpp"
#include "api/format/printable_text.hpp"
#include "tools/command.hpp"
#include "tools/page_facts.hpp"
#include "tools/pages/page.hpp"
#include "tools/pages/reports.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {
namespace {

// Pages of large models have some 10 MB.
constexpr uint64_t kMaxNbytes = uint64_t{256} << 20;

struct Options {
  std::string a, b, output;
};

Result<pages::Json> read(const std::string& path, Session& session) {
  ETB_ASSIGN(const std::string file, input_path(path, session));
  ETB_ASSIGN(const std::string bytes, format::read_file_text(file, kMaxNbytes));
  return pages::read_report(bytes, with_input_named(file, session));
}

Result<ExitCode> run(const Options& options, Session& session) {
  ETB_ASSIGN(const bool has_output, uses_standard_output({{"-o", options.output}}, session));
  ETB_ASSIGN(pages::Json a, read(options.a, session));
  ETB_ASSIGN(pages::Json b, read(options.b, session));
  ETB_ASSIGN(const pages::Json document, pages::compare_documents(std::move(a), std::move(b), options.a,
                                                                  options.b, page_facts("", session)));
  ETB_TRY(write_output(options.output, pages::make_page(document), session));
  if (!has_output) session.out << "wrote " << format::made_printable(options.output) << '\n';
  return ExitCode::OK;
}

}  // namespace

void register_compare(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("compare", "Write a page (HTML) with two reports side by side");
  command
      ->add_option(
          "A", options->a,
          "Page of compile, info, inspect or verify, or report of `bench --json`; - for standard input")
      ->required();
  command->add_option("B", options->b, "Another one of the same kind")->required();
  command->add_option("-o,--output", options->output, "Page to write, - for standard output")
      ->required()
      ->type_name("FILE");
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
