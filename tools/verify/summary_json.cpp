// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/summary_json.hpp"

namespace etb::tools {

using Json = nlohmann::ordered_json;

Json verify_summary(const conformance::Results& results) {
  const conformance::Totals totals = conformance::add_up(results);
  Json states = Json::object(), failures = Json::array();
  for (const auto& [state, count] : totals.by_state) states[conformance::to_text(state)] = count;
  for (const conformance::Outcome& outcome : results.outcomes)
    if (conformance::is_failure(outcome.state)) failures.push_back(conformance::to_json(outcome));
  return {{"header", conformance::to_json(results.header)},
          {"pass", totals.is_pass()},
          {"why_not", totals.why_not()},
          {"items", results.outcomes.size()},
          {"cases", totals.case_count},
          {"claimed", totals.claimed},
          {"executed", totals.executed},
          {"states", std::move(states)},
          {"failures", std::move(failures)}};
}

Json item_list(const std::vector<conformance::Item>& items) {
  Json list = Json::array();
  for (const conformance::Item& item : items) {
    Json row{{"name", item.name}, {"kind", item.check != nullptr ? "check" : "case"}};
    if (item.check != nullptr) {
      row["sentence"] = item.check->sentence;
      row["rule"] = item.check->rule;
    }
    list.push_back(std::move(row));
  }
  return {{"items", std::move(list)}};
}

}  // namespace etb::tools
