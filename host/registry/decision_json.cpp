// SPDX-License-Identifier: Apache-2.0
// Writes a decision as JSON, for `explain --json` and for applications that log it.
#include <nlohmann/json.hpp>

#include "host/registry/decision.hpp"

namespace etb::host {
namespace {

using json = nlohmann::ordered_json;

json from_candidate(const Candidate& candidate) {
  json out{{"id", candidate.id},
           {"version", candidate.version},
           {"tier", to_text(candidate.tier)},
           {"place", candidate.place},
           {"priority", candidate.priority},
           {"certificate", to_text(candidate.certificate)}};
  if (!candidate.pinned_by.empty()) out["pinned_by"] = candidate.pinned_by;
  if (candidate.verdict)
    out["verdict"] = {{"kind", to_text_of_verdict(candidate.verdict->kind)},
                      {"text", candidate.verdict->text}};
  out["usable"] = !candidate.refusal.has_value();
  if (candidate.refusal)
    out["refusal"] = {{"reason", candidate.refusal->reason}, {"text", candidate.refusal->message}};
  return out;
}

}  // namespace

std::string to_json(const Decision& decision) {
  json out{{"name", decision.name}, {"matched_by", to_text(decision.matched_by)}};
  out["winner"] = decision.winner() == nullptr ? json() : json(decision.winner()->id);
  out["rule"] = decision.rule;
  out["candidates"] = json::array();
  for (const Candidate& candidate : decision.candidates)
    out["candidates"].push_back(from_candidate(candidate));
  out["nearest"] = decision.nearest;
  out["places"] = decision.places;
  // A plugin's text may contain any bytes. Invalid UTF-8 becomes the replacement character.
  return out.dump(2, ' ', true, json::error_handler_t::replace);
}

}  // namespace etb::host
