// SPDX-License-Identifier: Apache-2.0
// `etbackend inspect RUN.etdp`: prints where the time of recorded runs went.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "api/format/input_file.hpp"
#include "api/format/printable_text.hpp"
#include "tools/bench/table.hpp"
#include "tools/command.hpp"
#include "tools/command_facts.hpp"
#include "tools/file_kind.hpp"
#include "tools/inspect/event_rows.hpp"
#include "tools/inspect/run_profile.hpp"
#include "tools/option_values.hpp"
#include "tools/page_facts.hpp"
#include "tools/pages/page.hpp"
#include "tools/quantity.hpp"
#include "tools/run/timing.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {
namespace {

using Json = nlohmann::ordered_json;
using inspect::EventRow;
using inspect::Profile;

// A flatbuffer ends at 2 GiB.
constexpr uint64_t kMaxNbytes = uint64_t{2} << 30;

struct Options {
  std::string file;
  std::string by = "instruction";
  std::string block = "Execute";
  std::string perfetto, html;  // files
  uint32_t top = 0;
  uint32_t skip = 0;
  bool json = false, csv = false, tsv = false;
};

inspect::Grouping grouping_of(const Options& options) {
  return options.by == "op"      ? inspect::Grouping::kOperator
         : options.by == "event" ? inspect::Grouping::kEvent
                                 : inspect::Grouping::kInstruction;
}

double share_of(const EventRow& row, const Profile& profile) {
  return profile.run_us == 0 ? 0 : row.average_us() / profile.run_us;
}

Json to_json(const Profile& profile, const std::string& file) {
  Json rows = Json::array();
  for (const EventRow& row : profile.rows)
    rows.push_back({{"name", row.name},
                    {"chain", row.chain_index},
                    {"instruction", row.instruction_index},
                    {"inside_delegate", row.is_inside_delegate},
                    {"calls", row.calls},
                    {"avg_us", row.average_us()},
                    {"min_us", percentile(row.us, 0)},
                    {"p10_us", percentile(row.us, 0.1)},
                    {"p50_us", percentile(row.us, 0.5)},
                    {"p90_us", percentile(row.us, 0.9)},
                    {"max_us", percentile(row.us, 1)},
                    {"share", share_of(row, profile)}});
  return {
      {"file", file}, {"runs", profile.run_count}, {"run_avg_us", profile.run_us}, {"rows", std::move(rows)}};
}

// A cell of CSV is quoted where it must be (RFC 4180); TSV has no quotes, so control characters are escaped before.
std::string cell(const std::string& text, char separator) {
  const std::string shown = format::made_printable(text, SIZE_MAX);
  if (separator != ',' || shown.find_first_of(",\"") == std::string::npos) return shown;
  std::string out = "\"";
  for (const char c : shown) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

std::string to_lines(const Profile& profile, char separator) {
  const auto joined = [separator](std::initializer_list<std::string> cells) {
    std::string line;
    for (const std::string& text : cells) line += (line.empty() ? "" : std::string(1, separator)) + text;
    return line + '\n';
  };
  std::string out = joined({"name", "chain", "instruction", "inside_delegate", "calls", "avg_us", "min_us",
                            "p10_us", "p50_us", "p90_us", "max_us", "share"});
  const auto number = [](double value) { return fmt::format("{:.6g}", value); };
  for (const EventRow& row : profile.rows)
    out += joined(
        {cell(row.name, separator), std::to_string(row.chain_index), std::to_string(row.instruction_index),
         row.is_inside_delegate ? "true" : "false", number(row.calls), number(row.average_us()),
         number(percentile(row.us, 0)), number(percentile(row.us, 0.1)), number(percentile(row.us, 0.5)),
         number(percentile(row.us, 0.9)), number(percentile(row.us, 1)), number(share_of(row, profile))});
  return out;
}

// "12", or "1:12" for an instruction that is not of the first chain.
std::string place_of(const EventRow& row) {
  if (row.chain_index < 0) return "";
  return (row.chain_index == 0 ? "" : std::to_string(row.chain_index) + ":") +
         std::to_string(row.instruction_index);
}

void print_text(const Profile& profile, size_t total_rows, std::ostream& out) {
  using bench::format_us;
  out << fmt::format("{}, {} on average\n", count_of(profile.run_count, "run"), format_us(profile.run_us));
  bench::Table table(
      {"INSTRUCTION", "<OPERATOR OR EVENT", "SHARE", "AVG", "P50", "P90", "MIN", "MAX", "CALLS"});
  for (const EventRow& row : profile.rows)
    table.add({row.is_inside_delegate ? "" : place_of(row),
               (row.is_inside_delegate ? "  " : "") + format::made_printable(row.name),
               bench::format_percent(share_of(row, profile)), format_us(row.average_us()),
               format_us(percentile(row.us, 0.5)), format_us(percentile(row.us, 0.9)),
               format_us(percentile(row.us, 0)), format_us(percentile(row.us, 1)),
               fmt::format("{:g}", row.calls)});
  out << table.to_text();
  if (total_rows > profile.rows.size())
    out << fmt::format("{} more; --top 0 prints all\n", count_of(total_rows - profile.rows.size(), "row"));
}

Result<std::vector<format::EtdumpBlock>> read_file(const Options& options) {
  ETB_TRY(expect_kind(options.file, {FileKind::kEtdump}, "a record of runs (.etdp)"));
  ETB_ASSIGN(const std::string bytes, format::read_file_text(options.file, kMaxNbytes));
  auto blocks = format::read_etdump(std::as_bytes(std::span(bytes)));
  if (!blocks) return tl::make_unexpected(with_context(std::move(blocks).error(), "'" + options.file + "'"));
  return blocks;
}

Error no_block(const Options& options, std::span<const format::EtdumpBlock> blocks) {
  std::string found;
  for (const format::EtdumpBlock& block : blocks)
    if (found.find("'" + block.name + "'") == std::string::npos)
      found += (found.empty() ? "'" : ", '") + format::made_printable(block.name) + "'";
  return Error{Code::NOT_FOUND,
               fmt::format("no block is called '{}' after the {} skipped ones; the file has {}",
                           options.block, options.skip, found.empty() ? "none" : found),
               {},
               0};
}

Status write_page(const Options& options, std::span<const format::EtdumpBlock> blocks, Session& session) {
  const pages::Facts facts = page_facts(with_input_named(options.file, session), session);
  const pages::RunProfile profile = inspect::run_profile(blocks, options.block, options.skip);
  return write_output(options.html, pages::make_page(pages::run_document(profile, blocks, facts)), session);
}

Result<ExitCode> run(Options options, Session& session) {
  if (int{options.json} + int{options.csv} + int{options.tsv} > 1)
    return make_error(Code::INVALID_ARGUMENT, "--json, --csv and --tsv exclude each other");
  const bool has_rows = options.json || options.csv || options.tsv;
  ETB_ASSIGN(const bool is_trace_out,
             uses_standard_output({{"--perfetto", options.perfetto},
                                   {"--html", options.html},
                                   {"--json, --csv or --tsv", has_rows ? kStandardFile : ""}},
                                  session));
  ETB_ASSIGN(options.file, input_path(options.file, session));
  ETB_ASSIGN(const std::vector<format::EtdumpBlock> blocks, read_file(options));
  if (!options.perfetto.empty())
    ETB_TRY(write_output(options.perfetto, inspect::to_perfetto(blocks), session));
  Profile profile = inspect::add_up(blocks, grouping_of(options), options.block, options.skip);
  if (profile.run_count == 0) return tl::make_unexpected(no_block(options, blocks));
  if (!options.html.empty()) ETB_TRY(write_page(options, blocks, session));
  const size_t total_rows = profile.rows.size();
  if (options.by != "event" || options.top != 0) keep_longest(profile.rows, options.top);
  if (options.json)
    print_json(to_json(profile, with_input_named(options.file, session)), session.out);
  else if (has_rows)
    session.out << to_lines(profile, options.csv ? ',' : '\t');
  else
    print_text(profile, total_rows, is_trace_out ? session.err : session.out);
  return ExitCode::OK;
}

}  // namespace

void register_inspect(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("inspect", "Print where the time of recorded runs went (an ETDump, .etdp)");
  command
      ->add_option("FILE,--etdump_path", options->file,
                   "Record of `etbackend run --profile`, or of ExecuTorch")
      ->required();
  command
      ->add_option("--by", options->by, "Rows: each instruction, operators by name, or every recorded event")
      ->check(one_of({"instruction", "op", "event"}))
      ->capture_default_str();
  command->add_option("--top", options->top, "Number of the longest rows to print; 0: all")
      ->check(whole_number(0, UINT32_MAX))
      ->type_name("N");
  command->add_option("--skip", options->skip, "Leave out this many first runs, which warm up")
      ->check(whole_number(0, UINT32_MAX))
      ->type_name("N");
  command
      ->add_option("--block", options->block, "Blocks to add up: Execute has the runs, Default the loading")
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--perfetto", options->perfetto,
                   "Write a trace for Perfetto and Chrome's trace viewer (JSON)")
      ->type_name("FILE");
  command
      ->add_option("--html", options->html,
                   "Write a page with the timeline, the time by module, operators and hot lines")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--csv", options->csv, "Print comma-separated values");
  command->add_flag("--tsv", options->tsv, "Print tab-separated values");
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
