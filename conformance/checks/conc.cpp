// conc: several at once.
#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

constexpr uint32_t kThreads = 4;
constexpr int kRuns = 60;

// Runs on every thread until one result differs from what a run alone gave.
template <class Run>
void run_on_threads(CheckContext& context, uint32_t count, const std::vector<TensorData>& expected, Run run) {
  std::atomic<int> wrong{0}, failed{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRuns && wrong == 0 && failed == 0; ++i) {
        const RunResult result = run(t);
        if (result.status != ETB_OK) ++failed;
        for (size_t k = 0; k < expected.size() && result.status == ETB_OK; ++k)
          if (result.outputs[k].bytes != expected[k].bytes) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (failed != 0) context.fail("a run at the same time as others answered an error");
  if (wrong != 0) context.fail("a run at the same time as others gave another result than alone");
}

void contexts(CheckContext& context) {
  const auto subject = context.open({.is_validated = false});
  if (!subject) return;
  for (const ClaimedCase& item : context.claimed(*subject, 3)) {
    const auto session = context.make_session(*subject, item);
    if (!session) return;
    const std::vector<TensorData> expected = session->run(item.built.runs[0]).outputs;
    const uint32_t count = std::min(kThreads, session->info().max_contexts);
    std::vector<etb_context*> made(count, nullptr);
    etb_error error = ETB_ERROR_INIT;
    for (etb_context*& one : made)
      if (subject->table().delegate->context_create(session->delegate(), nullptr, 0, &one, &error) != ETB_OK) return context.fail(error.text);
    context.progress().at("runs on several contexts");
    run_on_threads(context, count, expected, [&](uint32_t t) { return session->run_on(made[t], item.built.runs[0]); });
    for (etb_context* one : made) (void)subject->table().delegate->context_destroy(one, &error);
  }
}

void delegates(CheckContext& context) {
  const auto subject = context.open({.is_validated = false});
  if (!subject) return;
  for (const ClaimedCase& item : context.claimed(*subject, 3)) {
    std::vector<std::unique_ptr<Session>> sessions;
    for (uint32_t i = 0; i < kThreads; ++i) {
      sessions.push_back(context.make_session(*subject, item));
      if (!sessions.back()) return;
    }
    const std::vector<TensorData> expected = sessions[0]->run(item.built.runs[0]).outputs;
    context.progress().at("runs on several delegates");
    run_on_threads(context, kThreads, expected, [&](uint32_t t) { return sessions[t]->run(item.built.runs[0]); });
  }
}

void different_delegates(CheckContext& context) {
  const auto subject = context.open({.is_validated = false});
  if (!subject) return;
  const std::vector<ClaimedCase> items = context.claimed(*subject, kThreads);
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::vector<TensorData>> expected;
  for (const ClaimedCase& item : items) {
    sessions.push_back(context.make_session(*subject, item));
    if (!sessions.back()) return;
    expected.push_back(sessions.back()->run(item.built.runs[0]).outputs);
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  context.progress().at("runs of different delegates");
  for (size_t t = 0; t < items.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRuns; ++i) {
        const RunResult result = sessions[t]->run(items[t].built.runs[0]);
        for (size_t k = 0; k < expected[t].size(); ++k)
          if (result.status != ETB_OK || result.outputs[k].bytes != expected[t][k].bytes) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (wrong != 0) context.fail("delegates of different payloads disturb each other");
}

void create_while_running(CheckContext& context) {
  const auto subject = context.open({.is_validated = false});
  if (!subject) return;
  for (const ClaimedCase& item : context.claimed(*subject)) {
    const auto session = context.make_session(*subject, item);
    if (!session) return;
    std::atomic<bool> is_done{false};
    std::atomic<int> failed{0};
    context.progress().at("create while another thread runs");
    std::thread runner([&] {
      while (!is_done) failed += session->run(item.built.runs[0]).status != ETB_OK ? 1 : 0;
    });
    for (int i = 0; i < kRuns; ++i)
      if (const Result<std::unique_ptr<Session>> made = Session::make(*subject, item.built, item.payload); !made) ++failed;
    is_done = true;
    runner.join();
    if (failed != 0) context.fail(fmt::format("{} calls failed while others created and ran", failed.load()));
  }
}

constexpr Check kChecks[] = {
    {"conc.contexts", "Contexts of one delegate run at the same time, as many as max_contexts says.", "ABI-EXEC-03", contexts},
    {"conc.delegates", "Delegates of one payload run at the same time.", "ABI-THREAD-01", delegates},
    {"conc.different-delegates", "Delegates of different payloads run at the same time.", "ABI-THREAD-01", different_delegates},
    {"conc.create-while-running", "Delegates are made and ended while others run.", "ABI-THREAD-01", create_while_running},
};

}  // namespace

std::span<const Check> conc_checks() { return kChecks; }

}  // namespace etb::conformance
