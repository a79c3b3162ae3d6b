// SPDX-License-Identifier: Apache-2.0
// `etbackend inspect RUN.etdp`: prints where the time of recorded runs went, and which part of the model it is.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "api/format/etdump_program.hpp"
#include "api/format/input_file.hpp"
#include "api/format/printable_text.hpp"
#include "partitioner_sdk/inspector/event_blocks.hpp"
#include "tools/command.hpp"
#include "tools/command_facts.hpp"
#include "tools/inspect/event_blocks_json.hpp"
#include "tools/inspect/inspection.hpp"
#include "tools/inspect/output_distances.hpp"
#include "tools/inspect/rows_report.hpp"
#include "tools/inspect/run_profile.hpp"
#include "tools/option_values.hpp"
#include "tools/page_facts.hpp"
#include "tools/pages/page.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string file;
  std::string record;
  std::string by = "instruction";
  std::string block = "Execute";
  std::string against;         // another profile
  std::string perfetto, html;  // files
  std::string tsv_path;        // file
  std::string total_for;       // module
  std::string debug_buffer;    // file
  std::string source_scale = "ns", target_scale = "ms";
  uint32_t top = 0;
  uint32_t skip = 0;
  bool json = false, csv = false, tsv = false;
  bool compares_outputs = false;

  bool has_rows() const { return json || csv || tsv; }
  RowsStyle style() const { return {by, !record.empty(), source_scale == "cycles"}; }
};

constexpr uint64_t kMaxBufferNbytes = uint64_t{16} << 30;

const std::vector<std::string> kEventGroupings = {"instruction", "op", "event"};
const std::vector<std::string> kSourceGroupings = {"node", "module", "line", "delegate"};

bool is_by_source(const Options& options) {
  return std::find(kSourceGroupings.begin(), kSourceGroupings.end(), options.by) != kSourceGroupings.end();
}

inspector::Grouping event_grouping(const Options& options) {
  return options.by == "op"      ? inspector::Grouping::kOperator
         : options.by == "event" ? inspector::Grouping::kEvent
                                 : inspector::Grouping::kInstruction;
}

inspector::SourceGrouping source_grouping(const Options& options) {
  return options.by == "node"     ? inspector::SourceGrouping::kNode
         : options.by == "module" ? inspector::SourceGrouping::kModule
         : options.by == "line"   ? inspector::SourceGrouping::kLine
                                  : inspector::SourceGrouping::kDelegate;
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

Status check(const Options& options) {
  if (int{options.json} + int{options.csv} + int{options.tsv} > 1)
    return make_error(Code::INVALID_ARGUMENT, "--json, --csv and --tsv exclude each other");
  if (is_by_source(options) && options.by != "delegate" && options.record.empty())
    return make_error(
        Code::INVALID_ARGUMENT,
        "--by " + options.by +
            " needs the record of the compilation\nhint: --etrecord FILE, which `etbackend compile "
            "--etrecord FILE` writes");
  if (!options.total_for.empty() && options.record.empty())
    return make_error(Code::INVALID_ARGUMENT, "--total-for needs --etrecord FILE");
  if ((options.source_scale == "cycles") != (options.target_scale == "cycles"))
    return make_error(
        Code::INVALID_ARGUMENT,
        "cycles have no length in seconds: --source_time_scale and --target_time_scale must both "
        "be cycles, or neither");
  return {};
}

Json program_json(const Inspection& inspection) {
  const auto program = format::find_program(inspection.blocks);
  if (!program) return nullptr;
  return {{"name", program->name}, {"sha256", program->sha256}};
}

// Rows of one kind from a profile, for a comparison.
template <class Rows>
std::vector<inspector::TimedRow> timed_rows(const Rows& rows);
template <>
std::vector<inspector::TimedRow> timed_rows(const std::vector<inspector::EventRow>& rows) {
  std::vector<inspector::TimedRow> out;
  for (const inspector::EventRow& row : rows)
    out.push_back(
        {fmt::format("{}/{}/{}/{}", row.chain_index, row.instruction_index, row.is_inside_delegate, row.name),
         row.instruction_index < 0 ? row.name : fmt::format("{} {}", row.instruction_index, row.name),
         row.us});
  return out;
}
template <>
std::vector<inspector::TimedRow> timed_rows(const std::vector<inspector::SourceRow>& rows) {
  std::vector<inspector::TimedRow> out;
  for (const inspector::SourceRow& row : rows)
    out.push_back({row.line != 0 ? row.file + ":" + std::to_string(row.line) : row.name, row.name, row.us});
  return out;
}

class Report {
 public:
  Report(const Options& options, const Inspection& inspection, std::span<const format::EtdumpBlock> blocks,
         Session& session, std::ostream& text)
      : options_(options), inspection_(inspection), blocks_(blocks), session_(session), text_(text) {}

  Result<ExitCode> run(const Inspection* against) {
    if (is_by_source(options_)) {
      ETB_ASSIGN(auto profile, sources(inspection_, blocks_));
      return against != nullptr ? compare(timed_rows(profile.rows), *against) : print(std::move(profile));
    }
    ETB_ASSIGN(auto profile, events(inspection_, blocks_));
    if (against == nullptr) return print(std::move(profile));
    inspector::keep_longest(profile.rows, 0);
    return compare(timed_rows(profile.rows), *against);
  }

 private:
  Result<inspector::Profile> events(const Inspection& of, std::span<const format::EtdumpBlock> blocks) const {
    ETB_ASSIGN(auto profile, inspector::add_up(blocks, event_grouping(options_), options_.block,
                                               options_.skip, of.index()));
    if (profile.run_count == 0) return tl::make_unexpected(no_block(options_, blocks));
    return profile;
  }
  Result<inspector::SourceProfile> sources(const Inspection& of,
                                           std::span<const format::EtdumpBlock> blocks) const {
    ETB_ASSIGN(auto profile, inspector::add_up_sources(blocks, source_grouping(options_), options_.block,
                                                       options_.skip, of.index()));
    if (profile.run_count == 0) return tl::make_unexpected(no_block(options_, blocks));
    return profile;
  }

  Result<ExitCode> print(inspector::Profile profile) {
    const size_t total = profile.rows.size();
    if (options_.by != "event" || options_.top != 0) inspector::keep_longest(profile.rows, options_.top);
    return print_profile(profile, total);
  }
  Result<ExitCode> print(inspector::SourceProfile profile) {
    const size_t total = profile.rows.size();
    if (options_.top != 0 && total > options_.top) profile.rows.resize(options_.top);
    return print_profile(profile, total);
  }

  template <class Profile>
  Result<ExitCode> print_profile(const Profile& profile, size_t total) {
    const auto allocators = inspector::add_up_allocations(blocks_);
    if (options_.json) {
      Json report = head(profile);
      report["rows"] = rows_json(profile);
      report["allocators"] = rows_json(allocators);
      if (options_.by == "event") ETB_TRY(add_event_blocks(report));
      print_json(report, session_.out);
    } else if (options_.has_rows()) {
      session_.out << rows_lines(profile, options_.csv ? ',' : '\t');
    } else {
      print_rows(profile, total, options_.style(), text_);
      print_rows(allocators, text_);
    }
    return ExitCode::OK;
  }

  template <class Profile>
  Json head(const Profile& profile) const {
    Json report = {{"file", inspection_.file}, {"by", options_.by}};
    if (!options_.record.empty()) report["etrecord"] = options_.record;
    report["program"] = program_json(inspection_);
    report["runs"] = profile.run_count;
    report["run_avg_us"] = profile.run_us;
    return report;
  }

  Status add_event_blocks(Json& report) const {
    const inspector::InspectOptions options{inspection_.source, inspection_.target, options_.skip};
    ETB_ASSIGN(const auto blocks,
               inspector::inspect_blocks(inspection_.blocks, inspection_.index(), options));
    report["event_blocks"] = event_blocks_json(blocks, options);
    return {};
  }

  Result<ExitCode> compare(const std::vector<inspector::TimedRow>& now, const Inspection& against) {
    const std::vector<format::EtdumpBlock> blocks = against.blocks_in_ns();
    std::vector<inspector::TimedRow> before;
    if (is_by_source(options_)) {
      ETB_ASSIGN(const auto profile, sources(against, blocks));
      before = timed_rows(profile.rows);
    } else {
      ETB_ASSIGN(const auto profile, events(against, blocks));
      before = timed_rows(profile.rows);
    }
    std::vector<inspector::ComparedRow> rows = inspector::compare_rows(before, now);
    const size_t total = rows.size();
    if (options_.top != 0 && total > options_.top) rows.resize(options_.top);
    if (options_.json)
      print_json({{"file", inspection_.file},
                  {"against", against.file},
                  {"by", options_.by},
                  {"rows", rows_json(rows)}},
                 session_.out);
    else if (options_.has_rows())
      session_.out << rows_lines(rows, options_.csv ? ',' : '\t');
    else
      print_rows(rows, total, options_.style(), text_);
    return ExitCode::OK;
  }

  const Options& options_;
  const Inspection& inspection_;
  std::span<const format::EtdumpBlock> blocks_;
  Session& session_;
  std::ostream& text_;
};

// Files and answers besides the rows.
Status write_others(const Options& options, const Inspection& inspection,
                    std::span<const format::EtdumpBlock> blocks, Session& session) {
  if (!options.perfetto.empty()) {
    ETB_ASSIGN(const std::string trace, inspector::to_perfetto(blocks, inspection.index()));
    ETB_TRY(write_output(options.perfetto, trace, session));
  }
  if (!options.html.empty()) {
    ETB_ASSIGN(const auto profile, run_profile(inspection, blocks, options.block, options.skip));
    if (profile.run_count == 0) return tl::make_unexpected(no_block(options, blocks));
    const pages::Json document = pages::run_document(profile, blocks, page_facts(inspection.file, session));
    ETB_TRY(write_output(options.html, pages::make_page(document), session));
  }
  if (options.tsv_path.empty()) return {};
  ETB_ASSIGN(const auto events,
             inspector::inspect_blocks(inspection.blocks, inspection.index(),
                                       {inspection.source, inspection.target, options.skip}));
  return write_output(options.tsv_path, event_blocks_tsv(events, inspection.target), session);
}

Result<ExitCode> print_total(const Options& options, const Inspection& inspection, Session& session) {
  ETB_ASSIGN(const auto events,
             inspector::inspect_blocks(inspection.blocks, inspection.index(),
                                       {inspection.source, inspection.target, options.skip}));
  const double total = inspector::find_total_for_module(events, options.total_for);
  if (options.json)
    print_json({{"module", options.total_for}, {"total", total}, {"unit", to_text(inspection.target)}},
               session.out);
  else
    session.out << fmt::format("{}: {} {} in the average run\n", format::made_printable(options.total_for),
                               total, to_text(inspection.target));
  return ExitCode::OK;
}

// Prints how far the recorded outputs are from the reference outputs of the record.
Result<ExitCode> print_distances(const Options& options, const Inspection& inspection, Session& session) {
  std::string buffer;
  if (!options.debug_buffer.empty()) {
    ETB_ASSIGN(buffer, format::read_file_text(options.debug_buffer, kMaxBufferNbytes));
  }
  ETB_ASSIGN(const auto blocks,
             inspector::inspect_blocks(inspection.blocks, inspection.index(),
                                       {inspection.source, inspection.target, options.skip}));
  ETB_ASSIGN(const auto rows, compare_outputs(inspection, blocks, std::as_bytes(std::span(buffer))));
  Json json = Json::array();
  for (const OutputDistance& row : rows)
    if (options.json)
      json.push_back({{"method", row.method},
                      {"test_case", row.test_case},
                      {"output", row.output},
                      {"snr_db", std::isfinite(row.snr_db) ? Json(row.snr_db) : Json(nullptr)},
                      {"mse", row.mse},
                      {"cosine_similarity", row.cosine},
                      {"max_abs", row.max_abs}});
    else
      session.out << fmt::format(
          "{}, test case {}, output {}: SNR {:.4g} dB, MSE {:.4g}, cosine similarity {:.6g}, "
          "largest difference {:.4g}\n",
          format::made_printable(row.method), row.test_case, row.output, row.snr_db, row.mse, row.cosine,
          row.max_abs);
  if (options.json) print_json({{"file", inspection.file}, {"outputs", std::move(json)}}, session.out);
  return ExitCode::OK;
}

Result<Inspection> open(const Options& options, const std::string& file, const Session& session) {
  ETB_ASSIGN(Inspection inspection, open_inspection(file, options.record, with_input_named(file, session)));
  inspection.source = *inspector::find_time_scale(options.source_scale);
  inspection.target = *inspector::find_time_scale(options.target_scale);
  return inspection;
}

Result<ExitCode> run(Options options, Session& session) {
  ETB_TRY(check(options));
  ETB_ASSIGN(const bool is_file_out,
             uses_standard_output({{"--perfetto", options.perfetto},
                                   {"--html", options.html},
                                   {"--tsv_path", options.tsv_path},
                                   {"--json, --csv or --tsv", options.has_rows() ? kStandardFile : ""}},
                                  session));
  ETB_ASSIGN(options.file, input_path(options.file, session));
  ETB_ASSIGN(const Inspection inspection, open(options, options.file, session));
  const std::vector<format::EtdumpBlock> blocks = inspection.blocks_in_ns();
  ETB_TRY(write_others(options, inspection, blocks, session));
  if (!options.total_for.empty()) return print_total(options, inspection, session);
  if (options.compares_outputs) return print_distances(options, inspection, session);
  std::ostream& text = is_file_out && !options.has_rows() ? session.err : session.out;
  Report report(options, inspection, blocks, session, text);
  if (options.against.empty()) return report.run(nullptr);
  ETB_ASSIGN(const Inspection against, open(options, options.against, session));
  return report.run(&against);
}

void add_inputs(CLI::App& command, Options& options) {
  command
      .add_option("FILE,--etdump_path", options.file, "Record of `etbackend run --profile`, or of ExecuTorch")
      ->required();
  command.add_option(
      "--etrecord,--etrecord_path", options.record,
      "Record of the compilation of the same program, which relates events to the model's source");
  command.add_option("--against", options.against,
                     "Compare with this earlier profile, row by row, with a test of significance");
  command.add_option("--debug_buffer_path", options.debug_buffer,
                     "File with the elements of the tensors that the profile names");
  command.add_option("--block", options.block, "Blocks to add up: Execute has the runs, Default the loading")
      ->capture_default_str();
  for (const auto& [name, value, text] :
       {std::tuple("--source_time_scale", &options.source_scale, "Unit of the times in the file"),
        {"--target_time_scale", &options.target_scale, "Unit of --tsv_path and of the events in --json"}})
    command.add_option(name, *value, text)
        ->check(one_of({"ns", "us", "ms", "s", "cycles"}))
        ->capture_default_str();
}

void add_outputs(CLI::App& command, Options& options) {
  std::vector<std::string> groupings = kEventGroupings;
  groupings.insert(groupings.end(), kSourceGroupings.begin(), kSourceGroupings.end());
  command
      .add_option(
          "--by", options.by,
          "Rows: each instruction, operators by name, every recorded event; with --etrecord nodes, modules "
          "or lines of the model; or calls of delegates")
      ->check(one_of(groupings))
      ->capture_default_str();
  command.add_option("--top", options.top, "Number of the longest rows to print; 0: all")
      ->check(whole_number(0, UINT32_MAX));
  command.add_option("--skip", options.skip, "Leave out this many first runs, which warm up")
      ->check(whole_number(0, UINT32_MAX));
  command.add_option("--total-for", options.total_for,
                     "Print the average time inside of this module of the model");
  command.add_option("--perfetto", options.perfetto,
                     "Write a trace for Perfetto and Chrome's trace viewer (JSON)");
  command.add_option("--html", options.html,
                     "Write a page with the timeline, the time by module, operators and hot lines");
  command.add_option("--tsv_path", options.tsv_path,
                     "Write the table of ExecuTorch's Inspector, tab-separated");
  command.add_flag("--compare_results", options.compares_outputs,
                   "Print how far the recorded outputs are from the reference outputs of the record");
  command.add_flag("--json", options.json, "Print JSON");
  command.add_flag("--csv", options.csv, "Print comma-separated values");
  command.add_flag("--tsv", options.tsv, "Print tab-separated values");
}

}  // namespace

void register_inspect(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("inspect", "Print where the time of recorded runs went (an ETDump, .etdp)");
  add_inputs(*command, *options);
  add_outputs(*command, *options);
  name_values(*command, {{"--etrecord", "FILE"},
                         {"--against", "FILE"},
                         {"--debug_buffer_path", "FILE"},
                         {"--block", "NAME"},
                         {"--top", "N"},
                         {"--skip", "N"},
                         {"--total-for", "MODULE"},
                         {"--perfetto", "FILE"},
                         {"--html", "FILE"},
                         {"--tsv_path", "FILE"}});
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
