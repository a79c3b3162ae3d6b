// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/kinds.hpp"

#include <algorithm>
#include <map>
#include <sstream>

namespace etb::conformance {

std::vector<Kind> kinds_of_failures(const std::vector<Outcome>& outcomes) {
  std::map<std::string, Kind> kinds;
  for (const Outcome& outcome : outcomes) {
    if (!is_failure(outcome.state)) continue;
    const std::string check =
        outcome.findings.empty() ? std::string(to_text(outcome.state)) : outcome.findings[0].check;
    const std::string title = check + (outcome.op.empty() ? "" : " " + outcome.op);
    Kind& kind = kinds[title];
    kind.title = title;
    kind.outcomes.push_back(&outcome);
  }
  std::vector<Kind> out;
  for (auto& [title, kind] : kinds) {
    std::sort(kind.outcomes.begin(), kind.outcomes.end(), [](const Outcome* a, const Outcome* b) {
      return a->name.size() != b->name.size() ? a->name.size() < b->name.size() : a->name < b->name;
    });
    out.push_back(std::move(kind));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Kind& a, const Kind& b) { return a.outcomes.size() > b.outcomes.size(); });
  return out;
}

std::string quoted(const std::string& text) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-:@+=,";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string repeat_command(const Invocation& by, const Outcome& outcome) {
  if (!by.saved_in.empty())
    return by.command + " --replay " + quoted(by.saved_in + "/" + outcome.name + ".json");
  // The item for the end of a batch is named after its last case, with this prefix.
  constexpr std::string_view kEnd = "leak.after-";
  std::string out = by.command;
  std::istringstream before(outcome.sequence);
  for (std::string name; std::getline(before, name);) out += " --case " + quoted(name);
  const bool is_end = outcome.name.rfind(kEnd, 0) == 0;
  return out + " --case " + quoted(is_end ? outcome.name.substr(kEnd.size()) : outcome.name);
}

bool has_look(const Outcome& outcome) {
  return !outcome.smallest.empty() || !outcome.sequence.empty() || outcome.state == State::kFlaky ||
         outcome.state == State::kXpass;
}

Looks count_looks(const std::vector<Outcome>& outcomes) {
  Looks out;
  for (const Outcome& outcome : outcomes) {
    if (!is_failure(outcome.state) || outcome.state == State::kXpass) continue;
    if (outcome.state == State::kFlaky)
      ++out.flaky;
    else if (!outcome.sequence.empty())
      ++out.after_others;
    else if (outcome.smallest.empty())
      ++out.none;
    else
      ++(outcome.smallest.find(" itself") != std::string::npos ? out.itself : out.smaller);
  }
  return out;
}

}  // namespace etb::conformance
