// SPDX-License-Identifier: Apache-2.0
// conc: runs at the same time, each with events or limits of its own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "conformance/checks/concurrent_runs.hpp"
#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

// Contexts of one delegate, one for each thread as far as max_contexts allows. The first is the session's own.
class Contexts {
 public:
  Contexts(CheckContext& context, ReadyCase& ready)
      : table_(*ready.subject.table().delegate), all_{ready.session.context()} {
    etb_error error = ETB_ERROR_INIT;
    while (all_.size() < std::min(kThreads, ready.session.info().max_contexts)) {
      etb_context* one = nullptr;
      if (table_.context_create(ready.session.delegate(), nullptr, 0, &one, &error) != ETB_OK) {
        context.fail(ready.name() + ": context_create: " + error.text);
        return;
      }
      all_.push_back(one);
    }
  }
  ~Contexts() {
    etb_error error = ETB_ERROR_INIT;
    for (size_t i = 1; i < all_.size(); ++i) (void)table_.context_destroy(all_[i], &error);
  }
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  size_t count() const { return all_.size(); }
  etb_context* operator[](size_t i) const { return all_[i]; }

 private:
  const etb_delegate_table& table_;
  std::vector<etb_context*> all_;
};

// Events of one run, without times. A plugin with a fault may report on any thread.
class Events {
 public:
  const etb_event_sink& sink() const { return sink_; }
  std::vector<std::string> take() {
    const std::lock_guard guard(lock_);
    std::sort(found_.begin(), found_.end());  // a plugin with threads may report them in any order
    return std::exchange(found_, {});
  }

 private:
  static etb_status ETB_CALL put(void* ctx, const etb_event* event) {
    Events& self = *static_cast<Events*>(ctx);
    const std::lock_guard guard(self.lock_);
    self.found_.push_back(fmt::format("{} {}", event->debug_id, event->name != nullptr ? event->name : ""));
    return ETB_OK;
  }

  std::mutex lock_;
  std::vector<std::string> found_;
  etb_event_sink sink_ = {ETB_INIT_SIZE(etb_event_sink), 0, this, put};
};

// Single ops and graphs.
std::vector<ClaimedCase> ops_and_graphs(CheckContext& context, Subject& subject) {
  std::vector<ClaimedCase> items = context.claimed(subject, context.cases(6, kThreads * 8));
  for (ClaimedCase& item : context.find_claimed_like(subject, "model.*", 6)) items.push_back(std::move(item));
  return items;
}

void events_at_once(CheckContext& context) {
  constexpr int kRuns = 40;
  const auto subject = context.open(bare());
  if (!subject) return;
  bool has_events = false;
  context.each_session(*subject, ops_and_graphs(context, *subject), [&](ReadyCase& ready) {
    const Contexts contexts(context, ready);
    std::array<Events, kThreads> events;
    const auto run = [&](uint32_t t) {
      (void)ready.session.run_on(contexts[t], ready.inputs(), {.events = &events[t].sink()});
      return events[t].take();
    };
    if (contexts.count() < 2) return;
    const std::vector<std::string> expected = run(0);
    has_events = has_events || !expected.empty();
    if (expected.empty() || run(1) != expected)
      return;  // other checks compare the events of runs one after another
    context.progress().restart();
    context.progress().at("runs with events at once");
    const std::string text = at_once(context.repeats(kRuns, kThreads * 12.0), [&](uint32_t t) -> std::string {
      if (t >= contexts.count()) return {};
      const std::vector<std::string> found = run(t);
      if (found == expected) return {};
      return fmt::format(
          "{}: beside other runs a run reports {} events, expected the {} that it reports alone",
          ready.name(), found.size(), expected.size());
    });
    if (!text.empty()) context.fail(text);
  });
  if (!has_events && context.outcome().findings.empty()) context.skip("the plugin reports no events");
}

// Runs whose deadline has passed or whose token says stop, beside runs without limits.
void stops_at_once(CheckContext& context) {
  constexpr int kRuns = 40;
  const auto subject = context.open(bare());
  if (!subject) return;
  const etb_cancel_token stop = {ETB_INIT_SIZE(etb_cancel_token), 0, nullptr,
                                 [](void*) { return uint32_t{1}; }};
  context.each_session(*subject, ops_and_graphs(context, *subject), [&](ReadyCase& ready) {
    const Contexts contexts(context, ready);
    if (contexts.count() < 2) return;
    const std::vector<TensorData> expected = ready.run().outputs;
    context.progress().restart();
    context.progress().at("runs beside runs that are stopped");
    const std::string text = at_once(context.repeats(kRuns, kThreads * 12.0), [&](uint32_t t) -> std::string {
      if (t >= contexts.count()) return {};
      RunOptions options;
      if (t == 1) options.deadline_ns = 1;
      if (t == 2) options.cancel = &stop;
      const RunResult result = ready.session.run_on(contexts[t], ready.inputs(), options);
      const bool is_stopped =
          (t == 1 && result.status == ETB_DEADLINE_EXCEEDED) || (t == 2 && result.status == ETB_CANCELLED);
      if (is_stopped || (result.status == ETB_OK && has_same_outputs(result.outputs, expected))) return {};
      return fmt::format("{}: beside runs that are stopped a run {} returns {} or another result than alone",
                         ready.name(),
                         t == 1   ? "with a passed deadline"
                         : t == 2 ? "that is cancelled"
                                  : "without limits",
                         result.status);
    });
    if (!text.empty()) context.fail(text);
  });
}

// Other contexts of the delegate begin and end beside the runs of one.
void contexts_come_and_go(CheckContext& context) {
  constexpr int kRuns = 40;
  const auto subject = context.open(bare());
  if (!subject) return;
  context.each_session(*subject, ops_and_graphs(context, *subject), [&](ReadyCase& ready) {
    const etb_delegate_table& table = *ready.subject.table().delegate;
    // The session's own context, and one of each other thread.
    const uint32_t others = std::min(kThreads, ready.session.info().max_contexts) - 1;
    const std::vector<TensorData> expected = ready.run().outputs;
    context.progress().restart();
    context.progress().at("runs beside contexts that begin and end");
    const std::string text = at_once(context.repeats(kRuns, kThreads * 12.0), [&](uint32_t t) -> std::string {
      if (t > others) return {};
      etb_context* own = nullptr;
      etb_error error = ETB_ERROR_INIT;
      if (t > 0 && table.context_create(ready.session.delegate(), nullptr, 0, &own, &error) != ETB_OK)
        return ready.name() + ": context_create beside runs fails: " + error.text;
      const RunResult result = t == 0 ? ready.run() : ready.session.run_on(own, ready.inputs());
      if (own != nullptr) (void)table.context_destroy(own, &error);
      if (result.status == ETB_OK && has_same_outputs(result.outputs, expected)) return {};
      return ready.name() +
             ": beside contexts that begin and end a run fails or has another result than alone";
    });
    if (!text.empty()) context.fail(text);
  });
}

constexpr Check kChecks[] = {
    {"conc.events-at-once",
     "Runs on several contexts report the events that they report alone, each to its own sink.",
     "ABI-EXEC-03", events_at_once},
    {"conc.contexts-come-and-go", "A context runs while others of its delegate are created and destroyed.",
     "ABI-THREAD-01", contexts_come_and_go},
    {"conc.stops-at-once", "Runs without limits end beside runs that their deadline or token stops.",
     "ABI-EXEC-03", stops_at_once},
};

}  // namespace

std::span<const Check> concurrent_option_checks() { return kChecks; }

}  // namespace etb::conformance
