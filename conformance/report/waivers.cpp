// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/waivers.hpp"

#include <nlohmann/json.hpp>

#include "conformance/cases/case.hpp"

namespace etb::conformance {
namespace {

using nlohmann::json;

bool is_date(const std::string& text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (const size_t i : {0, 1, 2, 3, 5, 6, 8, 9})
    if (text[i] < '0' || text[i] > '9') return false;
  return true;
}

Result<Waiver> read_waiver(const json& object, size_t number, const std::string& today) {
  const std::string where = "waiver " + std::to_string(number) + ": ";
  if (!object.is_object()) return make_error(Code::INVALID_DATA, where + "no object");
  Waiver out;
  const std::pair<const char*, std::string*> fields[] = {
      {"pattern", &out.pattern}, {"plugin", &out.plugin}, {"reason", &out.reason},
      {"tracker", &out.tracker}, {"owner", &out.owner},   {"expires", &out.expires}};
  for (const auto& [key, field] : fields) {
    const auto it = object.find(key);
    if (it == object.end() || !it->is_string() || it->get<std::string>().empty())
      return make_error(Code::INVALID_DATA, where + "no '" + key + "', expected a text");
    *field = it->get<std::string>();
  }
  for (const auto& [key, value] : object.items()) {
    bool is_known = false;
    for (const auto& [known, field] : fields) is_known = is_known || key == known;
    if (!is_known) return make_error(Code::INVALID_DATA, where + "unknown key '" + key + "'");
  }
  if (out.reason != "hardware" && out.reason != "suite-bug" && out.reason != "spec-unclear")
    return make_error(Code::INVALID_DATA,
                      where + "reason '" + out.reason + "', expected hardware, suite-bug or spec-unclear");
  if (!is_date(out.expires))
    return make_error(Code::INVALID_DATA, where + "expires '" + out.expires + "', expected YYYY-MM-DD");
  if (out.expires < today)
    return make_error(Code::INVALID_DATA,
                      where + "'" + out.pattern + "' expired on " + out.expires + ", today is " + today);
  return out;
}

}  // namespace

Result<std::vector<Waiver>> parse_waivers(const std::string& text, const std::string& today) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_array()) return make_error(Code::INVALID_DATA, "waivers: expected a JSON array");
  std::vector<Waiver> out;
  for (const json& object : document) {
    ETB_ASSIGN(Waiver waiver, read_waiver(object, out.size() + 1, today));
    out.push_back(std::move(waiver));
  }
  return out;
}

void apply_waivers(const std::vector<Waiver>& waivers, const std::string& plugin_id, Outcome& outcome) {
  for (const Waiver& waiver : waivers) {
    if (waiver.plugin != plugin_id || !(matches_pattern(outcome.name, waiver.pattern) ||
                                        matches_pattern(without_round(outcome.name), waiver.pattern)))
      continue;
    if (outcome.state == State::kPass) {
      outcome.state = State::kXpass;
      outcome.findings.push_back({"suite.waiver",
                                  "passes, although the waiver of " + waiver.owner + " (" + waiver.tracker +
                                      ") expects it to fail: remove or narrow the waiver",
                                  ""});
    } else if (is_failure(outcome.state) && outcome.state != State::kDishonest) {
      outcome.state = State::kWaived;
      outcome.reason =
          waiver.reason + ", " + waiver.owner + ", until " + waiver.expires + ", " + waiver.tracker;
    }
    return;
  }
}

}  // namespace etb::conformance
