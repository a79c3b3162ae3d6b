// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/minimise.hpp"

#include <algorithm>

#include "conformance/process/in_process.hpp"
#include "conformance/process/replay.hpp"
#include "conformance/process/search.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kMaxTriesHere = 2000;
constexpr size_t kMaxChildren = 64;
// Each try that hangs uses its whole limit, so there are fewer of them, with a shorter limit.
constexpr size_t kMaxHangs = 8;
constexpr uint32_t kHangMs = 1500;

bool is_same_failure(const Outcome& failure, const Outcome& other) {
  return other.state == failure.state && !other.findings.empty() && !failure.findings.empty() &&
         other.findings[0].check == failure.findings[0].check;
}

// Tries each candidate in a separate child.
class InChildren {
 public:
  InChildren(const Plan& plan, uint32_t item, const Outcome& failure)
      : failure_(failure), plan_(plan), original_(*plan.items[item].item) {
    plan_.items = {plan.items[item]};
    if (failure.state == State::kHang) plan_.case_timeout_ms = std::min(plan.case_timeout_ms, kHangMs);
  }

  bool fails_alike(const SmallCase& small) {
    if (child_count_ >= kMaxChildren || hang_count_ >= kMaxHangs || plan_.is_late()) return false;
    ++child_count_;
    const std::shared_ptr<const Case> item = make_case(original_, small);
    plan_.items[0].item = item.get();
    const std::vector<Outcome> outcomes = replay(plan_, {0});
    const Outcome* const seen = find_outcome(outcomes, failure_.name);
    if (seen == nullptr) return false;
    hang_count_ += seen->state == State::kHang ? 1 : 0;
    return is_same_failure(failure_, *seen);
  }

 private:
  const Outcome& failure_;
  Plan plan_;
  const Case& original_;
  size_t child_count_ = 0, hang_count_ = 0;
};

// Tries all candidates in one child, which sends the smallest. Returns nothing if it dies, or if the case
// does not fail there.
std::optional<Outcome> search_in_one_child(const Plan& plan, uint32_t item, const Outcome& failure) {
  Plan search = plan;
  search.items = {plan.items[item]};
  search.items[0].to_minimise = &failure;
  for (Outcome& outcome : replay(search, {0}))
    if (outcome.name == failure.name && is_same_failure(failure, outcome)) return std::move(outcome);
  return std::nullopt;
}

}  // namespace

Minimised minimise(const Plan& plan, uint32_t item, const Outcome& failure) {
  Minimised out;
  InChildren children(plan, item, failure);
  // Printed text is visible only from outside the process.
  const bool is_seen_inside = !failure.findings.empty() && failure.findings[0].check != "hyg.prints-nothing";
  if (is_seen_inside && (failure.state == State::kFail || failure.state == State::kDishonest)) {
    const std::optional<Outcome> seen = search_in_one_child(plan, item, failure);
    if (seen && seen->small == nullptr) return out;
    if (seen && children.fails_alike(*seen->small)) {  // also in a process without earlier tries
      out.found = *seen->small;
      return out;
    }
  }
  const Result<BuiltCase> built = plan.items[item].item->build(plan.items[item].name);
  if (built)
    out.found = search_smaller(*built, [&](const SmallCase& small) { return children.fails_alike(small); });
  out.has_ended = out.found || !plan.is_late();
  return out;
}

std::optional<SmallCase> minimise_by(const BuiltCase& built, const Outcome& failure, const TryOne& try_one) {
  size_t tries = 0;
  return search_smaller(built, [&](const SmallCase& small) {
    if (++tries > kMaxTriesHere) return false;
    const std::optional<Outcome> seen = try_one(with_error_model(small, built));
    return seen && is_same_failure(failure, *seen);
  });
}

}  // namespace etb::conformance
