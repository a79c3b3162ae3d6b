// conc: several at once.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

constexpr uint32_t kThreads = 4;
constexpr int kRuns = 60;

// Inputs of thread t: the case's own elements, t places further, so that results of other threads are other results.
std::vector<TensorData> rotated(std::vector<TensorData> inputs, uint32_t t) {
  for (TensorData& input : inputs) {
    const size_t count = static_cast<size_t>(input.shape.numel()), step = element_nbytes(input.shape.dtype);
    if (count > 1)
      std::rotate(input.bytes.begin(), input.bytes.begin() + static_cast<long>(t % count * step),
                  input.bytes.end());
  }
  return inputs;
}

// Each thread has its own inputs; what it gets alone is what it must get among the others.
template <class Run>
void run_on_threads(CheckContext& context, uint32_t count, const std::vector<TensorData>& inputs, Run run) {
  std::vector<std::vector<TensorData>> given, expected;
  for (uint32_t t = 0; t < count; ++t) {
    given.push_back(rotated(inputs, t));
    expected.push_back(run(t, given[t]).outputs);
  }
  std::atomic<int> wrong{0}, failed{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRuns && wrong == 0 && failed == 0; ++i) {
        const RunResult result = run(t, given[t]);
        if (result.status != ETB_OK) ++failed;
        for (size_t k = 0; k < expected[t].size() && result.status == ETB_OK; ++k)
          if (result.outputs[k].bytes != expected[t][k].bytes) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (failed != 0) context.fail("a run at the same time as others answered an error");
  if (wrong != 0) context.fail("a run at the same time as others gave another result than alone");
}

// One case an op: what one op shares among instances another may not.
std::vector<ClaimedCase> one_of_each_op(CheckContext& context, Subject& subject) {
  return context.claimed(subject, 40);
}

void contexts(CheckContext& context) {
  const auto subject = context.open({.is_validated = false});
  if (!subject) return;
  for (const ClaimedCase& item : one_of_each_op(context, *subject)) {
    const auto session = context.make_session(*subject, item);
    if (!session) return;
    const uint32_t count = std::min(kThreads, session->info().max_contexts);
    std::vector<etb_context*> made(count, nullptr);
    etb_error error = ETB_ERROR_INIT;
    for (etb_context*& one : made)
      if (subject->table().delegate->context_create(session->delegate(), nullptr, 0, &one, &error) != ETB_OK)
        return context.fail(error.text);
    context.progress().at("runs on several contexts");
    run_on_threads(
        context, count, item.built.runs[0],
        [&](uint32_t t, const std::vector<TensorData>& inputs) { return session->run_on(made[t], inputs); });
    for (etb_context* one : made) (void)subject->table().delegate->context_destroy(one, &error);
  }
}

void delegates(CheckContext& context) {
  const auto subject = context.open({.is_validated = false});
  if (!subject) return;
  for (const ClaimedCase& item : one_of_each_op(context, *subject)) {
    std::vector<std::unique_ptr<Session>> sessions;
    for (uint32_t i = 0; i < kThreads; ++i) {
      sessions.push_back(context.make_session(*subject, item));
      if (!sessions.back()) return;
    }
    context.progress().at("runs on several delegates");
    run_on_threads(
        context, kThreads, item.built.runs[0],
        [&](uint32_t t, const std::vector<TensorData>& inputs) { return sessions[t]->run(inputs); });
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
      if (const Result<std::unique_ptr<Session>> made = Session::make(*subject, item.built, item.payload);
          !made)
        ++failed;
    is_done = true;
    runner.join();
    if (failed != 0) context.fail(fmt::format("{} calls failed while others created and ran", failed.load()));
  }
}

constexpr Check kChecks[] = {
    {"conc.contexts", "Contexts of one delegate run at the same time, as many as max_contexts says.",
     "ABI-EXEC-03", contexts},
    {"conc.delegates", "Delegates of one payload run at the same time.", "ABI-THREAD-01", delegates},
    {"conc.different-delegates", "Delegates of different payloads run at the same time.", "ABI-THREAD-01",
     different_delegates},
    {"conc.create-while-running", "Delegates are made and ended while others run.", "ABI-THREAD-01",
     create_while_running},
};

}  // namespace

std::span<const Check> conc_checks() { return kChecks; }

}  // namespace etb::conformance
