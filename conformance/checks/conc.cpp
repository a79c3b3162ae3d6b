// SPDX-License-Identifier: Apache-2.0
// conc: concurrent use.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "conformance/checks/async_run.hpp"
#include "conformance/checks/concurrent_runs.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/option_trial.hpp"

namespace etb::conformance {
namespace {

constexpr uint32_t kThreadCounts[] = {2, 4, 8};
constexpr double kMostAtOnce = 2 + 4 + 8;
constexpr int kRuns = 60;
constexpr double kLeastRuns = 4;  // minimum for each thread on a slow device
// Enough cases for one of each op: ops share different state among instances.
constexpr size_t kOneOfEachOp = 40;

// Each thread has its own inputs. Its result alone must equal its result among the others.
template <class Run>
void run_on_threads(CheckContext& context, uint32_t count, int runs, const std::vector<TensorData>& inputs,
                    Run run) {
  std::vector<std::vector<TensorData>> given, expected;
  for (uint32_t t = 0; t < count; ++t) {
    given.push_back(rotated(inputs, t));
    expected.push_back(run(t, given[t]).outputs);
  }
  std::atomic<int> wrong{0}, failed{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < runs && wrong == 0 && failed == 0; ++i) {
        const RunResult result = run(t, given[t]);
        if (result.status != ETB_OK) ++failed;
        for (size_t k = 0; k < expected[t].size() && result.status == ETB_OK; ++k)
          if (result.outputs[k].bytes != expected[t][k].bytes) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (failed != 0) context.fail("a run that was concurrent with others failed");
  if (wrong != 0) context.fail("a run that was concurrent with others returned another result than alone");
}

void contexts(CheckContext& context) {
  // Each context runs alone, then several times among the others.
  constexpr double kRunsOfEach = kMostAtOnce * (1 + kLeastRuns);
  const size_t count_of_cases = context.cases(kOneOfEachOp, kRunsOfEach);
  context.each_session(bare(), count_of_cases, [&](ReadyCase& ready) {
    context.progress().restart();
    const etb_delegate_table& table = *ready.subject.table().delegate;
    for (const uint32_t wanted : kThreadCounts) {
      const uint32_t count = std::min(wanted, ready.session.info().max_contexts);
      std::vector<etb_context*> made(count, nullptr);
      etb_error error = ETB_ERROR_INIT;
      for (etb_context*& one : made)
        if (table.context_create(ready.session.delegate(), nullptr, 0, &one, &error) != ETB_OK)
          return context.fail(error.text);
      context.progress().at("runs on several contexts");
      const int runs = context.repeats(kRuns, static_cast<double>(count_of_cases) * kMostAtOnce);
      run_on_threads(context, count, runs, ready.inputs(),
                     [&](uint32_t t, const std::vector<TensorData>& inputs) {
                       return ready.session.run_on(made[t], inputs);
                     });
      for (etb_context* one : made) (void)table.context_destroy(one, &error);
    }
  });
}

void delegates(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::vector<ClaimedCase> items =
      context.claimed(*subject, context.cases(kOneOfEachOp, kThreads * (1 + kLeastRuns)));
  for (const ClaimedCase& item : items) {
    context.progress().restart();
    std::vector<std::unique_ptr<CaseSession>> sessions;
    for (uint32_t i = 0; i < kThreads; ++i) {
      sessions.push_back(context.make_session(*subject, item));
      if (!sessions.back()) return;
    }
    context.progress().at("runs on several delegates");
    run_on_threads(context, kThreads, context.repeats(kRuns, static_cast<double>(items.size()) * kThreads),
                   item.built.runs[0], [&](uint32_t t, const std::vector<TensorData>& inputs) {
                     return sessions[t]->run(inputs);
                   });
  }
}

void without_pauses(CheckContext& context) {
  constexpr size_t kCases = 16, kDynamicCases = 24;
  constexpr std::chrono::milliseconds kTime{30};
  const auto subject = context.open(bare());
  if (!subject) return;
  std::vector<ClaimedCase> items = context.claimed(*subject, context.cases(kCases, 4 * kThreads));
  if (items.empty()) return;
  // Graphs of several nodes have values between them, whose memory may be shared.
  for (ClaimedCase& item : context.find_claimed_like(*subject, "model.long_lives.*", 4))
    items.push_back(std::move(item));
  // So may sizes of a run.
  for (ClaimedCase& item :
       context.find_claimed_of_ops(*subject, "dyn.*", context.cases(kDynamicCases, 4 * kThreads)))
    items.push_back(std::move(item));
  for (const ClaimedCase& item : items) {
    context.progress().restart();
    if (!run_without_pauses(context, *subject, item, kTime)) return;
  }
}

// The first claimed cases, which are short, and those with the most elements, whose runs overlap for longer.
std::vector<ClaimedCase> short_and_long(CheckContext& context, Subject& subject, size_t count) {
  std::vector<ClaimedCase> items = context.claimed(subject, 40);
  if (items.size() <= 2 * count) return items;
  const auto elements = [](const ClaimedCase& item) {
    int64_t sum = 0;
    for (const TensorData& input : item.built.runs[0]) sum += input.shape.numel();
    return sum;
  };
  const auto first_long = items.begin() + static_cast<std::ptrdiff_t>(count);
  std::stable_sort(first_long, items.end(),
                   [&](const ClaimedCase& a, const ClaimedCase& b) { return elements(a) > elements(b); });
  items.erase(first_long + static_cast<std::ptrdiff_t>(count), items.end());
  return items;
}

// Delegates may need memory for an option, which contexts must not share.
void with_options(CheckContext& context) {
  constexpr std::chrono::milliseconds kTime{40};
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::vector<OptionFacts> known = options_of(*subject, context);
  size_t count = 0;
  for (const ClaimedCase& item : short_and_long(context, *subject, context.cases(4, 4 * kThreads)))
    for (const OptionFacts& facts : known) {
      if (!facts.has(ETB_OBJECT_DELEGATE) || facts.key == kLoseDevice) continue;
      std::vector<etb_option> values = ordinary_values(facts);
      for (const etb_option& inner : inner_values(facts)) values.push_back(inner);
      for (const etb_option& option : values) {
        ++count;
        context.progress().restart();
        if (!run_without_pauses(context, *subject, item, kTime, {option})) return;
      }
    }
  if (count == 0 && context.outcome().findings.empty())
    context.skip("the plugin has no options of delegates");
}

void different_delegates(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::vector<ClaimedCase> items = context.claimed(*subject, kThreads);
  std::vector<std::unique_ptr<CaseSession>> sessions;
  std::vector<std::vector<TensorData>> expected;
  for (const ClaimedCase& item : items) {
    sessions.push_back(context.make_session(*subject, item));
    if (!sessions.back()) return;
    expected.push_back(sessions.back()->run(item.built.runs[0]).outputs);
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  context.progress().at("runs of different delegates");
  const int runs = context.repeats(kRuns, kThreads);
  for (size_t t = 0; t < items.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < runs; ++i) {
        const RunResult result = sessions[t]->run(items[t].built.runs[0]);
        for (size_t k = 0; k < expected[t].size(); ++k)
          if (result.status != ETB_OK || result.outputs[k].bytes != expected[t][k].bytes) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (wrong != 0) context.fail("delegates of different payloads disturb each other");
}

void create_while_running(CheckContext& context) {
  context.each_session(bare(), 1, [&](ReadyCase& ready) {
    std::atomic<bool> is_done{false};
    std::atomic<int> failed{0};
    context.progress().at("create while another thread runs");
    std::thread runner([&] {
      while (!is_done) failed += ready.run().status != ETB_OK ? 1 : 0;
    });
    for (int i = 0; i < kRuns; ++i)
      if (const Result<std::unique_ptr<CaseSession>> made =
              CaseSession::make(ready.subject, ready.item.built, ready.item.payload);
          !made)
        ++failed;
    is_done = true;
    runner.join();
    if (failed != 0) context.fail(fmt::format("{} calls failed while others created and ran", failed.load()));
  });
}

// Uses a token that requests a stop from the start, and one that requests it during the runs.
void cancelled_runs(CheckContext& context) {
  context.each_session(bare(), 3, [&](ReadyCase& ready) {
    const std::vector<TensorData> expected = ready.run().outputs;
    std::atomic<uint32_t> stops{1};
    const etb_cancel_token token = {ETB_INIT_SIZE(etb_cancel_token), 0, &stops, [](void* ctx) {
                                      return static_cast<std::atomic<uint32_t>*>(ctx)->load();
                                    }};
    context.progress().at("cancelled runs");
    std::thread canceller([&] {
      for (int i = 0; i < 40; ++i) {
        stops = static_cast<uint32_t>(i % 2);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
    for (int i = 0; i < context.repeats(kRuns, 3); ++i) {
      const RunResult result = ready.run({.cancel = &token});
      if (result.status != ETB_OK && result.status != ETB_CANCELLED)
        context.fail(fmt::format("{}: a cancelled run returns {}, expected ETB_CANCELLED or ETB_OK",
                                 ready.name(), result.status));
      if (!context.outcome().findings.empty()) break;
    }
    canceller.join();
    const RunResult after = ready.run();
    for (size_t k = 0; k < expected.size(); ++k)
      if (after.status != ETB_OK || after.outputs[k].bytes != expected[k].bytes)
        return context.fail(ready.name() + ": after cancelled runs the context does not run as before");
  });
}

// Exit codes of a forked process.
enum : int { kEndsWell = 0, kWrongResult = 1, kNoSignal = 2 };

bool is_asynchronous(ReadyCase& ready) {
  return (ready.subject.table().delegate->caps & ETB_DELEGATE_CAP_EXECUTE_ASYNC) != 0;
}

// Runs in a forked process. An asynchronous run may be refused; one that was started is signalled.
int run_after_a_fork(ReadyCase& ready, const std::vector<TensorData>& expected,
                     std::chrono::milliseconds patience) {
  const RunResult result = ready.run();
  for (size_t k = 0; result.status == ETB_OK && k < expected.size(); ++k)
    if (result.outputs[k].bytes != expected[k].bytes) return kWrongResult;
  if (!is_asynchronous(ready)) return kEndsWell;
  auto* const run = new AsyncRun(ready, ready.inputs());  // the process ends before the run is over
  run->start(ready);
  return run->started != ETB_OK || run->signals[0].wait(patience) ? kEndsWell : kNoSignal;
}

std::string end_after_a_fork(int status) {
  if (!WIFEXITED(status)) return "a run in a forked process crashes, expected an error or the result";
  if (WEXITSTATUS(status) == kEndsWell) return "";
  return WEXITSTATUS(status) == kNoSignal
             ? "in a forked process an asynchronous run is started, and its fence is not signalled"
             : "a run in a forked process returns a wrong result";
}

// After a fork, the child must get an error or the right result: no hang, no crash.
void after_a_fork(CheckContext& context) {
  context.each_session(bare(), 1, [&](ReadyCase& ready) {
    const std::vector<TensorData> expected = ready.run().outputs;
    if (is_asynchronous(ready)) {  // starts the threads that a forked process has not
      auto run = std::make_unique<AsyncRun>(ready, ready.inputs());
      run->start(ready);
      if (run->started == ETB_OK && !expect_signalled(context, ready, run)) return;
    }
    const pid_t child = ::fork();
    if (child == 0) ::_exit(run_after_a_fork(ready, expected, context.patience() / 2));
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    int status = 0;
    bool has_ended = false;
    while (!has_ended && Clock::now() - begin < context.patience()) {
      has_ended = ::waitpid(child, &status, WNOHANG) != 0;
      if (!has_ended) ::usleep(1000);
    }
    if (!has_ended) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      context.fail("a run in a forked process hangs, expected an error or the result");
    } else if (const std::string text = end_after_a_fork(status); !text.empty()) {
      context.fail(text);
    }
  });
}

constexpr Check kChecks[] = {
    {"conc.contexts", "As many contexts of one delegate as max_contexts run at the same time.", "ABI-EXEC-03",
     contexts},
    {"conc.delegates", "Delegates of one payload run at the same time.", "ABI-THREAD-01", delegates},
    {"conc.without-pauses", "Contexts of two delegates run in loops without anything between the runs.",
     "ABI-THREAD-01", without_pauses},
    {"conc.with-options", "So do contexts of delegates that were created with each value of an option.",
     "ABI-THREAD-01", with_options},
    {"conc.different-delegates", "Delegates of different payloads run at the same time.", "ABI-THREAD-01",
     different_delegates},
    {"conc.create-while-running", "Delegates are created and destroyed while others run.", "ABI-THREAD-01",
     create_while_running},
    {"conc.cancelled-runs",
     "A cancelled run returns ETB_CANCELLED or its result, and the context stays usable.", "ABI-EXEC-01",
     cancelled_runs},
    {"conc.after-a-fork",
     "In a forked process a run returns an error or the result, and fences of a started one are signalled.",
     "", after_a_fork},
};

}  // namespace

std::span<const Check> conc_checks() { return kChecks; }

}  // namespace etb::conformance
