// SPDX-License-Identifier: Apache-2.0
// `etbackend bundle`: writes a program with test cases of its methods (.bpte), lists what such a file holds, and writes
// the program that it holds.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

#include "api/format/bundled_program_writer.hpp"
#include "host/bundle/bundle_file.hpp"
#include "host/module/module.hpp"
#include "tools/bundle/bundle_options.hpp"
#include "tools/bundle/bundle_report.hpp"
#include "tools/bundle/make_cases.hpp"
#include "tools/command.hpp"
#include "tools/command_facts.hpp"
#include "tools/file_kind.hpp"
#include "tools/option_values.hpp"
#include "tools/plugin_registry.hpp"
#include "tools/program_info/program_report.hpp"
#include "tools/quantity.hpp"
#include "tools/run/searched_delegates.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {

namespace {

struct Options {
  std::string file;
  std::string output;
  CaseTextOptions case_options;
  std::vector<CaseText> cases;
  std::string expect_from = "none";
  std::vector<std::string> models;
  std::vector<std::string> data_files;
  PluginOptions plugins;
  std::string extract;
  bool list = false;
  bool json = false;

  bool makes() const { return !list && extract.empty(); }
};

ReferenceRuns::Source source_of(const std::string& text) {
  if (text == "program") return ReferenceRuns::Source::kProgram;
  if (text == "portable") return ReferenceRuns::Source::kPortable;
  return text == "eager" ? ReferenceRuns::Source::kEager : ReferenceRuns::Source::kNone;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Lists a bundle, and writes its program.
Result<ExitCode> show(const Options& options, Session& session) {
  ETB_ASSIGN(const bool is_standard, uses_standard_output({{"--extract", options.extract, true},
                                                           {"--json", options.json ? kStandardFile : ""}},
                                                          session));
  ETB_TRY(expect_kind(options.file, {FileKind::kBundle}, "a bundled program (.bpte)"));
  ETB_ASSIGN(const host::BundleFile bundle, host::BundleFile::open(options.file));
  if (!options.extract.empty()) {
    ETB_TRY(write_output(options.extract, text_of(bundle.view().program()), session));
    if (!options.list && !options.json && !is_standard)
      session.out << fmt::format("wrote {} ({})\n", options.extract,
                                 nbytes_text(bundle.view().program().size()));
  }
  if (!options.list && !options.json) return ExitCode::OK;
  const nlohmann::ordered_json report = report_bundle(bundle.view(), with_input_named(options.file, session));
  if (options.json)
    print_json(report, session.out);
  else
    (is_standard ? session.err : session.out) << format_bundle(report);
  return ExitCode::OK;
}

// The cases of a bundle that gets more of them.
std::vector<format::BundledSuite> suites_of(const format::BundledProgramView& view) {
  std::vector<format::BundledSuite> suites;
  for (uint32_t i = 0; i < view.suite_count(); ++i) {
    format::BundledSuite& suite = suites.emplace_back();
    suite.method = std::string(view.suite(i).method());
    for (uint32_t k = 0; k < view.suite(i).case_count(); ++k)
      suite.cases.push_back(format::to_case(view.suite(i).test_case(k)));
  }
  return suites;
}

// Program and test cases of a bundle.
struct Parts {
  ProgramFile program;
  std::vector<format::BundledSuite> suites;
};

Result<Parts> read_parts(const std::string& file) {
  ETB_TRY(expect_kind(file, {FileKind::kProgram, FileKind::kBundle},
                      "a program (.pte) or a bundled program (.bpte)"));
  Parts parts;
  ETB_ASSIGN(parts.program, read_program_file(file));
  if (find_file_kind(file) != FileKind::kBundle) return parts;
  ETB_ASSIGN(const host::BundleFile bundle, host::BundleFile::open(file));
  parts.suites = suites_of(bundle.view());
  return parts;
}

Status add_cases(const Options& options, const host::ModuleOptions& module_options,
                 SearchedDelegates& delegates, Parts& parts, std::vector<std::string>& notes) {
  ETB_ASSIGN(const host::Module program, host::Module::from_bytes(parts.program.bytes, module_options));
  ETB_TRY(delegates.check_choices(program));
  ETB_ASSIGN(auto models, split_models(options.models, program.method_names()));
  ReferenceRuns references(source_of(options.expect_from), parts.program.bytes, std::move(models),
                           module_options);
  for (size_t i = 0; i < options.cases.size(); ++i) {
    auto made = make_case(program, options.cases[i], references);
    const std::string where = fmt::format("test case {}", i);
    if (!made) return tl::make_unexpected(with_context(std::move(made).error(), where));
    for (const std::string& note : made->notes) notes.push_back(where + ": " + note);
    if (made->item.expected.empty())
      notes.push_back(where +
                      " has no expected outputs, for measurements only (--expect FILE, or --expect-from)");
    parts.suites.push_back({std::move(made->method), {std::move(made->item)}});
  }
  return {};
}

Result<ExitCode> make(const Options& options, Session& session) {
  if (options.output.empty())
    return make_error(Code::INVALID_ARGUMENT,
                      "no file to write\nhint: -o FILE.bpte; --list and --extract read a bundled program");
  ETB_ASSIGN(const bool is_standard, uses_standard_output({{"--output", options.output, true},
                                                           {"--json", options.json ? kStandardFile : ""}},
                                                          session));
  if (!is_standard) ETB_TRY(format::expect_writable(options.output));
  ETB_ASSIGN(Parts parts, read_parts(options.file));
  ETB_ASSIGN(DelegateChoices choices, parse_choices(options.plugins));
  SearchedDelegates delegates(registry_options(session), std::move(choices));
  host::ModuleOptions module_options;
  module_options.data_files = options.data_files;
  module_options.kernel_libraries = options.plugins.kernel_libraries;
  module_options.secure = session.secure;
  module_options.async = options.plugins.is_async;
  module_options.delegates = &delegates;
  std::vector<std::string> notes;
  ETB_TRY(add_cases(options, module_options, delegates, parts, notes));
  uint64_t nbytes = 0;
  ETB_TRY(
      format::write_bundled_program(parts.program.bytes, parts.suites, [&](std::span<const std::byte> bytes) {
        nbytes = bytes.size();
        return write_output(options.output, text_of(bytes), session);
      }));
  std::ostream& out = is_standard ? session.err : session.out;
  for (const std::string& note : notes) session.err << "note: " << note << '\n';
  size_t count = 0;
  for (const format::BundledSuite& suite : parts.suites) count += suite.cases.size();
  if (options.json)
    print_json({{"file", options.output}, {"nbytes", nbytes}, {"cases", count}, {"notes", notes}},
               session.out);
  else
    out << fmt::format("wrote {} ({}): the program and {}\n", options.output, nbytes_text(nbytes),
                       count_of(count, "test case"));
  return ExitCode::OK;
}

Result<ExitCode> run(Options options, const CLI::App& command, Session& session) {
  ETB_ASSIGN(options.file, input_path(options.file, session));
  if (!options.makes()) {
    if (!options.output.empty())
      return make_error(Code::INVALID_ARGUMENT, "--output with --list or --extract, which make no bundle");
    return show(options, session);
  }
  ETB_ASSIGN(options.cases, options.case_options.cases(command));
  return make(options, session);
}

void add_reference_options(CLI::App& command, Options& options) {
  command
      .add_option("--expect-from", options.expect_from,
                  "Expected outputs of test cases without --expect: from the program on its plugins "
                  "(program), from the "
                  "program on portable kernels only (portable), or from the exported graph of --model, node "
                  "by node on "
                  "portable kernels (eager)")
      ->check(one_of({"none", "program", "portable", "eager"}))
      ->capture_default_str();
  command
      .add_option("--model", options.models,
                  "Archive (.pt2) of the program, for --expect-from eager: FILE, or METHOD=FILE; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command.add_option("--data,--data_path", options.data_files, "External weights (.ptd); repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

}  // namespace

void register_bundle(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("bundle",
                                         "Write a program with test cases, inputs and expected outputs "
                                         "(.bpte), or print what such a file holds");
  command
      ->add_option(
          "FILE", options->file,
          "Program (.pte), or a bundled program (.bpte) that gets more test cases; - for standard input")
      ->required();
  command->add_option("-o,--output", options->output, "File to write; - for standard output")
      ->type_name("FILE");
  options->case_options.add_to(*command);
  add_reference_options(*command, *options);
  add_plugin_options(*command, options->plugins);
  command->add_flag("--list", options->list, "Print the test cases of a bundled program");
  command->add_option("--extract", options->extract, "Write the program of a bundled program to this file")
      ->type_name("PROGRAM");
  command->add_flag("--json", options->json, "Print JSON");
  run_as(command, session, [options, command, &session] { return run(*options, *command, session); });
}

}  // namespace etb::tools
