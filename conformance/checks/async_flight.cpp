// SPDX-License-Identifier: Apache-2.0
// run: asynchronous runs that wait, meet others, are cancelled or profiled, and contexts that end meanwhile.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "conformance/checks/async_run.hpp"
#include "conformance/checks/long_case.hpp"
#include "conformance/subject/monotonic_clock.hpp"
#include "conformance/subject/process_facts.hpp"

namespace etb::conformance {
namespace {

constexpr std::chrono::milliseconds kMoment{30};

// Returns other inputs that the case's rule allows: the same elements, last first.
std::vector<TensorData> reversed(std::vector<TensorData> inputs) {
  for (TensorData& input : inputs) {
    const size_t size = element_nbytes(input.shape.dtype), count = input.bytes.size() / size;
    for (size_t i = 0; i < count / 2; ++i)
      std::swap_ranges(input.bytes.begin() + static_cast<std::ptrdiff_t>(i * size),
                       input.bytes.begin() + static_cast<std::ptrdiff_t>((i + 1) * size),
                       input.bytes.begin() + static_cast<std::ptrdiff_t>((count - 1 - i) * size));
  }
  return inputs;
}

// A run behind one gate, or behind two.
struct GatedRun {
  GatedRun(ReadyCase& ready, const std::vector<TensorData>& inputs, const Gate& gate,
           const Gate* second = nullptr)
      : run(std::make_unique<AsyncRun>(ready, inputs)),
        waits{gate.fence(), second != nullptr ? second->fence() : etb_fence{}} {
    run->run->args.wait = waits;
    run->run->args.wait_count = second != nullptr ? 2 : 1;
  }
  std::unique_ptr<AsyncRun> run;
  etb_fence waits[2];
};

// Writes the inputs of a run, as the work that it waits for would.
void write_inputs(PreparedRun& run, const std::vector<TensorData>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].bytes.empty())
      std::memcpy(run.slots[i].data, inputs[i].bytes.data(), inputs[i].bytes.size());
}

// Contexts beside the session's own.
class Contexts {
 public:
  Contexts(CheckContext& context, ReadyCase& ready, size_t count) : ready_(ready) {
    etb_error error = ETB_ERROR_INIT;
    for (size_t i = 0; i < count; ++i) {
      etb_context* made = nullptr;
      if (ready.subject.table().delegate->context_create(ready.session.delegate(), nullptr, 0, &made,
                                                         &error) == ETB_OK)
        all_.push_back(made);
      else
        context.fail(ready.name() + ": context_create fails: " + error.text);
    }
  }
  ~Contexts() {
    for (etb_context* each : all_) (void)ready_.subject.table().delegate->context_destroy(each, nullptr);
  }
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  const std::vector<etb_context*>& all() const { return all_; }
  // They stay: a call on them has not ended.
  void abandon() { all_.clear(); }

 private:
  ReadyCase& ready_;
  std::vector<etb_context*> all_;
};

}  // namespace

// The inputs are written while the run waits.
void wait_fences(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || !has_async(context, *subject)) return;
  context.each_session(*subject, context.claimed(*subject, 4), [&](ReadyCase& ready) {
    const RunResult known = ready.run();
    if (known.status != ETB_OK) return;
    constexpr int kFirst = 1;  // the first run may open what the plugin keeps
    const int runs = kFirst + context.repeats(4);
    size_t descriptors = 0;
    for (int i = 0; i < runs; ++i) {
      if (i == kFirst) descriptors = open_descriptor_count();
      // Two fences in both orders: the first that opens is not enough.
      Gate gate, early;
      const bool is_first = i % 2 == 0;
      GatedRun gated(ready, reversed(ready.inputs()), is_first ? gate : early, is_first ? &early : &gate);
      context.progress().at("execute_async with two fences to wait for");
      gated.run->start(ready);
      if (!expect_started(context, ready, *gated.run)) return;
      early.open();
      if (gated.run->signals[0].wait(kMoment))
        return context.fail(ready.name() + ": a run ends before the fence that it waits for is reached");
      write_inputs(*gated.run->run, ready.inputs());
      gate.open();
      if (!expect_outputs(context, ready, gated.run, known.outputs)) return;
    }
    if (const size_t now = open_descriptor_count(); now >= descriptors + static_cast<size_t>(runs - kFirst))
      context.fail(fmt::format("{}: {} runs that waited for fences leave {} open descriptors", ready.name(),
                               runs - kFirst, now - descriptors));
  });
}

// A fence whose kind the plugin cannot know.
void unknown_fences(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || !has_async(context, *subject)) return;
  context.each_session(*subject, context.claimed(*subject, 2), [&](ReadyCase& ready) {
    for (const auto& [is_wait, kind] :
         {std::pair{true, "com.example.unknown"}, {false, "com.example.unknown"}, {true, "callback"}}) {
      Gate gate;
      auto run = std::make_unique<AsyncRun>(ready, ready.inputs());
      etb_fence unknown = gate.fence();
      unknown.kind = kind;
      if (std::string_view(kind) == "callback") {  // cannot be waited for
        unknown.fd = -1;
        unknown.signal = [](void*, etb_status) {};
      }
      if (is_wait) {
        run->run->args.wait = &unknown;
        run->run->args.wait_count = 1;
      } else {
        run->fences[1] = unknown;  // between two that it knows
      }
      context.progress().at("execute_async with a fence of an unknown kind");
      run->start(ready);
      if (run->started != ETB_OK && run->started != ETB_NOT_SUPPORTED)
        context.fail(
            fmt::format("{}: execute_async refuses a fence of the kind '{}' with {}, expected "
                        "ETB_NOT_SUPPORTED",
                        ready.name(), kind, run->started));
      if (run->started == ETB_OK) {
        context.fail(fmt::format("{}: execute_async takes a fence to {} of the kind '{}'", ready.name(),
                                 is_wait ? "wait for" : "signal", kind));
        (void)run.release();
        return ready.session.abandon();
      }
      if (run->signals[0].wait(kMoment) || run->signals[2].count() != 0)
        return context.fail(ready.name() + ": execute_async returned an error, and signalled a fence");
    }
    if (const RunResult after = ready.run(); after.status != ETB_OK || !context.is_right(ready.item, after))
      context.fail(ready.name() + ": after a rejected asynchronous run execute fails");
  });
}

// Each context has other inputs than its neighbour, and all are started before the first is over.
void contexts_in_flight(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || !has_async(context, *subject)) return;
  context.each_session(*subject, context.claimed(*subject, 6), [&](ReadyCase& ready) {
    const std::vector<TensorData> inputs[] = {ready.inputs(), reversed(ready.inputs())};
    RunResult known[2];
    for (size_t k = 0; k < 2; ++k) known[k] = ready.session.run(inputs[k]);
    if (known[0].status != ETB_OK || known[1].status != ETB_OK) return;
    const size_t count = std::min<size_t>(3, ready.session.info().max_contexts);
    Contexts contexts(context, ready, count);
    if (contexts.all().size() != count) return;
    for (int i = 0; i < context.repeats(10, 6); ++i) {
      std::vector<std::unique_ptr<AsyncRun>> runs;
      context.progress().at("execute_async on several contexts");
      for (size_t k = 0; k < count; ++k) {
        runs.push_back(
            std::make_unique<AsyncRun>(ready, inputs[k % 2], RunOptions{.fill = static_cast<uint8_t>(k)}));
        runs.back()->start(ready, contexts.all()[k]);
      }
      bool is_right = true;
      for (size_t k = 0; k < count; ++k)
        is_right = expect_started(context, ready, *runs[k]) &&
                   expect_outputs(context, ready, runs[k], known[k % 2].outputs) && is_right;
      if (is_right) continue;
      for (auto& run : runs) (void)run.release();
      ready.session.abandon();
      return contexts.abandon();
    }
  });
}

void cancelled_in_flight(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || !has_async(context, *subject)) return;
  const etb_delegate_table& table = *subject->table().delegate;
  if ((table.caps & ETB_DELEGATE_CAP_CANCEL) == 0) return context.skip("the plugin has no cancel");
  context.each_session(*subject, context.claimed(*subject, 4), [&](ReadyCase& ready) {
    for (int i = 0; i < context.repeats(20, 3); ++i) {
      // Every other run waits for a fence that is never reached: nothing but cancel ends it.
      Gate gate;
      GatedRun gated(ready, ready.inputs(), gate);
      bool is_gated = i % 2 == 0;
      context.progress().at("execute_async, then cancel");
      if (is_gated) gated.run->start(ready);
      if (!is_gated || gated.run->started == ETB_NOT_SUPPORTED) {
        is_gated = false;
        gated.run->run->args.wait_count = 0;
        gated.run->start(ready);
      }
      if (!expect_started(context, ready, *gated.run)) return;
      if (i % 4 >= 2) std::this_thread::sleep_for(std::chrono::microseconds(50 * i));
      if (table.cancel(ready.session.context(), nullptr) != ETB_OK)
        context.fail(ready.name() + ": cancel of an asynchronous run fails");
      if (!expect_signalled(context, ready, gated.run)) return;
      const etb_status status = gated.run->signals[0].status();
      if (status != ETB_CANCELLED && (status != ETB_OK || is_gated))
        return context.fail(
            fmt::format("{}: an asynchronous run that was cancelled ends with {}", ready.name(), status));
      if (status == ETB_OK && !context.is_right(ready.item, {.outputs = gated.run->signals[0].outputs()}))
        return context.fail(ready.name() + ": an asynchronous run that was cancelled too late is wrong");
    }
    if (const RunResult after = ready.run(); after.status != ETB_OK || !context.is_right(ready.item, after))
      context.fail(ready.name() + ": after a cancelled asynchronous run execute fails");
  });
}

// A host that starts a run behind another one relies on it: the fence of a run that fails is never reached.
void stopped_in_flight(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || !has_async(context, *subject)) return;
  context.each_session(*subject, context.claimed(*subject, 2), [&](ReadyCase& ready) {
    for (const bool has_token : {false, true}) {
      std::atomic<bool> is_set{true};
      const etb_cancel_token token = {ETB_INIT_SIZE(etb_cancel_token), 0, &is_set, [](void* ctx) {
                                        return static_cast<std::atomic<bool>*>(ctx)->load() ? 1u : 0u;
                                      }};
      const etb_status expected = has_token ? ETB_CANCELLED : ETB_DEADLINE_EXCEEDED;
      const RunResult direct =
          has_token ? ready.run({.cancel = &token}) : ready.run({.deadline_ns = monotonic_ns()});
      if (direct.status != expected) continue;
      is_set = false;
      Gate gate;
      GatedRun gated(ready, ready.inputs(), gate);
      if (has_token)
        gated.run->run->args.cancel = &token;
      else
        gated.run->run->args.deadline_ns =
            monotonic_ns() + static_cast<uint64_t>(std::chrono::nanoseconds(kMoment).count());
      context.progress().at("execute_async with a fence that is not reached");
      gated.run->start(ready);
      if (!expect_started(context, ready, *gated.run)) return;
      std::this_thread::sleep_for(kMoment);
      is_set = true;
      const bool has_ended = gated.run->signals[0].wait(context.patience());
      if (!has_ended) {
        context.fail(fmt::format("{}: an asynchronous run waits for its fence {} s after {}, execute stops",
                                 ready.name(), context.patience().count() / 1000,
                                 has_token ? "its token requested the end" : "its deadline"));
        gate.open();
      }
      if (!expect_signalled(context, ready, gated.run)) return;
      if (const etb_status status = gated.run->signals[0].status(); has_ended && status != expected)
        return context.fail(fmt::format(
            "{}: an asynchronous run that {} while it waits for a fence ends with {}, expected {}",
            ready.name(), has_token ? "its token stops" : "passes its deadline", status, expected));
    }
    if (const RunResult after = ready.run(); after.status != ETB_OK || !context.is_right(ready.item, after))
      context.fail(ready.name() + ": after an asynchronous run that was stopped execute fails");
  });
}

// A context in flight does not end (ABI-LIFE-01), and one whose run was signalled ends at once.
void destroyed_in_flight(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || !has_async(context, *subject)) return;
  const etb_delegate_table& table = *subject->table().delegate;
  context.each_session(*subject, context.claimed(*subject, 3), [&](ReadyCase& ready) {
    const RunResult known = ready.run();
    if (known.status != ETB_OK) return;
    for (int i = 0; i < context.repeats(10, 3); ++i) {
      Contexts contexts(context, ready, 1);
      if (contexts.all().empty()) return;
      Gate gate;
      GatedRun gated(ready, ready.inputs(), gate);
      gated.run->start(ready, contexts.all()[0]);
      if (gated.run->started == ETB_NOT_SUPPORTED) {
        gated.run->run->args.wait_count = 0;
        gated.run->start(ready, contexts.all()[0]);
      } else if (gated.run->started == ETB_OK) {
        context.progress().at("context_destroy while a run is in flight");
        const etb_status status = table.context_destroy(contexts.all()[0], nullptr);
        if (status != ETB_BUSY) {
          context.fail(
              fmt::format("{}: context_destroy returns {} while an asynchronous run is in flight, "
                          "expected ETB_BUSY",
                          ready.name(), status));
          (void)gated.run.release();
          contexts.abandon();
          return ready.session.abandon();
        }
        gate.open();
      }
      if (!expect_started(context, ready, *gated.run)) return;
      context.progress().at("context_destroy after a run");
      if (!expect_outputs(context, ready, gated.run, known.outputs)) return contexts.abandon();
    }
  });
}

// Events come while the run is in flight.
void profiled_in_flight(CheckContext& context) {
  struct Seen {
    Signals* signals;
    std::atomic<int> count{0}, late_count{0};
  };
  const auto subject = context.open(bare());
  if (!subject || !has_async(context, *subject)) return;
  context.each_session(*subject, context.claimed(*subject, 4), [&](ReadyCase& ready) {
    const RunResult known = ready.run();
    if (known.status != ETB_OK) return;
    for (int i = 0; i < context.repeats(4); ++i) {
      Seen seen;
      const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &seen,
                                   [](void* ctx, const etb_event*) -> etb_status {
                                     auto& to = *static_cast<Seen*>(ctx);
                                     ++to.count;
                                     if (to.signals->count() != 0) ++to.late_count;
                                     return ETB_OK;
                                   }};
      auto run = std::make_unique<AsyncRun>(ready, ready.inputs(), RunOptions{.events = &sink});
      seen.signals = &run->signals[0];
      context.progress().at("execute_async with an event sink");
      run->start(ready);
      if (!expect_started(context, ready, *run) || !expect_outputs(context, ready, run, known.outputs))
        return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (seen.late_count != 0)
        return context.fail(ready.name() + ": an event comes after the fence of its run");
    }
  });
}

// A plugin may take runs in any order, but one that always ends them from the lowest priority upwards has it upside down.
void priorities_in_flight(CheckContext& context) {
  constexpr uint32_t kPriorities[] = {500, 300, 900, 100, 700};  // the device is busy with the first
  constexpr size_t kUpwards[] = {3, 1, 4, 2};
  constexpr int kTries = 3;
  const auto subject = context.open(bare());
  if (!subject || !has_async(context, *subject)) return;
  const std::vector<ClaimedCase> cases = every_long_claimed(*subject);
  if (cases.empty()) return context.skip("the plugin claims no long case");
  bool has_any = false;
  context.each_session(*subject, cases, [&](ReadyCase& ready) {
    if (ready.session.info().max_contexts < std::size(kPriorities)) return;
    has_any = true;
    Contexts contexts(context, ready, std::size(kPriorities));
    if (contexts.all().size() != std::size(kPriorities)) return;
    for (int i = 0; i < kTries; ++i) {
      context.progress().restart();
      context.progress().at("execute_async with several priorities");
      std::vector<std::unique_ptr<AsyncRun>> runs;
      for (size_t k = 0; k < std::size(kPriorities); ++k) {
        runs.push_back(
            std::make_unique<AsyncRun>(ready, ready.inputs(), RunOptions{.priority = kPriorities[k]}));
        runs.back()->start(ready, contexts.all()[k]);
      }
      for (auto& run : runs)
        if (!expect_started(context, ready, *run) || !expect_signalled(context, ready, run)) {
          for (auto& other : runs) (void)other.release();
          ready.session.abandon();
          return contexts.abandon();
        }
      uint64_t last = 0;
      for (const size_t k : kUpwards) {
        if (runs[k]->signals[0].number() < last) return;
        last = runs[k]->signals[0].number();
      }
    }
    context.fail(
        fmt::format("{}: in {} tries, runs end from the lowest priority upwards", ready.name(), kTries));
  });
  if (!has_any && context.outcome().findings.empty())
    context.skip("the plugin does not run five contexts at once");
}

}  // namespace etb::conformance
