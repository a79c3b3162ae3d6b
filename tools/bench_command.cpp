// SPDX-License-Identifier: Apache-2.0
// `etbackend bench FILE...`: measures programs side by side, and compares them.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "api/format/output_file.hpp"
#include "api/format/printable_text.hpp"
#include "etb/version.h"
#include "tools/bench/benchmark.hpp"
#include "tools/bench/report.hpp"
#include "tools/command.hpp"
#include "tools/plugin_registry.hpp"
#include "tools/screen.hpp"
#include "tools/standard_files.hpp"
#include "tools/verify/interruptible.hpp"
#include "tools/version_text.hpp"

namespace etb::tools {
namespace {

using bench::Options;
using bench::Results;

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

// Returns a code with this exit code.
Code to_code(ExitCode exit) {
  switch (exit) {
    case ExitCode::USAGE:
      return Code::INVALID_ARGUMENT;
    case ExitCode::NOT_FOUND:
      return Code::NOT_FOUND;
    case ExitCode::INVALID_INPUT:
      return Code::INVALID_DATA;
    case ExitCode::REFUSED:
    case ExitCode::NEGATIVE:  // a plugin failed, and its nodes were left to kernels
      return Code::NOT_SUPPORTED;
    case ExitCode::UNAVAILABLE:
      return Code::UNAVAILABLE;
    default:
      return Code::INTERNAL;
  }
}

// Compiles as `etbackend compile` does. Called in a child process.
Status compile(const Session& session, const std::string& archive, const std::vector<std::string>& plugins,
               const std::string& output) {
  std::vector<std::string> words = {"etbackend"};
  for (const std::string& path : session.plugin_paths) words.insert(words.end(), {"--plugin-path", path});
  if (session.secure) words.emplace_back("--secure");
  words.insert(words.end(), {"compile", "-o", output});
  for (const std::string& plugin : plugins) words.insert(words.end(), {"-b", plugin});
  words.insert(words.end(), {"--", archive});
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  std::ostringstream out, err;
  const int exit = run_cli(static_cast<int>(argv.size()), argv.data(), out, err);
  if (exit == 0) return {};
  std::string message = err.str();
  message.erase(message.find_last_not_of('\n') + 1);
  const std::string start = "etbackend compile: ";
  return make_error(to_code(static_cast<ExitCode>(exit)),
                    "compile: " + (message.starts_with(start) ? message.substr(start.size()) : message));
}

// Checks what can fail before the first minute of work instead of after.
Status check(const Options& options) {
  for (const std::string& text : options.context)
    if (text.find('=') == 0 || text.find('=') == std::string::npos)
      return make_error(Code::INVALID_ARGUMENT, fmt::format("--context '{}', expected KEY=VALUE", text));
  ETB_TRY(parse_choices(options.plugins));
  for (const std::string& path : options.outputs) {
    if (path == kStandardFile)
      return make_error(Code::INVALID_ARGUMENT,
                        "-o -: the report is on standard output already, in the form of --format");
    ETB_TRY(format::expect_writable(path));
  }
  return {};
}

bool has_failed(const Results& results) {
  return std::all_of(results.variants.begin(), results.variants.end(),
                     [](const auto& result) { return result.error.has_value(); });
}

void print_errors(const Results& results, const Session& session) {
  std::ostream& err = session.err;
  for (const bench::VariantResult& result : results.variants) {
    if (!result.error) continue;
    std::string message = result.error->message;
    for (size_t at = 0; (at = message.find('\n', at)) != std::string::npos; at += 3)
      message.insert(at + 1, "  ");
    err << "etbackend bench: '" << format::made_printable(result.label)
        << "': " << with_input_named(std::move(message), session) << '\n';
  }
}

// A line after an empty one is the heading of a table.
void print_with_headings(const std::string& report, std::ostream& out) {
  std::istringstream lines(report);
  bool is_after_empty = false;
  for (std::string line; std::getline(lines, line);) {
    const bool is_heading = std::exchange(is_after_empty, line.empty()) && !line.empty();
    out << (is_heading ? Style::kHeading : Style::kPlain) << line << Style::kPlain << '\n';
  }
}

// Text for people contains the errors. Others need them on standard error.
void print_report(const Options& options, const Results& results, Session& session) {
  const std::string form = options.json ? "json" : options.format;
  const bool is_text = form == "text" || form == "markdown";
  if (!is_text || has_failed(results)) print_errors(results, session);
  if (is_text && has_failed(results)) return;  // its tables would be empty
  const std::string report = bench::to_report(form, options, results);
  if (form == "text")
    print_with_headings(report, session.out);
  else
    session.out << report;
}

ExitCode judge(const Options& options, const Results& results, std::ostream& err) {
  if (results.is_interrupted) return ExitCode::UNAVAILABLE;
  // A file that fails has the exit code that it has in other commands.
  if (has_failed(results)) return to_exit_code(results.variants.front().error->code);
  ExitCode code = ExitCode::OK;
  for (const bench::VariantResult& result : results.variants) {
    if (result.error) code = ExitCode::NEGATIVE;
    if (!options.fail_if_slower || !result.ratio || !result.ratio->is_slower_by(*options.fail_if_slower))
      continue;
    err << fmt::format("etbackend bench: '{}' is slower by at least {:.1f} %, allowed {:g} %\n",
                       format::made_printable(result.label), (result.ratio->low - 1) * 100,
                       *options.fail_if_slower);
    code = ExitCode::NEGATIVE;
  }
  return code;
}

// Replaces "-" among the files by the path of standard input, which is opened once.
Status open_standard_input(Options& options, Session& session) {
  for (std::string& file : options.files) {
    if (file != kStandardFile) continue;
    ETB_ASSIGN(file, input_path(file, session));
    options.standard_input = file;
  }
  if (options.against != kStandardFile) return {};
  if (options.standard_input.empty())
    return make_error(Code::INVALID_ARGUMENT, "--against -: expected '-' among the files, too");
  options.against = options.standard_input;
  return {};
}

Result<ExitCode> run(Options options, Session& session) {
  ETB_TRY(check(options));
  ETB_TRY(open_standard_input(options, session));
  Results results;
  ETB_ASSIGN(results.list, bench::make_variants(options));
  if (options.lists && options.json) {
    session.out << nlohmann::ordered_json{{"variants", results.list.labels()}}.dump(
                       2, ' ', true, nlohmann::ordered_json::error_handler_t::replace)
                << '\n';
    return ExitCode::OK;
  }
  if (options.lists) {
    for (const std::string& label : results.list.labels()) session.out << label << '\n';
    return ExitCode::OK;
  }
  results.machine = bench::describe_machine();
  results.version =
      fmt::format("etbackend {}.{}.{}, C ABI {}.{}, commit {}", ETB_VERSION_MAJOR, ETB_VERSION_MINOR,
                  ETB_VERSION_PATCH, ETB_ABI_MAJOR, ETB_ABI_MINOR, commit_text());
  results.date = now();
  results.command_line = session.command_line;
  uint32_t most_threads = 0;
  for (const bench::Variant& variant : results.list.variants)
    most_threads = std::max(most_threads, variant.threads);
  results.warnings = bench::disturbances(results.machine, most_threads);
  const Interruptible interruptible;
  const bench::Environment environment{
      registry_options(session), session.secure, session.quiet,
      [&session](const std::string& archive, const std::vector<std::string>& plugins,
                 const std::string& output) { return compile(session, archive, plugins, output); },
      was_interrupted()};
  bench::run_benchmark(options, environment, results);
  bench::evaluate(options, results);
  // Files first: their errors must not suppress the report on the terminal.
  Status written;
  for (const std::string& path : options.outputs) {
    Status status = format::write_file(path, bench::to_report(bench::format_of(path), options, results));
    if (!status && written) written = std::move(status);
  }
  print_report(options, results, session);
  ETB_TRY(written);
  return judge(options, results, session.err);
}

}  // namespace

void register_bench(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("bench", "Measure and compare programs, backends and numbers of threads");
  bench::add_bench_options(*command, *options);
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
