// SPDX-License-Identifier: Apache-2.0
// run: tokens and deadlines of execute() are looked at by plugins that can end a run.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/long_case.hpp"
#include "conformance/subject/monotonic_clock.hpp"

namespace etb::conformance {
namespace {

constexpr etb_cancel_token kCancelled = {ETB_INIT_SIZE(etb_cancel_token), 0, nullptr,
                                         [](void*) { return uint32_t{1}; }};

bool can_cancel(Subject& subject) { return (subject.table().delegate->caps & ETB_DELEGATE_CAP_CANCEL) != 0; }

// The two ways in which the arguments of a run end it.
struct Stop {
  const char* text;
  etb_status status;
};
constexpr Stop kToken = {"its token requests the end", ETB_CANCELLED},
               kDeadline = {"its deadline is over", ETB_DEADLINE_EXCEEDED};

// A plugin that ends a run for one of the two can end the same run for the other. One that has cancel() can end runs.
void stops_before_it_begins(CheckContext& context) {
  constexpr size_t kCases = 12;
  bool is_any_stopped = false;
  const auto subject = context.open(bare());
  if (!subject) return;
  const bool has_cancel = can_cancel(*subject);
  context.each_session(*subject, context.claimed(*subject, kCases), [&](ReadyCase& ready) {
    const RunResult first = ready.run();
    const bool is_empty = std::all_of(first.outputs.begin(), first.outputs.end(),
                                      [](const TensorData& output) { return output.bytes.empty(); });
    if (first.status != ETB_OK || is_empty) return;
    for (int round = 0; round < 2; ++round) {
      context.progress().at("a run that has to end before it begins");
      const RunResult cancelled = ready.run({.cancel = &kCancelled}), late = ready.run({.deadline_ns = 1});
      const bool can_stop =
          has_cancel || cancelled.status == kToken.status || late.status == kDeadline.status;
      is_any_stopped = is_any_stopped || can_stop;
      for (const auto& [result, stop] : {std::pair(&cancelled, &kToken), std::pair(&late, &kDeadline)})
        if (can_stop && result->status != stop->status)
          return context.fail(
              fmt::format("{}: a run returns {} although {} before it begins, expected {}; the plugin {}",
                          ready.name(), result->status, stop->text, stop->status,
                          has_cancel ? "has cancel()" : "ends the same run for another reason"));
      const RunResult after = ready.run();
      if (after.status != ETB_OK || !context.is_right(ready.item, after))
        return context.fail(ready.name() + ": a run after two that had to end fails or is wrong");
    }
  });
  if (!is_any_stopped && context.outcome().findings.empty() && context.outcome().state != State::kUnsupported)
    context.skip("the plugin has no cancel, and no run ends early");
}

// A token that requests the end at a time of the clock.
struct TimedToken {
  uint64_t end_ns;
  static uint32_t is_cancelled(void* ctx) {
    return monotonic_ns() >= static_cast<TimedToken*>(ctx)->end_ns ? 1 : 0;
  }
};

// Runs once. Its token or its deadline ends it at a time of the clock.
RunResult run_until(ReadyCase& ready, const Stop& stop, uint64_t end_ns) {
  if (stop.status == kDeadline.status) return ready.run({.deadline_ns = end_ns});
  TimedToken timed = {end_ns};
  const etb_cancel_token token = {ETB_INIT_SIZE(etb_cancel_token), 0, &timed, TimedToken::is_cancelled};
  return ready.run({.cancel = &token});
}

// Stops runs of some milliseconds after a quarter of their time. At least one of many must end.
void stops_a_long_run(CheckContext& context) {
  constexpr int kTries = 30, kEnough = 8;
  constexpr uint64_t kLeastNs = 4000000;
  const auto subject = context.open(bare());
  if (!subject) return;
  if (!can_cancel(*subject)) return context.skip("the plugin has no cancel");
  const std::vector<ClaimedCase> cases = every_long_claimed(*subject);
  if (cases.empty()) return context.skip("the plugin claims no long case");
  bool has_any = false;
  context.each_session(*subject, cases, [&](ReadyCase& ready) {
    context.progress().restart();
    std::array<uint64_t, 3> times{};
    for (uint64_t& time : times) {
      const uint64_t begin = monotonic_ns();
      (void)ready.run();
      time = monotonic_ns() - begin;
    }
    const uint64_t whole = *std::min_element(times.begin(), times.end());
    if (whole < kLeastNs) return;
    has_any = true;
    for (const Stop& stop : {kToken, kDeadline}) {
      int stopped_count = 0, long_count = 0;
      for (int i = 0; i < kTries && stopped_count == 0 && long_count < kEnough; ++i) {
        context.progress().restart();
        context.progress().at("a long run that has to end in the middle");
        const uint64_t begin = monotonic_ns();
        const RunResult result = run_until(ready, stop, begin + whole / 4);
        if (result.status == stop.status) ++stopped_count;
        if (monotonic_ns() - begin > whole / 2) ++long_count;
      }
      if (stopped_count == 0 && long_count >= kEnough)
        return context.fail(fmt::format(
            "{}: none of {} runs of about {} ms ends although {} after a quarter of it; the plugin "
            "has cancel()",
            ready.name(), long_count, whole / 1000000, stop.text));
    }
    if (const RunResult after = ready.run(); after.status != ETB_OK)
      context.fail("after long runs that had to end the context does not run as before");
  });
  if (!has_any && context.outcome().findings.empty())
    context.skip("the longest case ends before it can be stopped");
}

constexpr Check kChecks[] = {
    {"run.stops-before-it-begins",
     "Where a plugin can end a run, a token that requests the end and a deadline that is over end it.",
     "ABI-EXEC-01", stops_before_it_begins},
    {"run.token-and-deadline-of-a-long-run",
     "A plugin with cancel ends a long product and a long convolution for a token and for a deadline, too.",
     "ABI-EXEC-01", stops_a_long_run},
};

}  // namespace

std::span<const Check> stop_checks() { return kChecks; }

}  // namespace etb::conformance
