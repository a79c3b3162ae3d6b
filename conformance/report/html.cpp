// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "conformance/report/coverage.hpp"
#include "conformance/report/junit.hpp"

namespace etb::conformance {
namespace {

constexpr const char* kStyle = R"(<style>
body{font:14px system-ui,sans-serif;margin:2em auto;max-width:1100px;color:#222}
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em;border-bottom:1px solid #ddd}
table{border-collapse:collapse}td,th{padding:2px 8px;text-align:left}td.n{text-align:right}
.verdict{padding:.6em 1em;border-radius:6px;font-weight:600;color:#fff;display:inline-block}
.pass{background:#2a7d3a}.fail{background:#b3261e}.some{background:#c98a00}.none{background:#e4e4e4}
.grid td{width:34px;height:16px;padding:0;border:1px solid #fff}.grid th{font-weight:400;font-size:12px}
code{background:#f3f3f3;padding:1px 4px;border-radius:3px}h3{font-size:1em;margin-bottom:.2em}details{margin:.4em 0}.more{margin-left:1.2em}summary{cursor:pointer}
.bar{display:inline-block;background:#5b7fb9;width:22px;margin-right:2px;vertical-align:bottom}
@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}code{background:#2a2a2a}.none{background:#333}.grid td{border-color:#161616}h2{border-color:#444}}
</style>
)";

constexpr std::array<const char*, 10> kDtypes = {"f32", "f64", "f16", "bf16", "i64",
                                                 "i32", "i16", "i8",  "u8",   "bool"};

struct Cell {
  size_t executed = 0, failed = 0, unsupported = 0;
  void add(const Outcome& outcome) {
    executed += outcome.is_executed ? 1 : 0;
    failed += is_failure(outcome.state) ? 1 : 0;
    unsupported += outcome.state == State::kUnsupported ? 1 : 0;
  }
  const char* style() const {
    if (failed != 0) return "fail";
    if (executed == 0) return "none";
    return unsupported != 0 ? "some" : "pass";
  }
};

std::string coverage_picture(const Results& results) {
  std::map<std::string, std::map<std::string, Cell>> ops;
  for (const Outcome& outcome : results.outcomes)
    if (!outcome.op.empty()) ops[outcome.op][outcome.dtype].add(outcome);
  std::string out =
      "<h2>Ops by element types</h2><p><span class=\"verdict pass\">ran</span> <span class=\"verdict "
      "some\">some ran, some are rejected</span> "
      "<span class=\"verdict fail\">fails</span> grey: rejected or not asked</p><table "
      "class=\"grid\"><tr><th>op</th>";
  for (const char* dtype : kDtypes) out += fmt::format("<th>{}</th>", dtype);
  out += "</tr>\n";
  for (const auto& [op, cells] : ops) {
    out += "<tr><th>" + escape_markup(op) + "</th>";
    for (const char* dtype : kDtypes) {
      const auto cell = cells.find(dtype);
      if (cell == cells.end())
        out += "<td></td>";
      else
        out += fmt::format("<td class=\"{}\" title=\"{} {}: {} ran, {} fail, {} rejected\"></td>",
                           cell->second.style(), escape_markup(op), dtype, cell->second.executed,
                           cell->second.failed, cell->second.unsupported);
    }
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

// Returns bars of the ratio of error to bound, ten from 0 to 1.
std::string margin_bars(const Results& results) {
  std::map<std::string, std::array<size_t, 10>> ops;
  for (const Outcome& outcome : results.outcomes)
    if (outcome.margin > 0 && outcome.margin <= 1)
      ++ops[outcome.op][std::min<size_t>(9, static_cast<size_t>(outcome.margin * 10))];
  std::string out =
      "<h2>Margins: largest error of a case as part of its bound</h2><table><tr><th>op</th><th>0 ... "
      "1</th></tr>\n";
  for (const auto& [op, bars] : ops) {
    const size_t most = *std::max_element(bars.begin(), bars.end());
    out += "<tr><td>" + escape_markup(op) + "</td><td>";
    for (const size_t count : bars)
      out += fmt::format("<span class=\"bar\" style=\"height:{}px\" title=\"{}\"></span>",
                         count == 0 ? 1 : 2 + count * 22 / most, count);
    out += "</td></tr>\n";
  }
  return out + "</table>\n";
}

// Leads the page: what was claimed and not tested.
std::string gap_list(const Coverage& coverage) {
  const std::vector<Gap> gaps = find_gaps(coverage);
  if (gaps.empty()) return "";
  std::string out = "<h2>Claimed, and not tested in this run</h2><ul>\n";
  for (const Gap& gap : gaps) {
    out += "<li><details><summary>" + escape_markup(to_text(gap)) + "</summary><p>";
    for (const std::string& row : gap.rows) out += escape_markup(row) + "<br>";
    out += "</p></details></li>\n";
  }
  return out + "</ul>\n";
}

// One row for an op and a dtype: what it claims, and executed of all cases by rank, layout and attribute.
std::string coverage_table(const Coverage& coverage) {
  std::string out =
      "<h2>Coverage</h2><details><summary>executed / cases of each op and dtype</summary><table><tr><th>op"
      "</th><th>dtype</th><th>claims</th><th>by rank</th><th>by layout</th><th>by attribute</th></tr>\n";
  const auto cell = [](const std::map<std::string, CoverageCount>& counts) {
    std::string text;
    for (const auto& [name, count] : counts)
      text += fmt::format("{}{} {}/{}", text.empty() ? "" : ", ", name, count.executed, count.cases);
    return "<td>" + escape_markup(text) + "</td>";
  };
  for (const auto& [key, row] : coverage)
    out += "<tr><td>" + escape_markup(key.first) + "</td><td>" + escape_markup(key.second) + "</td><td>" +
           escape_markup(row.claim ? to_text(*row.claim) : "") + "</td>" + cell(row.by_rank) +
           cell(row.by_layout) + cell(row.by_attribute) + "</tr>\n";
  return out + "</table></details>\n";
}

std::string group_table(const Totals& totals) {
  std::string out =
      "<h2>Groups</h2><table><tr><th>group</th><th>pass</th><th>fail</th><th>unsupported</th><th>warning</"
      "th><th>waived</th></tr>\n";
  const auto count = [](const std::map<State, size_t>& states, State state) {
    const auto found = states.find(state);
    return found != states.end() ? found->second : 0;
  };
  for (const auto& [group, states] : totals.by_group) {
    size_t failures = 0;
    for (const auto& [state, number] : states) failures += is_failure(state) ? number : 0;
    out += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        escape_markup(group), count(states, State::kPass), failures, count(states, State::kUnsupported),
        count(states, State::kWarning), count(states, State::kWaived));
  }
  return out + "</table>\n";
}

std::string failure_item(const Outcome& outcome, const Invocation& by) {
  std::string out = fmt::format("<details><summary>{} <code>{}</code></summary>", to_text(outcome.state),
                                escape_markup(outcome.name));
  for (const Finding& finding : outcome.findings)
    out += fmt::format("<p><b>{}</b> {}: {}</p>", escape_markup(finding.check), escape_markup(finding.rule),
                       escape_markup(finding.text));
  if (!outcome.smallest.empty()) out += "<p>smallest: " + escape_markup(outcome.smallest) + "</p>";
  if (!outcome.sequence.empty())
    out += "<p>only after:</p><pre>" + escape_markup(outcome.sequence) + "</pre>";
  return out + fmt::format("<p><code>{}</code></p></details>\n", escape_markup(repeat_command(by, outcome)));
}

// Lists failures by kind, with the smallest of each expanded.
std::string failure_list(const Results& results, const Invocation& by) {
  std::string out = "<h2>Failures</h2>\n";
  const std::vector<Kind> kinds = kinds_of_failures(results.outcomes);
  if (kinds.empty()) return out + "<p>none</p>\n";
  for (const Kind& kind : kinds) {
    out += fmt::format("<h3>{} <small>({})</small></h3>\n", escape_markup(kind.title), kind.outcomes.size());
    std::string first = failure_item(*kind.outcomes[0], by);
    out += "<details open" + first.substr(std::string_view("<details").size());
    if (kind.outcomes.size() == 1) continue;
    out += fmt::format("<details class=\"more\"><summary>{} more</summary>\n", kind.outcomes.size() - 1);
    for (size_t i = 1; i < kind.outcomes.size(); ++i) out += failure_item(*kind.outcomes[i], by);
    out += "</details>\n";
  }
  return out;
}

}  // namespace

std::string to_html(const Results& results, const Invocation& by) {
  const Totals totals = add_up(results);
  const Header& header = results.header;
  std::string out = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>verify " +
                    escape_markup(header.plugin_id) + "</title>\n";
  out += kStyle;
  out += fmt::format("<h1>{} {}</h1>\n<p>executed on the plugin / claimed: <b>{} / {}</b> of {} cases</p>\n",
                     escape_markup(header.plugin_id), escape_markup(header.plugin_version), totals.executed,
                     totals.claimed, totals.case_count);
  out += fmt::format("<p><span class=\"verdict {}\">{}</span></p>\n", totals.is_pass() ? "pass" : "fail",
                     totals.is_pass() ? "PASS" : "FAIL: " + totals.why_not());
  out += fmt::format("<p>profile {}, precision {}, suite version {}, library <code>{}</code></p>\n",
                     escape_markup(header.profile), escape_markup(header.contract), header.suite_version,
                     escape_markup(header.library_sha256));
  out += fmt::format("<p>{}, on {}<br><code>{}</code><br>suite digest <code>{}</code>, seed {}</p>\n",
                     escape_markup(header.date), escape_markup(header.host), escape_markup(header.command),
                     escape_markup(header.suite_digest), header.seed);
  const Coverage coverage = cover(results);
  out += gap_list(coverage);
  return out + group_table(totals) + failure_list(results, by) + coverage_picture(results) +
         coverage_table(coverage) + margin_bars(results) + "</html>\n";
}

}  // namespace etb::conformance
