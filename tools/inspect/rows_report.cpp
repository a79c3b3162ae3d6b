// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/rows_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/format/printable_text.hpp"
#include "partitioner_sdk/inspector/times.hpp"
#include "tools/bench/table.hpp"
#include "tools/inspect/event_blocks_json.hpp"
#include "tools/quantity.hpp"

namespace etb::tools {
namespace {

using Json = nlohmann::ordered_json;
using inspector::ComparedRow;
using inspector::EventRow;
using inspector::quantile;
using inspector::SourceRow;

double share_of(double us, double run_us) { return run_us == 0 ? 0 : us / run_us; }

// A cell of CSV is quoted where it must be (RFC 4180); TSV has no quotes, so control characters are escaped before.
std::string cell(const std::string& text, char separator) {
  const std::string shown = format::made_printable(text, SIZE_MAX);
  if (separator != ',' || shown.find_first_of(",\"") == std::string::npos) return shown;
  std::string out = "\"";
  for (const char c : shown) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

std::string number(double value) { return fmt::format("{:.6g}", value); }

std::string line_of_cells(const std::vector<std::string>& cells, char separator) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i)
    line += (i == 0 ? "" : std::string(1, separator)) + cell(cells[i], separator);
  return line + '\n';
}

const std::vector<std::string> kTimeColumns = {"avg_us", "min_us", "p10_us", "p50_us",
                                               "p90_us", "max_us", "share"};

std::vector<double> time_values(const std::vector<double>& us, double run_us) {
  return {inspector::mean(us),
          quantile(us, 0),
          quantile(us, 0.1),
          quantile(us, 0.5),
          quantile(us, 0.9),
          quantile(us, 1),
          share_of(inspector::mean(us), run_us)};
}

void add_times(Json& to, const std::vector<double>& us, double run_us) {
  const std::vector<double> values = time_values(us, run_us);
  for (size_t i = 0; i < values.size(); ++i) to[kTimeColumns[i]] = values[i];
}

// "model.py:12, model.py:15": the lines of an event's nodes, each once.
std::string lines_of(const inspector::Origin& origin) {
  std::vector<std::string> lines;
  for (const record::RecordedNode* node : origin.nodes)
    if (const std::string line = inspector::line_of(*node);
        !line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(line);
  if (lines.size() > 3) return fmt::format("{}, {} and {} more", lines[0], lines[1], lines.size() - 2);
  return fmt::format("{}", fmt::join(lines, ", "));
}

std::string module_of(const inspector::Origin& origin) {
  if (origin.nodes.empty() || origin.nodes.front()->modules.empty()) return "";
  return origin.nodes.front()->modules.back().path;
}

// "12", or "1:12" for an instruction that is not of the first chain.
std::string place_of(const EventRow& row) {
  if (row.chain_index < 0) return "";
  return (row.chain_index == 0 ? "" : std::to_string(row.chain_index) + ":") +
         std::to_string(row.instruction_index);
}

std::string time_text(double us, const RowsStyle& style) {
  return style.has_cycles ? fmt::format("{:.0f} cycles", us * 1000) : bench::format_us(us);
}

void print_rest(size_t total_rows, size_t printed, std::ostream& out) {
  if (total_rows > printed)
    out << fmt::format("{} more; --top 0 prints all\n", count_of(total_rows - printed, "row"));
}

std::string joined(const std::vector<std::string>& items) {
  if (items.size() > 3) return fmt::format("{}, {} and {} more", items[0], items[1], items.size() - 2);
  return fmt::format("{}", fmt::join(items, ", "));
}

}  // namespace

Json rows_json(const inspector::Profile& profile) {
  Json rows = Json::array();
  for (const EventRow& row : profile.rows) {
    Json made = {{"name", row.name},
                 {"chain", row.chain_index},
                 {"instruction", row.instruction_index},
                 {"inside_delegate", row.is_inside_delegate},
                 {"calls", row.calls}};
    add_times(made, row.us, profile.run_us);
    if (!row.origin.backend_id.empty()) made["backend"] = row.origin.backend_id;
    if (!row.origin.debug_handles.empty()) made["debug_handles"] = row.origin.debug_handles;
    for (const record::RecordedNode* node : row.origin.nodes) made["nodes"].push_back(node_json(*node));
    rows.push_back(std::move(made));
  }
  return rows;
}

Json rows_json(const inspector::SourceProfile& profile) {
  Json rows = Json::array();
  for (const SourceRow& row : profile.rows) {
    Json made = {{"name", row.name}, {"detail", row.detail}, {"calls", row.calls}};
    add_times(made, row.us, profile.run_us);
    made["own_avg_us"] = inspector::mean(row.own_us);
    made["shared_avg_us"] = row.shared_us;
    made["ops"] = row.ops;
    made["backends"] = row.backends;
    if (row.line != 0) made["file"] = row.file;
    if (row.line != 0) made["line"] = row.line;
    rows.push_back(std::move(made));
  }
  return rows;
}

Json rows_json(std::span<const inspector::AllocatorRow> rows) {
  Json out = Json::array();
  for (const inspector::AllocatorRow& row : rows)
    out.push_back({{"block", row.block},
                   {"name", row.name},
                   {"blocks", row.block_count},
                   {"allocations", row.allocation_count},
                   {"nbytes", row.nbytes},
                   {"largest_nbytes", row.largest_nbytes}});
  return out;
}

Json rows_json(std::span<const ComparedRow> rows) {
  Json out = Json::array();
  for (const ComparedRow& row : rows)
    out.push_back({{"name", row.name},
                   {"before_p50_us", row.before_us},
                   {"p50_us", row.now_us},
                   {"ratio", row.ratio},
                   {"p_value", row.p_value},
                   {"change", to_text(row.change)}});
  return out;
}

std::string rows_lines(const inspector::Profile& profile, char separator) {
  std::vector<std::string> head = {"name", "chain", "instruction", "inside_delegate", "calls"};
  head.insert(head.end(), kTimeColumns.begin(), kTimeColumns.end());
  for (const char* name : {"backend", "source", "module"}) head.emplace_back(name);
  std::string out = line_of_cells(head, separator);
  for (const EventRow& row : profile.rows) {
    std::vector<std::string> cells = {row.name, std::to_string(row.chain_index),
                                      std::to_string(row.instruction_index),
                                      row.is_inside_delegate ? "true" : "false", number(row.calls)};
    for (const double value : time_values(row.us, profile.run_us)) cells.push_back(number(value));
    for (const std::string& text : {row.origin.backend_id, lines_of(row.origin), module_of(row.origin)})
      cells.push_back(text);
    out += line_of_cells(cells, separator);
  }
  return out;
}

std::string rows_lines(const inspector::SourceProfile& profile, char separator) {
  std::vector<std::string> head = {"name", "detail", "calls"};
  head.insert(head.end(), kTimeColumns.begin(), kTimeColumns.end());
  for (const char* name : {"own_avg_us", "shared_avg_us", "ops", "backends"}) head.emplace_back(name);
  std::string out = line_of_cells(head, separator);
  for (const SourceRow& row : profile.rows) {
    std::vector<std::string> cells = {row.name, row.detail, number(row.calls)};
    for (const double value : time_values(row.us, profile.run_us)) cells.push_back(number(value));
    cells.push_back(number(inspector::mean(row.own_us)));
    cells.push_back(number(row.shared_us));
    cells.push_back(fmt::format("{}", fmt::join(row.ops, " ")));
    cells.push_back(fmt::format("{}", fmt::join(row.backends, " ")));
    out += line_of_cells(cells, separator);
  }
  return out;
}

std::string rows_lines(std::span<const ComparedRow> rows, char separator) {
  std::string out =
      line_of_cells({"name", "before_p50_us", "p50_us", "ratio", "p_value", "change"}, separator);
  for (const ComparedRow& row : rows)
    out += line_of_cells({row.name, number(row.before_us), number(row.now_us), number(row.ratio),
                          number(row.p_value), to_text(row.change)},
                         separator);
  return out;
}

void print_rows(const inspector::Profile& profile, size_t total_rows, const RowsStyle& style,
                std::ostream& out) {
  out << fmt::format("{}, {} on average\n", count_of(profile.run_count, "run"),
                     time_text(profile.run_us, style));
  std::vector<std::string> head = {
      "INSTRUCTION", "<OPERATOR OR EVENT", "SHARE", "AVG", "P50", "P90", "MIN", "MAX", "CALLS"};
  if (style.has_record) head.insert(head.end(), {"<SOURCE", "<MODULE"});
  bench::Table table(head);
  for (const EventRow& row : profile.rows) {
    const auto time = [&](double fraction) { return time_text(quantile(row.us, fraction), style); };
    const bool is_call = !row.is_inside_delegate && !row.origin.backend_id.empty();
    std::vector<std::string> cells = {
        row.is_inside_delegate ? "" : place_of(row),
        (row.is_inside_delegate ? "  " : "") + format::made_printable(row.name) +
            (is_call ? " " + format::made_printable(row.origin.backend_id) : ""),
        bench::format_percent(share_of(row.average_us(), profile.run_us)),
        time_text(row.average_us(), style),
        time(0.5),
        time(0.9),
        time(0),
        time(1),
        fmt::format("{:g}", row.calls)};
    if (style.has_record) {
      cells.push_back(format::made_printable(lines_of(row.origin)));
      cells.push_back(is_call ? "" : format::made_printable(module_of(row.origin)));
    }
    table.add(std::move(cells));
  }
  out << table.to_text();
  print_rest(total_rows, profile.rows.size(), out);
}

void print_rows(const inspector::SourceProfile& profile, size_t total_rows, const RowsStyle& style,
                std::ostream& out) {
  out << fmt::format("{}, {} on average\n", count_of(profile.run_count, "run"),
                     time_text(profile.run_us, style));
  const bool has_own = style.by == "module" || style.by == "delegate";
  std::vector<std::string> head = {style.by == "line"     ? "<LINE"
                                   : style.by == "module" ? "<MODULE"
                                   : style.by == "node"   ? "<NODE"
                                                          : "<DELEGATE",
                                   "SHARE", "AVG"};
  head.emplace_back(has_own ? "OWN" : "SHARED");
  head.insert(head.end(), {"P50", "P90", "CALLS", "<OPS", "<ON"});
  bench::Table table(head);
  for (const SourceRow& row : profile.rows) {
    const std::string detail = row.detail.empty() ? "" : " (" + format::made_printable(row.detail) + ")";
    table.add({format::made_printable(row.name) + detail,
               bench::format_percent(share_of(row.average_us(), profile.run_us)),
               time_text(row.average_us(), style),
               has_own              ? time_text(inspector::mean(row.own_us), style)
               : row.shared_us == 0 ? ""
                                    : time_text(row.shared_us, style),
               time_text(quantile(row.us, 0.5), style), time_text(quantile(row.us, 0.9), style),
               fmt::format("{:g}", row.calls), format::made_printable(joined(row.ops)),
               format::made_printable(joined(row.backends))});
  }
  out << table.to_text();
  print_rest(total_rows, profile.rows.size(), out);
}

void print_rows(std::span<const inspector::AllocatorRow> rows, std::ostream& out) {
  bench::Table table({"<BLOCK", "<ALLOCATOR", "ALLOCATIONS", "BYTES", "LARGEST"});
  for (const inspector::AllocatorRow& row : rows)
    if (row.allocation_count != 0)
      table.add({format::made_printable(row.block), format::made_printable(row.name),
                 std::to_string(row.allocation_count), bench::format_bytes(row.nbytes),
                 bench::format_bytes(row.largest_nbytes)});
  if (!table.is_empty()) out << '\n' << table.to_text();
}

void print_rows(std::span<const ComparedRow> rows, size_t total_rows, const RowsStyle& style,
                std::ostream& out) {
  bench::Table table({"<ROW", "BEFORE", "NOW", "RATIO", "P", "<CHANGE"});
  for (const ComparedRow& row : rows)
    table.add({format::made_printable(row.name), row.before_us == 0 ? "" : time_text(row.before_us, style),
               row.now_us == 0 ? "" : time_text(row.now_us, style),
               row.ratio == 0 ? "" : fmt::format("{:.3f}", row.ratio), fmt::format("{:.2g}", row.p_value),
               to_text(row.change)});
  out << table.to_text();
  print_rest(total_rows, rows.size(), out);
}

}  // namespace etb::tools
