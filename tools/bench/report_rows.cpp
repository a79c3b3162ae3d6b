// SPDX-License-Identifier: Apache-2.0
// Reports with one row for each variant: CSV and SQL.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/bench/report.hpp"
#include "tools/bench/report_json.hpp"

namespace etb::bench {
namespace {

using Json = nlohmann::ordered_json;

// A column, with the type that it has in SQL.
struct Column {
  std::string name;
  const char* type = "TEXT";

  bool is_text() const { return std::string_view(type) == "TEXT"; }
};

struct Sheet {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // a cell that was not measured is empty
};

// Columns of `Json` objects whose name is their key.
constexpr const char* kTexts[] = {"label", "file", "backend"};
constexpr const char* kChoices[] = {"threads", "parallel"};
constexpr const char* kMoreTexts[] = {"input_shapes", "load_mode", "method", "status"};
constexpr const char* kCounts[] = {"file_bytes", "peak_memory_bytes", "samples", "runs"};
constexpr const char* kTimes[] = {"compile_us", "load_us",   "init_us", "first_us",  "mean_us", "sd_us",
                                  "min_us",     "median_us", "max_us",  "variation", "cpu_us",  "runs_per_s"};

std::vector<Column> columns_of(const Options& options) {
  std::vector<Column> out = {{"date"}, {"version"}, {"machine"}, {"cpu"}, {"processors", "INTEGER"}};
  for (const char* key : kTexts) out.push_back({key});
  for (const char* key : kChoices) out.push_back({key, "INTEGER"});
  for (const char* key : kMoreTexts) out.push_back({key});
  out.push_back({"error"});
  for (const char* key : kCounts) out.push_back({key, "INTEGER"});
  for (const char* key : kTimes) out.push_back({key, "REAL"});
  for (const double percent : options.percents) out.push_back({percent_name(percent) + "_us", "REAL"});
  if (options.items) out.push_back({"items_per_s", "REAL"});
  for (const std::string& counter : options.counters) out.push_back({counter, "REAL"});
  out.push_back({"against"});
  for (const char* key : {"ratio", "ratio_low", "ratio_high"}) out.push_back({key, "REAL"});
  out.push_back({"pairs", "INTEGER"});
  out.push_back({"verdict"});
  return out;
}

std::string number(const Json& json, const std::string& key) {
  const auto found = json.find(key);
  return found == json.end() ? "" : found->dump();
}

std::vector<std::string> row_of(const Options& options, const Results& results, size_t index) {
  const Json json = variant_json(options, results, index);
  std::vector<std::string> cells = {results.date, results.version, results.machine.name, results.machine.cpu,
                                    std::to_string(results.machine.processors)};
  for (const char* key : kTexts) cells.push_back(json[key].get<std::string>());
  for (const char* key : kChoices) cells.push_back(number(json, key));
  for (const char* key : kMoreTexts) cells.push_back(json[key].get<std::string>());
  cells.push_back(json.contains("error") ? json["error"]["message"].get<std::string>() : "");
  for (const char* key : kCounts) cells.push_back(number(json, key));
  for (const char* key : kTimes) cells.push_back(number(json, key));
  const Json percentiles = json.value("percentiles_us", Json::object());
  for (const double percent : options.percents) cells.push_back(number(percentiles, percent_name(percent)));
  if (options.items) cells.push_back(number(json, "items_per_s"));
  const Json counters = json.value("counters", Json::object());
  for (const std::string& counter : options.counters) cells.push_back(number(counters, counter));
  const Json against = json.value("against", Json::object());
  cells.push_back(against.value("label", ""));
  for (const char* key : {"ratio", "low", "high", "pairs"}) cells.push_back(number(against, key));
  cells.push_back(against.value("verdict", ""));
  return cells;
}

Sheet to_sheet(const Options& options, const Results& results) {
  Sheet sheet{columns_of(options), {}};
  for (size_t i = 0; i < results.variants.size(); ++i) sheet.rows.push_back(row_of(options, results, i));
  return sheet;
}

// Returns `text` between two `quote`s, with each `quote` inside doubled.
std::string between(char quote, const std::string& text) {
  std::string out(1, quote);
  for (const char c : text) out += c == quote ? std::string(2, quote) : std::string(1, c);
  return out + quote;
}

// Quotes a text as RFC 4180 does.
std::string csv_cell(const std::string& text) {
  return text.find_first_of(",\"\r\n") == std::string::npos ? text : between('"', text);
}

}  // namespace

std::string to_csv(const Options& options, const Results& results) {
  const Sheet sheet = to_sheet(options, results);
  std::string out;
  for (size_t i = 0; i < sheet.columns.size(); ++i)
    out += (i == 0 ? "" : ",") + csv_cell(sheet.columns[i].name);
  out += '\n';
  for (const std::vector<std::string>& row : sheet.rows) {
    for (size_t i = 0; i < row.size(); ++i) out += (i == 0 ? "" : ",") + csv_cell(row[i]);
    out += '\n';
  }
  return out;
}

std::string to_sql(const Options& options, const Results& results) {
  const Sheet sheet = to_sheet(options, results);
  std::vector<std::string> definitions, names;
  for (const Column& column : sheet.columns) {
    names.push_back(between('"', column.name));
    definitions.push_back(fmt::format("  {} {}", names.back(), column.type));
  }
  std::string out =
      fmt::format("CREATE TABLE IF NOT EXISTS etbackend_bench (\n{}\n);\n", fmt::join(definitions, ",\n"));
  for (const std::vector<std::string>& row : sheet.rows) {
    std::vector<std::string> values;
    for (size_t i = 0; i < row.size(); ++i) {
      const bool is_text = sheet.columns[i].is_text();
      values.push_back(is_text ? between('\'', row[i]) : row[i].empty() ? "NULL" : row[i]);
    }
    out += fmt::format("INSERT INTO etbackend_bench ({})\nVALUES ({});\n", fmt::join(names, ", "),
                       fmt::join(values, ", "));
  }
  return out;
}

}  // namespace etb::bench
