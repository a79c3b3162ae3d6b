// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/sarif.hpp"

#include <set>

namespace etb::conformance {
namespace {

using json = nlohmann::ordered_json;

json to_result(const Outcome& outcome, const Finding& finding, const Invocation& by) {
  std::string text = outcome.name + ": " + finding.text;
  if (!outcome.smallest.empty()) text += "\nsmallest: " + outcome.smallest;
  text += "\n" + repeat_command(by, outcome);
  json properties = {{"state", to_text(outcome.state)}};
  if (!finding.rule.empty()) properties["rule"] = finding.rule;
  return {{"ruleId", finding.check},
          {"level", outcome.state == State::kWarning ? "warning" : "error"},
          {"message", {{"text", text}}},
          {"locations", json::array({{{"logicalLocations", json::array({{{"fullyQualifiedName", outcome.name},
                                                                         {"kind", "test"}}})}}})},
          {"partialFingerprints", {{"caseAndCheck/v1", outcome.name + " " + finding.check}}},
          {"properties", properties}};
}

}  // namespace

std::string to_sarif(const Results& results, const Invocation& by) {
  std::set<std::string> checks;
  json findings = json::array();
  for (const Outcome& outcome : results.outcomes) {
    if (!is_failure(outcome.state)) continue;
    for (const Finding& finding : outcome.findings) {
      checks.insert(finding.check);
      findings.push_back(to_result(outcome, finding, by));
    }
  }
  json rules = json::array();
  for (const std::string& check : checks) rules.push_back({{"id", check}});
  const json driver = {{"name", "etbackend verify"},
                       {"version", std::to_string(results.header.suite_version)},
                       {"rules", rules}};
  const json run = {
      {"tool", {{"driver", driver}}},
      {"results", findings},
      {"properties",
       {{"plugin", results.header.plugin_id}, {"librarySha256", results.header.library_sha256}}}};
  const json out = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                    {"version", "2.1.0"},
                    {"runs", json::array({run})}};
  return out.dump(1, ' ', true, json::error_handler_t::replace) + "\n";
}

}  // namespace etb::conformance
