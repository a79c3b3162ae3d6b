// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/replay.hpp"

#include <poll.h>

#include "conformance/subject/case_flow.hpp"

namespace etb::conformance {
namespace {

bool is_death(State state) { return state == State::kCrash || state == State::kHang; }

}  // namespace

std::string end_of(const std::string& last_item) { return "leak.after-" + last_item; }

Outcome outcome_of_failed_judge(const Plan& plan, const Child& child) {
  Outcome out;
  const bool is_end = child.done_count() == child.items().size();
  const Item& item = plan.items[child.items()[is_end ? child.items().size() - 1 : child.done_count()]];
  out.name = is_end ? end_of(item.name) : item.name;
  if (!is_end && item.item != nullptr) out = outcome_of(*item.item, item.name);
  out.state = State::kCrash;
  out.reason = "the process of the suite that judges: " + child.death();
  out.findings.push_back({"suite.judge", out.reason, ""});
  return out;
}

std::vector<Outcome> replay(const Plan& plan, const std::vector<uint32_t>& items) {
  std::vector<Outcome> out;
  Result<std::unique_ptr<Child>> child = Child::start(plan, items);
  if (!child) return out;
  while ((*child)->step([&](Outcome outcome) { out.push_back(std::move(outcome)); })) {
    pollfd waiting{(*child)->fd(), POLLIN, 0};
    ::poll(&waiting, 1, 5);
  }
  if (!(*child)->has_judged()) out.push_back(outcome_of_failed_judge(plan, **child));
  return out;
}

const Outcome* find_outcome(const std::vector<Outcome>& outcomes, const std::string& name) {
  for (const Outcome& outcome : outcomes)
    if (outcome.name == name) return &outcome;
  return nullptr;
}

bool fail_alike(const Outcome& failure, const Outcome* other) {
  return other != nullptr && is_failure(other->state) && is_death(failure.state) == is_death(other->state);
}

}  // namespace etb::conformance
