#include "conformance/runner/replay.hpp"

#include <poll.h>

namespace etb::conformance {
namespace {

bool is_death(State state) { return state == State::kCrash || state == State::kHang; }

}  // namespace

std::string end_of(const std::string& last_item) { return "leak.after-" + last_item; }

Outcome outcome_of_death(const Plan& plan, const Child& child) {
  Outcome out;
  out.state = child.was_hanging() ? State::kHang : State::kCrash;
  out.reason = child.death();
  if (child.done_count() == child.items().size()) {
    out.name = end_of(plan.items[child.items().back()].name);
    out.findings.push_back({"unload.end-of-batch", child.death(), ""});
    return out;
  }
  const Item& item = plan.items[child.items()[child.done_count()]];
  out.name = item.name;
  if (item.item != nullptr) {
    out.op = item.item->op;
    out.dtype = short_name(item.item->dtype);
  }
  out.findings.push_back(
      {group_of(out.name) + (child.was_hanging() ? ".hang" : ".crash"), child.death(), ""});
  if (!child.stacks().empty()) out.findings.back().text += "\n" + child.stacks();
  return out;
}

Outcome outcome_of_left_processes(const Plan& plan, const Child& child) {
  Outcome out;
  out.name = end_of(plan.items[child.items().back()].name);
  out.state = State::kFail;
  out.findings.push_back({"leak.processes-of-a-batch", "a process that the plugin started outlives it", ""});
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
  if (!(*child)->is_complete())
    out.push_back(outcome_of_death(plan, **child));
  else if ((*child)->left_processes())
    out.push_back(outcome_of_left_processes(plan, **child));
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
