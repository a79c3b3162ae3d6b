// SPDX-License-Identifier: Apache-2.0
// hyg: threads of the host after runs that ended early.
#include <fmt/format.h>

#include <atomic>
#include <functional>
#include <thread>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/long_case.hpp"
#include "conformance/subject/monotonic_clock.hpp"
#include "conformance/subject/process_attributes.hpp"

namespace etb::conformance {
namespace {

// A way to end a run early. Returns the status of the run.
struct EarlyEnd {
  std::string text;
  std::function<etb_status(ReadyCase&)> run;
};

// The token says stop at a call of it, counted from 1.
etb_status run_with_token(ReadyCase& ready, int call) {
  std::atomic<int> left{call};
  const etb_cancel_token token = {ETB_INIT_SIZE(etb_cancel_token), 0, &left, [](void* ctx) {
                                    return --*static_cast<std::atomic<int>*>(ctx) <= 0 ? 1u : 0u;
                                  }};
  return ready.run({.cancel = &token}).status;
}

// Another thread cancels the run again and again, after some time.
etb_status run_and_cancel(ReadyCase& ready, uint64_t wait_ns) {
  std::atomic<bool> is_over{false};
  const uint64_t begin = monotonic_ns();
  std::thread other([&] {
    while (!is_over) {
      etb_error error = ETB_ERROR_INIT;
      if (monotonic_ns() - begin >= wait_ns)
        (void)ready.subject.table().delegate->cancel(ready.session.context(), &error);
      std::this_thread::yield();
    }
  });
  const etb_status status = ready.run().status;
  is_over = true;
  other.join();
  return status;
}

std::vector<EarlyEnd> early_ends(ReadyCase& ready, uint64_t whole_ns) {
  constexpr uint64_t kParts = 4;
  std::vector<EarlyEnd> out;
  for (const int call : {1, 2, 3, 5, 9, 17, 40})
    out.push_back({fmt::format("its token stopped at call {}", call),
                   [call](ReadyCase& now) { return run_with_token(now, call); }});
  for (uint64_t part = 0; part < kParts; ++part)
    out.push_back(
        {fmt::format("its deadline stopped after {} of {} parts", part, kParts), [=](ReadyCase& now) {
           return now.run({.deadline_ns = monotonic_ns() + part * whole_ns / kParts}).status;
         }});
  if ((ready.subject.table().delegate->caps & ETB_DELEGATE_CAP_CANCEL) != 0)
    for (uint64_t part = 0; part < kParts; ++part)
      out.push_back({fmt::format("cancel() stopped after {} of {} parts", part, kParts),
                     [=](ReadyCase& now) { return run_and_cancel(now, part * whole_ns / kParts); }});
  return out;
}

// Runs on a thread of its own, whose attributes are compared.
void watch_early_ends(CheckContext& context, ReadyCase& ready) {
  (void)ready.run();
  const uint64_t begin = monotonic_ns();
  (void)ready.run();
  const uint64_t whole = monotonic_ns() - begin;
  for (const EarlyEnd& end : early_ends(ready, whole)) {
    std::string difference;
    etb_status status = ETB_OK;
    context.progress().restart();
    context.progress().at(("a run that " + end.text).c_str());
    std::thread([&] {
      const ProcessAttributes before = read_process_attributes();
      status = end.run(ready);
      difference = find_difference(before, read_process_attributes());
    }).join();
    if (!difference.empty())
      return context.fail(fmt::format("{}: a run that {} returns {} and changes its thread: {}", ready.name(),
                                      end.text, status, difference));
  }
}

// With one worker the run is on the caller's thread, with several also on others.
void attributes_after_stopped_runs(CheckContext& context) {
  for (const uint32_t workers : {1u, 4u}) {
    SubjectOptions host = bare();
    host.worker_count = workers;
    const auto subject = context.open(host);
    if (!subject) return;
    std::vector<ClaimedCase> items = every_long_claimed(*subject);
    for (const char* pattern : {"op.*.large*", "model.*"})
      for (ClaimedCase& item : context.find_claimed_of_ops(*subject, pattern, context.cases(6, 20)))
        items.push_back(std::move(item));
    if (items.empty()) return context.skip("the plugin claims no large case");
    context.each_session(*subject, items, [&](ReadyCase& ready) { watch_early_ends(context, ready); });
    if (!context.outcome().findings.empty()) return;
  }
}

constexpr Check kChecks[] = {
    {"hyg.attributes-after-stopped-runs",
     "A run that a token, a deadline or cancel() ends leaves the attributes of its thread as they are.",
     "ABI-HYG-01", attributes_after_stopped_runs},
};

}  // namespace

std::span<const Check> stopped_thread_checks() { return kChecks; }

}  // namespace etb::conformance
