// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/format/printable_text.hpp"
#include "tools/bench/report.hpp"
#include "tools/bench/table.hpp"

namespace etb::bench {
namespace {

// Text and Markdown have the same parts.
class Writer {
 public:
  Writer(const Options& options, const Results& results, bool is_markdown)
      : options_(options), results_(results), is_markdown_(is_markdown) {}

  std::string write() {
    add_header();
    add_times();
    add_counts();
    add_starts();
    add_ratios();
    add_profiles();
    add_messages();
    return std::move(out_);
  }

 private:
  // Adds "KEY  VALUE".
  void add_fact(const std::string& key, const std::string& value) {
    const std::string shown = format::made_printable(value);
    out_ += is_markdown_ ? fmt::format("- {}: {}\n", key, shown) : fmt::format("{:<8}  {}\n", key, shown);
  }

  void add_table(const std::string& title, const Table& table) {
    if (table.is_empty()) return;
    out_ += is_markdown_ ? fmt::format("\n### {}\n\n{}", title, table.to_markdown())
                         : fmt::format("\n{}\n{}", title, table.to_text());
  }

  void add_header();
  void add_times();
  void add_counts();
  void add_starts();
  void add_ratios();
  void add_profiles();
  void add_messages();

  const Options& options_;
  const Results& results_;
  bool is_markdown_;
  std::string out_;
};

std::string version_list(const Results& results) {
  std::map<std::string, std::string> versions;
  for (const VariantResult& result : results.variants)
    for (const DelegateUse& use : result.delegates) versions[use.plugin] = use.version;
  std::string out;
  for (const auto& [plugin, version] : versions)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", plugin, version);
  return out;
}

void Writer::add_header() {
  const Machine& machine = results_.machine;
  if (is_markdown_) out_ += "## Benchmark\n\n";
  add_fact("version", results_.version);
  add_fact("date", results_.date);
  add_fact("machine",
           fmt::format("{}, {}, {} of {} processors, {} of memory, {}{}", machine.name, machine.cpu,
                       machine.processors, machine.cores_of_machine, format_bytes(machine.memory_nbytes),
                       machine.system, machine.governor.empty() ? "" : ", governor " + machine.governor));
  add_fact("load", fmt::format("{:.2f} before; others used {:.2f} processors during {:.1f} s of samples",
                               machine.load, results_.other_processors, results_.seconds));
  add_fact("command", results_.command_line);
  if (const std::string versions = version_list(results_); !versions.empty()) add_fact("plugins", versions);
  for (const std::string& text : options_.context) add_fact("context", text);
}

void Writer::add_times() {
  std::vector<std::string> columns = {"<VARIANT", "RUNS", "MEDIAN", "MEAN", "SD", "MIN"};
  for (const double percent : options_.percents)
    if (percent != 50) columns.push_back(fmt::format("P{:g}", percent));  // the median is there
  for (const char* column : {"MAX", "CPU", "RUNS/S"}) columns.emplace_back(column);
  if (options_.items) columns.emplace_back("ITEMS/S");
  Table table(columns);
  for (const VariantResult& result : results_.variants) {
    const Summary& summary = result.summary;
    if (summary.count == 0) {
      table.add({result.label, "0", result.error ? "error" : "-"});
      continue;
    }
    std::vector<std::string> cells = {result.label,
                                      std::to_string(summary.count),
                                      format_us(summary.median),
                                      format_us(summary.mean),
                                      format_percent(summary.variation),
                                      format_us(summary.min)};
    for (size_t i = 0; i < options_.percents.size(); ++i)
      if (options_.percents[i] != 50) cells.push_back(format_us(summary.percentiles[i]));
    for (const std::string& cell :
         {format_us(summary.max), format_us(result.cpu_us), format_rate(result.runs_per_second)})
      cells.push_back(cell);
    if (options_.items) cells.push_back(format_rate(result.runs_per_second * *options_.items));
    table.add(std::move(cells));
  }
  add_table("Times of a run", table);
}

void Writer::add_counts() {
  std::vector<std::string> columns = {"<VARIANT"};
  columns.insert(columns.end(), options_.counters.begin(), options_.counters.end());
  Table table(columns);
  bool is_user_only = false;
  for (const VariantResult& result : results_.variants) {
    if (options_.counters.empty() || result.summary.count == 0) continue;
    std::vector<std::string> cells = {result.label};
    for (const double count : result.counts) cells.push_back(format_rate(count));
    table.add(std::move(cells));
    is_user_only = is_user_only || result.counts_user_only;
  }
  add_table(is_user_only ? "Counters of a run (user code alone)" : "Counters of a run", table);
}

void Writer::add_starts() {
  Table table({"<VARIANT", "COMPILE", "LOAD", "INIT", "FIRST RUN", "PEAK MEMORY", "PROGRAM", "<DELEGATES"});
  for (const VariantResult& result : results_.variants) {
    if (result.starts.empty()) continue;
    const Start start = result.median_start();
    std::string delegates;
    for (const DelegateUse& use : result.delegates)
      delegates += fmt::format("{}{} x {}", delegates.empty() ? "" : ", ", use.count, use.plugin);
    table.add({result.label, result.compile_us ? format_us(*result.compile_us) : "-",
               format_us(start.load_us), format_us(start.init_us), format_us(start.first_us),
               format_bytes(result.memory_nbytes), format_bytes(result.file_nbytes),
               delegates.empty() ? "none" : delegates});
  }
  add_table("Start of a process (medians)", table);
}

void Writer::add_ratios() {
  Table table({"<VARIANT", "<AGAINST", "TIME RATIO", "95 % INTERVAL", "SPEED", "PAIRS", "<VERDICT"});
  for (size_t i = 0; i < results_.variants.size(); ++i) {
    const VariantResult& result = results_.variants[i];
    if (!result.ratio) continue;
    const PairedRatio& ratio = *result.ratio;
    table.add({result.label, results_.variants[*results_.list.baselines[i]].label,
               fmt::format("{:.4f}", ratio.ratio), fmt::format("{:.4f} - {:.4f}", ratio.low, ratio.high),
               fmt::format("{:.2f}x", 1 / ratio.ratio), std::to_string(ratio.pair_count),
               to_text(ratio.verdict)});
  }
  add_table("Comparison", table);
}

// Adds the longest rows, and the sum of the others before the runtime's row.
void Writer::add_profiles() {
  for (const VariantResult& result : results_.variants) {
    if (result.profile.empty()) continue;
    Table table({"<OPERATOR OR DELEGATE", "SHARE", "TIME", "CALLS"});
    const auto add = [&table](const ProfileRow& row, const char* indent) {
      table.add(
          {indent + row.name, format_percent(row.share), format_us(row.us), fmt::format("{:g}", row.calls)});
    };
    uint32_t count = 0, event_count = 0;
    ProfileRow others{"(others)", "", 0, 0, 0};
    for (const ProfileRow& row : result.profile) {
      if (row.kind == "runtime") {
        if (others.us > 0) add(others, "");
        add(row, "");
      } else if (row.kind == "event") {
        // Clocks of some plugins count whole microseconds, so that short events have no time.
        if (count <= options_.profile_rows && row.us > 0 && event_count++ < options_.profile_rows)
          add(row, "  ");
      } else if (count++ < options_.profile_rows) {
        event_count = 0;
        add(row, "");
      } else {
        others.share += row.share, others.us += row.us, others.calls += row.calls;
      }
    }
    add_table("Profile of a run: " + format::made_printable(result.label), table);
  }
}

void Writer::add_messages() {
  std::vector<std::string> lines;
  for (const VariantResult& result : results_.variants) {
    if (result.error) lines.push_back(fmt::format("error: '{}': {}", result.label, result.error->message));
    for (const std::string& note : result.notes)
      lines.push_back(fmt::format("note: '{}': {}", result.label, note));
  }
  for (const std::string& warning : results_.warnings) lines.push_back("warning: " + warning);
  if (!lines.empty()) out_ += '\n';
  for (const std::string& line : lines) {
    // The message of a plugin or file may have several lines: later ones are indented.
    std::string start = is_markdown_ ? "- " : "";
    for (size_t begin = 0; begin <= line.size();) {
      const size_t end = std::min(line.find('\n', begin), line.size());
      out_ += start + format::made_printable(line.substr(begin, end - begin)) + '\n';
      start = "  ";
      begin = end + 1;
    }
  }
}

}  // namespace

std::string to_text(const Options& options, const Results& results) {
  return Writer(options, results, false).write();
}

std::string to_markdown(const Options& options, const Results& results) {
  return Writer(options, results, true).write();
}

}  // namespace etb::bench
