// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "conformance/report/coverage.hpp"
#include "tools/pages/reports.hpp"

namespace etb::pages {
namespace {

using namespace etb::conformance;  // NOLINT(google-build-using-namespace): this file is about nothing else

constexpr std::array<const char*, 10> kDtypes = {"f32", "f64", "f16", "bf16", "i64",
                                                 "i32", "i16", "i8",  "u8",   "bool"};

// Properties that a plugin claims and no case of the run tested.
Json gap_items(const Coverage& coverage) {
  Json items = Json::array();
  for (const Gap& gap : find_gaps(coverage)) {
    items.push_back({{"title", to_text(gap)}, {"lines", gap.rows}});
  }
  Json part = make_part("items", "Claimed, and not tested in this run");
  part["short"] = "Not tested";
  part["items"] = std::move(items);
  return part;
}

Json group_table(const Totals& totals) {
  const auto count = [](const std::map<State, size_t>& states, State state) {
    const auto found = states.find(state);
    return found != states.end() ? found->second : 0;
  };
  Json rows = Json::array();
  for (const auto& [group, states] : totals.by_group) {
    size_t failures = 0;
    for (const auto& [state, number] : states) failures += is_failure(state) ? number : 0;
    rows.push_back({group, count(states, State::kPass), failures, count(states, State::kUnsupported),
                    count(states, State::kWarning), count(states, State::kWaived)});
  }
  return make_table("Groups", "",
                    {{"group", "text", true},
                     {"pass", "number"},
                     {"fail", "number"},
                     {"unsupported", "number"},
                     {"warning", "number"},
                     {"waived", "number"}},
                    std::move(rows));
}

Json item_of(const Outcome& outcome, const Invocation& by, std::string_view tone) {
  Json lines = Json::array(), code = Json::array();
  for (const Finding& finding : outcome.findings)
    lines.push_back(finding.check + (finding.rule.empty() ? "" : " (" + finding.rule + ")") + ": " +
                    finding.text);
  if (!outcome.reason.empty()) lines.push_back(outcome.reason);
  if (!outcome.smallest.empty()) lines.push_back("smallest: " + outcome.smallest);
  if (!outcome.sequence.empty()) code.push_back("only after:\n" + outcome.sequence);
  code.push_back(repeat_command(by, outcome));
  return {{"state", to_text(outcome.state)},
          {"tone", tone},
          {"title", outcome.name},
          {"lines", std::move(lines)},
          {"code", std::move(code)}};
}

// Failures by kind, with the smallest of each open.
Json failure_items(const Results& results, const Invocation& by) {
  Json items = Json::array();
  for (const Kind& kind : kinds_of_failures(results.outcomes)) {
    bool is_first = true;
    for (const Outcome* outcome : kind.outcomes) {
      Json item = item_of(*outcome, by, "bad");
      item["title"] =
          outcome->name + (is_first && kind.outcomes.size() > 1
                               ? fmt::format(", smallest of {}: {}", kind.outcomes.size(), kind.title)
                               : "");
      item["open"] = is_first;
      is_first = false;
      items.push_back(std::move(item));
    }
  }
  Json part = make_part("items", "Failures");
  part["items"] = std::move(items);
  return part;
}

Json warning_items(const Results& results, const Invocation& by) {
  Json items = Json::array();
  for (const Outcome& outcome : results.outcomes)
    if (outcome.state == State::kWarning || outcome.state == State::kWaived)
      items.push_back(item_of(outcome, by, "warn"));
  Json part = make_part("items", "Warnings and waived failures");
  part["short"] = "Warnings";
  part["items"] = std::move(items);
  return part;
}

struct Cell {
  size_t executed = 0, failed = 0, unsupported = 0;
  void add(const Outcome& outcome) {
    executed += outcome.is_executed ? 1 : 0;
    failed += is_failure(outcome.state) ? 1 : 0;
    unsupported += outcome.state == State::kUnsupported ? 1 : 0;
  }
  const char* state() const {
    if (failed != 0) return "fail";
    if (executed == 0) return "none";
    return unsupported != 0 ? "some" : "pass";
  }
};

Json dtype_heat(const Results& results) {
  std::map<std::string, std::map<std::string, Cell>> ops;
  for (const Outcome& outcome : results.outcomes)
    if (!outcome.op.empty()) ops[outcome.op][outcome.dtype].add(outcome);
  Json rows = Json::array();
  for (const auto& [op, cells] : ops) {
    Json row = Json::array();
    for (const char* dtype : kDtypes) {
      const auto found = cells.find(dtype);
      if (found == cells.end()) {
        row.push_back(nullptr);
        continue;
      }
      const Cell& cell = found->second;
      row.push_back({{"state", cell.state()},
                     {"text", fmt::format("{} {}: {} ran, {} fail, {} rejected", op, dtype, cell.executed,
                                          cell.failed, cell.unsupported)}});
    }
    rows.push_back({{"name", op}, {"cells", std::move(row)}});
  }
  Json part = make_part("heat", "Operators by element types");
  part["short"] = "Operators";
  part["legend"] = "✓ ran   ~ some ran, some are rejected   ✗ fails   – rejected or not asked";
  part["columns"] = kDtypes;
  part["rows"] = std::move(rows);
  return part;
}

Json coverage_table(const Coverage& coverage) {
  const auto cell = [](const std::map<std::string, CoverageCount>& counts) {
    std::string text;
    for (const auto& [name, count] : counts)
      text += fmt::format("{}{} {}/{}", text.empty() ? "" : ", ", name, count.executed, count.cases);
    return text;
  };
  Json rows = Json::array();
  for (const auto& [key, row] : coverage)
    rows.push_back({key.first, key.second, row.claim ? to_text(*row.claim) : "", row.all.executed,
                    row.all.cases, cell(row.by_rank), cell(row.by_layout), cell(row.by_attribute)});
  return make_table("Coverage", "Executed / cases of each operator and element type.",
                    {{"operator", "text", true},
                     {"dtype", "text", true},
                     {"claims"},
                     {"executed", "number"},
                     {"cases", "number"},
                     {"by rank"},
                     {"by layout"},
                     {"by attribute"}},
                    std::move(rows));
}

Json margin_table(const Results& results) {
  struct Margin {
    double most = 0;
    std::array<size_t, 10> bars = {};
  };
  std::map<std::string, Margin> ops;
  for (const Outcome& outcome : results.outcomes) {
    if (outcome.margin <= 0 || outcome.margin > 1) continue;
    Margin& margin = ops[outcome.op];
    margin.most = std::max(margin.most, outcome.margin);
    ++margin.bars[std::min<size_t>(9, static_cast<size_t>(outcome.margin * 10))];
  }
  Json rows = Json::array();
  for (const auto& [op, margin] : ops) rows.push_back({op, margin.most, margin.bars});
  return make_table(
      "Margins",
      "Largest error of a case as part of its bound; the bars count the cases from 0 to 1 in ten steps.",
      {{"operator", "text", true}, {"largest", "percent"}, {"cases from 0 to 1", "spark"}}, std::move(rows));
}

Json slow_table(const Results& results) {
  std::vector<const Outcome*> order;
  for (const Outcome& outcome : results.outcomes) order.push_back(&outcome);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->duration_us > b->duration_us; });
  order.resize(std::min<size_t>(order.size(), 20));
  Json rows = Json::array();
  for (const Outcome* outcome : order)
    rows.push_back({outcome->name, to_text(outcome->state), outcome->duration_us});
  Json part = make_table("Longest items", "", {{"case or check", "text", true}, {"result"}, {"time", "us"}},
                         std::move(rows));
  part["short"] = "Time";
  return part;
}

}  // namespace

Json verify_document(const Results& results, const Invocation& by, const std::string& version) {
  const Totals totals = add_up(results);
  const Header& header = results.header;
  const std::string name =
      header.plugin_id + (header.plugin_version.empty() ? "" : " " + header.plugin_version);
  Json document = make_document("verify", "Verification of " + name,
                                "Does the plugin keep its promises, and are its numbers right?",
                                {name, header.date, header.host, header.command, version});
  Json& facts = document["facts"];
  facts[0][0] = "plugin";
  for (const auto& [key, value] :
       {std::pair<const char*, std::string>(
            "library", header.library_sha256.empty() ? "" : "sha256 " + header.library_sha256),
        {"profile", header.profile},
        {"precision", header.contract},
        {"delegate options", header.delegate_options},
        {"suite", fmt::format("version {}, digest {}", header.suite_version, header.suite_digest)},
        {"seed", std::to_string(header.seed)},
        {"shard", header.shard}})
    if (!value.empty()) facts.push_back({key, value});
  add_card(document, "Verdict", totals.is_pass() ? "PASS" : "FAIL", "text",
           totals.is_pass() ? "good" : "bad");
  if (!totals.is_pass()) document["warnings"].push_back("FAIL: " + totals.why_not());
  if (totals.is_part) document["warnings"].push_back("this is one shard of a run");
  add_card(document, "Executed on the plugin", totals.executed);
  add_card(document, "Claimed", totals.claimed);
  add_card(document, "Cases", totals.case_count);
  add_card(document, "Failures", totals.failures, "number", totals.failures == 0 ? "good" : "bad");
  add_card(document, "Warnings", totals.of(State::kWarning));
  const Coverage coverage = cover(results);
  Json& sections = document["sections"];
  const Json gaps = gap_items(coverage);
  if (!gaps["items"].empty()) {
    document["warnings"].push_back(
        fmt::format("{} properties are claimed, and this run did not test them", gaps["items"].size()));
    sections.push_back(gaps);
  }
  sections.push_back(failure_items(results, by));
  Json warnings = warning_items(results, by);
  if (!warnings["items"].empty()) sections.push_back(std::move(warnings));
  for (Json& part : std::array{group_table(totals), dtype_heat(results), coverage_table(coverage),
                               margin_table(results), slow_table(results)})
    sections.push_back(std::move(part));
  return document;
}

}  // namespace etb::pages
