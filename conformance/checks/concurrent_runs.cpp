// SPDX-License-Identifier: Apache-2.0
#include "conformance/checks/concurrent_runs.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "conformance/checks/option_trial.hpp"

namespace etb::conformance {

std::vector<TensorData> rotated(std::vector<TensorData> inputs, uint32_t t) {
  for (TensorData& input : inputs) {
    const size_t count = static_cast<size_t>(input.shape.numel()), step = element_nbytes(input.shape.dtype);
    if (count > 1)
      std::rotate(input.bytes.begin(), input.bytes.begin() + static_cast<long>(t % count * step),
                  input.bytes.end());
  }
  return inputs;
}

namespace {

// A thread's context, run and expected outputs.
struct Lane {
  etb_context* context = nullptr;
  std::unique_ptr<PreparedRun> run;
  std::vector<TensorData> expected;
};

// Executes prepared runs, with nothing between them: runs of a microsecond overlap, too.
void loop_of_runs(CheckContext& context, const etb_delegate_table& table, std::vector<Lane>& lanes,
                  std::chrono::milliseconds time) {
  std::atomic<uint32_t> waiting{static_cast<uint32_t>(lanes.size())};
  std::atomic<int> wrong{0}, failed{0};
  std::vector<std::thread> threads;
  for (Lane& lane : lanes)
    threads.emplace_back([&] {
      for (--waiting; waiting != 0;) std::this_thread::yield();
      const auto end = std::chrono::steady_clock::now() + time;
      for (int i = 0; wrong == 0 && failed == 0 && (i < 2 || std::chrono::steady_clock::now() < end); ++i) {
        etb_error error = ETB_ERROR_INIT;
        if (table.execute(lane.context, &lane.run->args, &error) != ETB_OK) ++failed;
        size_t slot = lane.run->args.input_count;
        for (const TensorData& expected : lane.expected)
          if (const std::byte* const data = lane.run->slots[slot++].data;
              !std::equal(expected.bytes.begin(), expected.bytes.end(), data))
            ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (failed != 0) context.fail("a run that was concurrent with others failed");
  if (wrong != 0) context.fail("a run that was concurrent with others returned another result than alone");
}

}  // namespace

bool run_without_pauses(CheckContext& context, Subject& subject, const ClaimedCase& item,
                        std::chrono::milliseconds time, const std::vector<etb_option>& options) {
  const etb_delegate_table& table = *subject.table().delegate;
  std::unique_ptr<CaseSession> sessions[2];
  for (std::unique_ptr<CaseSession>& session : sessions) {
    context.progress().at("create");
    Result<std::unique_ptr<CaseSession>> made = CaseSession::make(subject, item.built, item.payload, options);
    if (!made && options.empty()) context.fail(item.item->name + ": create fails: " + made.error().message);
    if (!made) return options.empty() ? false : true;  // opt.values-at-each-scope reports it
    session = *std::move(made);
  }
  // Memory between nodes may be shared by later contexts only.
  const uint32_t wanted = item.item->name.starts_with("model.") ? 2 * kThreads : kThreads;
  const uint32_t count = std::min(wanted, 2 * sessions[0]->info().max_contexts);
  std::vector<Lane> lanes(count);
  etb_error error = ETB_ERROR_INIT;
  context.progress().at("runs without pauses");
  for (uint32_t t = 0; t < count; ++t) {
    CaseSession& session = *sessions[t % 2];
    const std::vector<TensorData> inputs = rotated(item.built.runs[t % item.built.runs.size()], t);
    if (table.context_create(session.delegate(), nullptr, 0, &lanes[t].context, &error) != ETB_OK)
      return context.fail(error.text), false;
    lanes[t].expected = session.run_on(lanes[t].context, inputs).outputs;
    lanes[t].run = session.prepare(inputs);
  }
  loop_of_runs(context, table, lanes, time);
  for (const Lane& lane : lanes) (void)table.context_destroy(lane.context, &error);
  if (context.outcome().findings.empty()) return true;
  return context.fail(item.item->name + (options.empty() ? "" : ", with " + to_text(options[0]))), false;
}

}  // namespace etb::conformance
