// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/junit.hpp"

#include <fmt/format.h>

namespace etb::conformance {

std::string escape_markup(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 32 && static_cast<unsigned char>(c) < 127)
      out += c;
    else
      out += c == '\n' || c == '\t' ? c : '.';
  }
  return out;
}

std::string to_junit(const Results& results, const Invocation& by) {
  const Totals totals = add_up(results.outcomes);
  std::map<std::string, std::string> suites;
  for (const Outcome& outcome : results.outcomes) {
    const std::string group = group_of(outcome.name);
    std::string& suite = suites[group];
    suite += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.6f}\"", escape_markup(group),
                         escape_markup(outcome.name), static_cast<double>(outcome.duration_us) / 1e6);
    std::string text;
    for (const Finding& finding : outcome.findings)
      text += finding.check + ": " + finding.text + (finding.rule.empty() ? "" : " (" + finding.rule + ")") +
              "\n";
    if (!outcome.smallest.empty()) text += "smallest: " + outcome.smallest + "\n";
    if (is_failure(outcome.state)) text += repeat_command(by, outcome) + "\n";
    if (is_failure(outcome.state))
      suite += fmt::format(
          "><failure type=\"{}\" message=\"{}\">{}</failure></testcase>\n", to_text(outcome.state),
          escape_markup(outcome.findings.empty() ? outcome.reason : outcome.findings[0].text),
          escape_markup(text));
    else if (outcome.state == State::kUnsupported || outcome.state == State::kWaived ||
             outcome.state == State::kNotRun)
      suite += fmt::format("><skipped message=\"{}: {}\"/></testcase>\n", to_text(outcome.state),
                           escape_markup(outcome.reason));
    else
      suite += "/>\n";
  }
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"etbackend verify {}\" tests=\"{}\" "
      "failures=\"{}\">\n",
      escape_markup(results.header.plugin_id), results.outcomes.size(), totals.failures);
  for (const auto& [group, cases] : suites) {
    size_t count = 0, failures = 0;
    for (const auto& [state, number] : totals.by_group.at(group)) {
      count += number;
      failures += is_failure(state) ? number : 0;
    }
    out += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">\n{}  </testsuite>\n",
                       escape_markup(group), count, failures, cases);
  }
  return out + "</testsuites>\n";
}

}  // namespace etb::conformance
