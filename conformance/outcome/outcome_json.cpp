// SPDX-License-Identifier: Apache-2.0
#include "conformance/outcome/outcome_json.hpp"

#include <algorithm>

namespace etb::conformance {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

std::string text_in(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}
bool flag_in(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_boolean() && it->get<bool>();
}
double number_in(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number() ? it->get<double>() : 0;
}

ordered_json to_json(const ClaimRow& row) {
  return {{"op", row.op},
          {"dtype", row.dtype},
          {"min_rank", row.min_rank},
          {"max_rank", row.max_rank},
          {"layouts", row.layouts},
          {"dynamic", row.is_dynamic}};
}

std::vector<ClaimRow> rows_in(const json& object, const char* key) {
  std::vector<ClaimRow> out;
  const auto list = object.find(key);
  if (list == object.end() || !list->is_array()) return out;
  for (const json& item : *list)
    if (item.is_object())
      out.push_back({text_in(item, "op"), text_in(item, "dtype"),
                     static_cast<uint32_t>(std::max(0.0, number_in(item, "min_rank"))),
                     static_cast<uint32_t>(std::clamp(number_in(item, "max_rank"), 0.0, 64.0)),
                     static_cast<uint32_t>(std::clamp(number_in(item, "layouts"), 0.0, 1e9)),
                     flag_in(item, "dynamic")});
  return out;
}

}  // namespace

ordered_json to_json(const Outcome& outcome) {
  ordered_json out = {{"name", outcome.name}, {"state", to_text(outcome.state)}};
  if (!outcome.op.empty()) out["op"] = outcome.op;
  if (!outcome.dtype.empty()) out["dtype"] = outcome.dtype;
  out["claimed"] = outcome.is_claimed;
  out["executed"] = outcome.is_executed;
  if (outcome.margin > 0 && outcome.margin < 1e300) out["margin"] = outcome.margin;
  if (!outcome.reason.empty()) out["reason"] = outcome.reason;
  for (const Finding& finding : outcome.findings) {
    ordered_json item = {{"check", finding.check}, {"text", finding.text}};
    if (!finding.rule.empty()) item["rule"] = finding.rule;
    out["findings"].push_back(item);
  }
  if (!outcome.smallest.empty()) out["smallest"] = outcome.smallest;
  if (!outcome.sequence.empty()) out["sequence"] = outcome.sequence;
  for (const auto& [what, value] : outcome.measured) out["measured"][what] = value;
  for (const ClaimRow& row : outcome.claims) out["claims"].push_back(to_json(row));
  for (const ClaimRow& row : outcome.nodes) out["nodes"].push_back(to_json(row));
  out["us"] = outcome.duration_us;
  return out;
}

std::optional<Outcome> outcome_from_json(const json& object) {
  if (!object.is_object()) return std::nullopt;
  Outcome out;
  out.name = text_in(object, "name");
  if (out.name.empty() || !from_text(text_in(object, "state"), out.state)) return std::nullopt;
  out.op = text_in(object, "op");
  out.dtype = text_in(object, "dtype");
  out.is_claimed = flag_in(object, "claimed");
  out.is_executed = flag_in(object, "executed");
  out.margin = number_in(object, "margin");
  out.reason = text_in(object, "reason");
  out.smallest = text_in(object, "smallest");
  out.sequence = text_in(object, "sequence");
  out.duration_us = static_cast<uint64_t>(std::max(0.0, number_in(object, "us")));
  if (const auto list = object.find("measured"); list != object.end() && list->is_object())
    for (const auto& [what, value] : list->items())
      if (value.is_number()) out.measured.emplace_back(what, value.get<double>());
  out.claims = rows_in(object, "claims");
  out.nodes = rows_in(object, "nodes");
  if (const auto list = object.find("findings"); list != object.end() && list->is_array())
    for (const json& item : *list)
      if (item.is_object())
        out.findings.push_back({text_in(item, "check"), text_in(item, "text"), text_in(item, "rule")});
  return out;
}

std::string dump_line(const ordered_json& object) {
  return object.dump(-1, ' ', true, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace etb::conformance
