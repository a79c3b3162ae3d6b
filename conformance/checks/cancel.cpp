// SPDX-License-Identifier: Apache-2.0
// run: runs that are asked to stop, by cancel() or by a deadline.
#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/long_case.hpp"
#include "conformance/subject/monotonic_clock.hpp"

namespace etb::conformance {
namespace {

constexpr int kRuns = 40;

bool has_cancel(CheckContext& context, Subject& subject) {
  if ((subject.table().delegate->caps & ETB_DELEGATE_CAP_CANCEL) != 0) return true;
  context.skip("the plugin has no cancel");
  return false;
}

void cancel(CheckContext& context, ReadyCase& ready, etb_context* which, const char* when) {
  etb_error error = ETB_ERROR_INIT;
  context.progress().at(when);
  if (const etb_status status = ready.subject.table().delegate->cancel(which, &error); status != ETB_OK)
    context.fail(fmt::format("{}: {} returns {}: {}", ready.name(), when, status, error.text));
}

void expect_right(CheckContext& context, ReadyCase& ready, const char* when) {
  const RunResult result = ready.run();
  if (result.status != ETB_OK)
    context.fail(
        fmt::format("{}: a run {} returns {}: {}", ready.name(), when, result.status, result.error.text));
  else if (!context.is_right(ready.item, result))
    context.fail(fmt::format("{}: a run {} has a wrong result", ready.name(), when));
}

// Calls cancel on another thread, again and again, while it lives.
class Canceller {
 public:
  Canceller(ReadyCase& ready, etb_context* which)
      : thread_([this, &ready, which] {
          while (!is_over_) {
            etb_error error = ETB_ERROR_INIT;
            if (ready.subject.table().delegate->cancel(which, &error) != ETB_OK) ++failure_count_;
            ++call_count_;
            std::this_thread::yield();
          }
        }) {
    while (call_count_ == 0) std::this_thread::yield();
  }
  ~Canceller() {
    is_over_ = true;
    thread_.join();
  }
  Canceller(const Canceller&) = delete;
  Canceller& operator=(const Canceller&) = delete;

  uint64_t call_count() const { return call_count_; }
  uint64_t failure_count() const { return failure_count_; }

 private:
  std::atomic<bool> is_over_{false};
  std::atomic<uint64_t> call_count_{0}, failure_count_{0};
  std::thread thread_;
};

// Without a run cancel does nothing: the next run is not cancelled.
void cancel_without_a_run(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || !has_cancel(context, *subject)) return;
  context.each_session(*subject, context.claimed(*subject, 4), [&](ReadyCase& ready) {
    cancel(context, ready, ready.session.context(), "cancel before the first run");
    expect_right(context, ready, "after a cancel without a run");
    for (int i = 0; i < 3; ++i) cancel(context, ready, ready.session.context(), "cancel after a run");
    expect_right(context, ready, "after three cancels without a run");
  });
}

void cancel_during_runs(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || !has_cancel(context, *subject)) return;
  context.each_session(*subject, context.claimed(*subject, 4), [&](ReadyCase& ready) {
    {
      const Canceller canceller(ready, ready.session.context());
      context.progress().at("runs that are cancelled");
      for (int i = 0; i < context.repeats(kRuns, 4); ++i) {
        const RunResult result = ready.run();
        if (result.status != ETB_CANCELLED && result.status != ETB_OK)
          return context.fail(fmt::format("{}: a cancelled run returns {}, expected ETB_CANCELLED or ETB_OK",
                                          ready.name(), result.status));
        if (result.status == ETB_OK && !context.is_right(ready.item, result))
          return context.fail(ready.name() + ": a run that was cancelled too late has a wrong result");
      }
      if (canceller.failure_count() != 0)
        context.fail(fmt::format("{}: {} calls of cancel fail", ready.name(), canceller.failure_count()));
    }
    expect_right(context, ready, "after cancelled ones");
  });
}

void expect_no_stop(CheckContext& context, ReadyCase& ready, int run_count) {
  etb_context* other = nullptr;
  etb_error error = ETB_ERROR_INIT;
  const etb_delegate_table& table = *ready.subject.table().delegate;
  if (table.context_create(ready.session.delegate(), nullptr, 0, &other, &error) != ETB_OK)
    return context.fail(error.text);
  {
    const Canceller canceller(ready, other);
    for (int i = 0; i < run_count && context.outcome().findings.empty(); ++i)
      expect_right(context, ready, "while another context is cancelled");
  }
  (void)table.context_destroy(other, &error);
}

// Cancelling one context must not stop a run on another. A short run may end before the other thread calls
// cancel, above all on a busy machine, so a long one is tried, too.
void cancel_of_another_context(CheckContext& context) {
  constexpr int kLongRuns = 3;
  const auto subject = context.open(bare());
  if (!subject || !has_cancel(context, *subject)) return;
  context.each_session(*subject, context.claimed(*subject, 4),
                       [&](ReadyCase& ready) { expect_no_stop(context, ready, context.repeats(kRuns, 4)); });
  context.each_session(*subject, long_claimed(*subject),
                       [&](ReadyCase& ready) { expect_no_stop(context, ready, kLongRuns); });
}

// Calls of cancel during a whole long run must stop it, in one of many runs at least.
void cancel_stops_a_long_run(CheckContext& context) {
  constexpr int kTries = 60, kEnoughKnown = 3;
  constexpr uint64_t kLeastNs = 3000000, kLeastCalls = 100;
  constexpr uint64_t kMostNs = 8000000000;  // on a busy machine few runs meet hundreds of calls
  const auto subject = context.open(bare());
  if (!subject || !has_cancel(context, *subject)) return;
  std::vector<ClaimedCase> cases = long_claimed(*subject);
  if (cases.empty()) return context.skip("the plugin claims no long case");
  context.each_session(*subject, cases, [&](ReadyCase& ready) {
    const std::vector<TensorData> expected = ready.run().outputs;
    const uint64_t begin = monotonic_ns();
    (void)ready.run();
    if (monotonic_ns() - begin < kLeastNs)
      return context.skip("the longest case ends before it can be cancelled");
    int known_count = 0, stopped_count = 0;
    const uint64_t first = monotonic_ns();
    for (int i = 0; stopped_count == 0 && known_count < kEnoughKnown; ++i) {
      if (i >= kTries && monotonic_ns() - first > kMostNs) break;
      const Canceller canceller(ready, ready.session.context());
      const uint64_t before = canceller.call_count();
      context.progress().restart();
      context.progress().at("a long run that is cancelled");
      const RunResult result = ready.run();
      if (result.status == ETB_CANCELLED) ++stopped_count;
      if (canceller.call_count() - before >= kLeastCalls) ++known_count;
    }
    if (stopped_count == 0 && known_count >= kEnoughKnown)
      context.fail(
          fmt::format("{} runs were cancelled hundreds of times each while they ran, and none returned "
                      "ETB_CANCELLED",
                      known_count));
    const RunResult after = ready.run();
    if (after.status != ETB_OK || after.outputs[0].bytes != expected[0].bytes)
      context.fail("after a long run was cancelled the context does not run as before");
  });
}

// A deadline that is over ends the run, or the result is right. Then the context runs again.
void deadlines(CheckContext& context) {
  context.each_session({}, 4, [&](ReadyCase& ready) {
    for (const uint64_t before : {uint64_t{0}, uint64_t{1000000}, uint64_t{1000000000}}) {
      context.progress().at("a run after its deadline");
      const RunResult result = ready.run({.deadline_ns = std::max<uint64_t>(1, monotonic_ns() - before)});
      if (result.status != ETB_OK && result.status != ETB_DEADLINE_EXCEEDED)
        context.fail(
            fmt::format("{}: a run after its deadline returns {}, expected ETB_DEADLINE_EXCEEDED or ETB_OK",
                        ready.name(), result.status));
      if (result.status == ETB_OK && !context.is_right(ready.item, result))
        context.fail(ready.name() + ": a run after its deadline returns ETB_OK and a wrong result");
      expect_right(context, ready, "after one that ended at its deadline");
    }
  });
}

// Graphs of several nodes, between which a plugin may look for a stop; a long one first.
std::vector<ClaimedCase> of_several_nodes(CheckContext& context, Subject& subject) {
  std::vector<ClaimedCase> out = long_claimed(subject);
  for (const char* pattern : {"model.twelve_sums.*", "model.many_nodes.*", "model.chain.*",
                              "model.long_lives.*", "model.multilayer.*", "quant.*_net.*"})
    for (ClaimedCase& item : context.find_claimed_like(subject, pattern, 2)) out.push_back(std::move(item));
  return out;
}

// The token of the host says stop at its first, second, ... call, wherever in the run that is. The next run is whole.
void stops_at_each_call(CheckContext& context) {
  constexpr int kMostCalls = 24;
  const auto subject = context.open(bare());
  if (!subject) return;
  context.each_session(*subject, of_several_nodes(context, *subject), [&](ReadyCase& ready) {
    for (int at = 1; at <= kMostCalls; ++at) {
      std::atomic<int> left{at};
      const etb_cancel_token token = {ETB_INIT_SIZE(etb_cancel_token), 0, &left, [](void* ctx) {
                                        return --*static_cast<std::atomic<int>*>(ctx) <= 0 ? 1u : 0u;
                                      }};
      context.progress().restart();
      context.progress().at(fmt::format("a run that is stopped at call {} of its token", at).c_str());
      const RunResult result = ready.run({.cancel = &token});
      if (result.status != ETB_OK && result.status != ETB_CANCELLED)
        return context.fail(
            fmt::format("{}: a run whose token says stop returns {}, expected ETB_CANCELLED or ETB_OK",
                        ready.name(), result.status));
      expect_right(context, ready, fmt::format("after one that its token stopped at call {}", at).c_str());
      if (left > 0 || !context.outcome().findings.empty()) return;
    }
  });
}

// Deadlines that pass during the run.
void deadlines_during_a_run(CheckContext& context) {
  constexpr int kParts = 8;
  const auto subject = context.open(bare());
  if (!subject) return;
  context.each_session(*subject, of_several_nodes(context, *subject), [&](ReadyCase& ready) {
    (void)ready.run();
    const uint64_t first = monotonic_ns();
    (void)ready.run();
    const uint64_t whole = monotonic_ns() - first;
    for (int part = 0; part < kParts; ++part) {
      context.progress().restart();
      context.progress().at("a run whose deadline passes during the run");
      const RunResult result =
          ready.run({.deadline_ns = monotonic_ns() + whole * static_cast<uint64_t>(part) / kParts});
      if (result.status != ETB_OK && result.status != ETB_DEADLINE_EXCEEDED)
        return context.fail(
            fmt::format("{}: a run whose deadline passes returns {}, expected ETB_DEADLINE_EXCEEDED or "
                        "ETB_OK",
                        ready.name(), result.status));
      expect_right(context, ready, "after one whose deadline passed during the run");
      if (!context.outcome().findings.empty()) return;
    }
  });
}

constexpr Check kChecks[] = {
    {"run.stops-at-each-call", "A run that its token stops anywhere leaves a context that runs again.",
     "ABI-EXEC-01", stops_at_each_call},
    {"run.deadlines-during-a-run", "A run that its deadline stops anywhere leaves a context that runs again.",
     "ABI-EXEC-01", deadlines_during_a_run},
    {"run.cancel-without-a-run", "Cancel without a run does nothing.", "ABI-EXEC-01", cancel_without_a_run},
    {"run.cancel-during-runs",
     "A run that another thread cancels returns ETB_CANCELLED or its result, and the context runs again.",
     "ABI-EXEC-01", cancel_during_runs},
    {"run.cancel-of-another-context", "Cancel stops no run of another context.", "ABI-EXEC-03",
     cancel_of_another_context},
    {"run.cancel-stops-a-long-run", "Cancel stops a run that takes long.", "ABI-EXEC-01",
     cancel_stops_a_long_run},
    {"run.deadlines",
     "After its deadline a run returns ETB_DEADLINE_EXCEEDED or its result, and the context runs again.",
     "ABI-EXEC-01", deadlines},
};

}  // namespace

std::span<const Check> cancel_checks() { return kChecks; }

}  // namespace etb::conformance
