// SPDX-License-Identifier: Apache-2.0
// life: large numbers of objects and runs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

using Clock = std::chrono::steady_clock;

// A table of objects may have 64 or 256 places. Delegates of two payloads, alternately; each runs when all exist.
void many_delegates(CheckContext& context) {
  constexpr size_t kDelegates = 300;
  constexpr std::chrono::seconds kTime{3};
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::vector<ClaimedCase> items = context.claimed(*subject, 2);
  if (items.empty()) return;
  const auto end = Clock::now() + kTime;
  std::vector<std::unique_ptr<CaseSession>> sessions;
  std::vector<RunResult> expected;
  context.progress().at("many delegates at the same time");
  while (sessions.size() < kDelegates && (sessions.size() < 20 || Clock::now() < end)) {
    const ClaimedCase& item = items[sessions.size() % items.size()];
    auto made = CaseSession::make(*subject, item.built, item.payload);
    if (!made)
      return context.fail(
          fmt::format("create fails while {} delegates exist: {}", sessions.size(), made.error().message));
    sessions.push_back(std::move(*made));
    if (expected.size() < items.size()) expected.push_back(sessions.back()->run(item.built.runs[0]));
  }
  context.outcome().measured.emplace_back("life.delegates_at_once", static_cast<double>(sessions.size()));
  context.progress().restart();
  for (size_t i = 0; i < sessions.size(); ++i) {
    const size_t kind = i % items.size();
    const RunResult result = sessions[i]->run(items[kind].built.runs[0]);
    if (!has_same_result(result, expected[kind]))
      return context.fail(fmt::format("{}: delegate {} of {} that exist has another result than the first",
                                      items[kind].item->name, i + 1, sessions.size()));
  }
}

// Contexts of one delegate, each run when all exist.
void many_contexts(CheckContext& context) {
  constexpr uint32_t kContexts = 100;
  constexpr std::chrono::seconds kTime{3};
  context.each_session(bare(), 2, [&](ReadyCase& ready) {
    const etb_delegate_table& table = *ready.subject.table().delegate;
    const std::vector<TensorData> expected = ready.run().outputs;
    const auto end = Clock::now() + kTime;
    std::vector<etb_context*> made;
    etb_error error = ETB_ERROR_INIT;
    std::string text;
    context.progress().restart();
    context.progress().at("many contexts of one delegate");
    // More than max_contexts may exist; they run one after another. The session has one, too.
    const uint32_t most = ready.session.info().max_contexts, more = 3;
    const uint32_t wanted = most > kContexts ? kContexts : most + more;
    while (made.size() + 1 < wanted && text.empty() && (made.size() < 8 || Clock::now() < end)) {
      etb_context* one = nullptr;
      if (table.context_create(ready.session.delegate(), nullptr, 0, &one, &error) == ETB_OK)
        made.push_back(one);
      else
        text = fmt::format(
            "context_create fails while {} contexts exist, and more than max_contexts ({}) may: {}",
            made.size() + 1, most, error.text);
    }
    for (size_t i = 0; i < made.size() && text.empty(); ++i) {
      const RunResult result = ready.session.run_on(made[i], ready.inputs());
      if (result.status != ETB_OK || !has_same_outputs(result.outputs, expected))
        text = fmt::format("context {} of {} has another result than the first", i + 2, made.size() + 1);
    }
    for (etb_context* one : made) (void)table.context_destroy(one, &error);
    if (!text.empty()) context.fail(ready.name() + ": " + text);
  });
}

// Threads of a plugin may end when nothing runs for a while.
void after_a_pause(CheckContext& context) {
  constexpr std::chrono::milliseconds kPause{1200};
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::vector<ClaimedCase> items = context.claimed(*subject, 8);
  std::vector<std::unique_ptr<CaseSession>> sessions;
  std::vector<RunResult> expected;
  for (const ClaimedCase& item : items) {
    sessions.push_back(context.make_session(*subject, item));
    if (!sessions.back()) return;
    expected.push_back(sessions.back()->run(item.built.runs[0]));
  }
  std::this_thread::sleep_for(kPause);
  context.progress().restart();
  context.progress().at("a run after a pause");
  for (size_t i = 0; i < items.size(); ++i) {
    const RunResult result = sessions[i]->run(items[i].built.runs[0]);
    if (!has_same_result(result, expected[i]))
      context.fail(fmt::format("{}: {} ms after the last run a run has another result", items[i].item->name,
                               kPause.count()));
  }
}

// Runs one context until a counter of 16 bits begins again, if that takes at most a few seconds.
void many_runs(CheckContext& context) {
  constexpr uint32_t kRuns = 66000;
  constexpr std::chrono::seconds kTime{3};
  context.each_session(bare(), 1, [&](ReadyCase& ready) {
    const etb_delegate_table& table = *ready.subject.table().delegate;
    const std::vector<TensorData> expected = ready.run().outputs;
    const std::unique_ptr<PreparedRun> run = ready.session.prepare(ready.inputs());
    const auto end = Clock::now() + kTime;
    uint32_t count = 0;
    context.progress().at("many runs of one context");
    for (; count < kRuns && (count < 300 || Clock::now() < end); ++count) {
      etb_error error = ETB_ERROR_INIT;
      if (const etb_status status = table.execute(ready.session.context(), &run->args, &error);
          status != ETB_OK)
        return context.fail(fmt::format("{}: run {} of one context returns {}: {}", ready.name(), count + 1,
                                        status, error.text));
      for (size_t i = 0; i < expected.size(); ++i)
        if (const std::byte* const data = run->slots[run->args.input_count + i].data;
            !std::equal(expected[i].bytes.begin(), expected[i].bytes.end(), data))
          return context.fail(fmt::format("{}: run {} of one context has another result than the first",
                                          ready.name(), count + 1));
    }
    context.outcome().measured.emplace_back("life.runs_of_a_context", static_cast<double>(count));
  });
}

constexpr Check kChecks[] = {
    {"life.many-delegates", "300 delegates exist at the same time and run, fewer if they take long.",
     "ABI-OWN-02", many_delegates},
    {"life.many-contexts",
     "More contexts of a delegate than max_contexts exist and run in turn, at most 100.", "ABI-EXEC-03",
     many_contexts},
    {"life.after-a-pause", "A run has the same result when nothing ran for a second.", "ABI-EXEC-03",
     after_a_pause},
    {"life.many-runs", "One context runs 66,000 times, less often if that takes long.", "ABI-EXEC-03",
     many_runs},
};

}  // namespace

std::span<const Check> many_checks() { return kChecks; }

}  // namespace etb::conformance
