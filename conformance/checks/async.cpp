// SPDX-License-Identifier: Apache-2.0
// run: execute_async and its fences.
#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

// Receives the signals of one fence, on any thread.
class Signals {
 public:
  etb_fence fence() {
    etb_fence out{};
    out.struct_size = ETB_INIT_SIZE(etb_fence);
    out.kind = "callback";
    out.handle = this;
    out.fd = -1;
    out.signal = [](void* handle, etb_status status) { static_cast<Signals*>(handle)->take(status); };
    return out;
  }

  // Waits for the first signal. False if none came in this time.
  bool wait(std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, most, [this] { return count_ != 0; });
  }
  int count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  etb_status status() {
    const std::lock_guard lock(mutex_);
    return status_;
  }

 private:
  void take(etb_status status) {
    const std::lock_guard lock(mutex_);
    if (count_++ == 0) status_ = status;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
  etb_status status_ = ETB_OK;
};

bool has_async(CheckContext& context, Subject& subject) {
  if ((subject.table().delegate->caps & ETB_DELEGATE_CAP_EXECUTE_ASYNC) != 0) return true;
  context.skip("the plugin has no execute_async");
  return false;
}

constexpr int kFences = 3;

// One asynchronous run with several fences. It stays in memory if the plugin never signals: the plugin may
// still write to it.
struct AsyncRun {
  std::unique_ptr<PreparedRun> run;
  Signals signals[kFences];
  std::vector<etb_fence> fences;
  etb_error error = ETB_ERROR_INIT;
  etb_status started = ETB_OK;

  AsyncRun(ReadyCase& ready, const RunOptions& options)
      : run(ready.session.prepare(ready.inputs(), options)) {
    for (Signals& each : signals) fences.push_back(each.fence());
    run->args.signal = fences.data();
    run->args.signal_count = kFences;
  }
  void start(ReadyCase& ready) {
    started = ready.subject.table().delegate->execute_async(ready.session.context(), &run->args, &error);
  }
};

// Waits for all fences. False, with a finding, if one is missing, signalled twice or with another status.
bool expect_signalled(CheckContext& context, ReadyCase& ready, AsyncRun& run) {
  for (Signals& each : run.signals)
    if (!each.wait(context.patience())) {
      context.fail(fmt::format("{}: a fence of a run that execute_async started was not signalled in {} s",
                               ready.name(), context.patience().count() / 1000));
      return false;
    }
  for (Signals& each : run.signals)
    if (each.count() != 1 || each.status() != run.signals[0].status()) {
      context.fail(ready.name() + ": the fences of one run were signalled twice, or with different statuses");
      return false;
    }
  return true;
}

void asynchronous_runs(CheckContext& context, const SubjectOptions& options) {
  const auto subject = context.open(options);
  if (!subject || !has_async(context, *subject)) return;
  context.each_session(*subject, context.claimed(*subject, 6), [&](ReadyCase& ready) {
    const std::vector<TensorData> expected = ready.run().outputs;
    for (int i = 0; i < context.repeats(20, 6); ++i) {
      auto run = std::make_unique<AsyncRun>(ready, RunOptions{.fill = static_cast<uint8_t>(i * 11)});
      context.progress().at("execute_async");
      run->start(ready);
      if (run->started == ETB_NOT_SUPPORTED)
        return context.skip(std::string("the plugin signals no fences of the kind callback: ") +
                            run->error.text);
      if (run->started != ETB_OK)
        return context.fail(fmt::format("{}: execute_async fails: {}", ready.name(), run->error.text));
      if (!expect_signalled(context, ready, *run)) {
        (void)run.release();
        ready.session.abandon();
        return;
      }
      if (run->signals[0].status() != ETB_OK)
        return context.fail(
            fmt::format("{}: an asynchronous run ends with {}", ready.name(), run->signals[0].status()));
      const std::vector<TensorData> found = run->run->outputs();
      for (size_t k = 0; k < expected.size(); ++k)
        if (found[k].bytes != expected[k].bytes || found[k].shape.sizes != expected[k].shape.sizes)
          return context.fail(ready.name() +
                              ": an asynchronous run has another result when its fence is signalled");
    }
    if (const RunResult after = ready.run(); after.status != ETB_OK || !context.is_right(ready.item, after))
      context.fail(ready.name() + ": after asynchronous runs execute fails");
  });
}
void bare_runs(CheckContext& context) { asynchronous_runs(context, bare()); }
void validated_runs(CheckContext& context) { asynchronous_runs(context, {}); }

// A run that is rejected signals nothing; one that fails later signals its error.
void failing_runs(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || !has_async(context, *subject)) return;
  context.each_session(*subject, context.claimed(*subject, 2), [&](ReadyCase& ready) {
    auto run = std::make_unique<AsyncRun>(ready, RunOptions{});
    run->run->args.input_count = 0;
    run->run->args.output_count = 0;
    context.progress().at("execute_async without tensors");
    run->start(ready);
    if (run->started == ETB_OK) {
      if (!expect_signalled(context, ready, *run)) {
        (void)run.release();
        ready.session.abandon();
      } else if (run->signals[0].status() == ETB_OK) {
        context.fail(ready.name() + ": an asynchronous run without tensors ends with ETB_OK");
      }
      return;
    }
    constexpr std::chrono::milliseconds kMoment{50};
    if (run->signals[0].wait(kMoment))
      return context.fail(ready.name() + ": execute_async returned an error, and signalled a fence");
    if (const RunResult after = ready.run(); after.status != ETB_OK || !context.is_right(ready.item, after))
      context.fail(ready.name() + ": after a rejected asynchronous run execute fails");
  });
}

constexpr Check kChecks[] = {
    {"run.asynchronous",
     "An asynchronous run signals each fence once, after its outputs are written as execute writes them.",
     "ABI-EXEC-05", bare_runs},
    {"run.asynchronous-is-clean", "The same behind guard pages.", "ABI-EXEC-05", validated_runs},
    {"run.asynchronous-failure",
     "A rejected asynchronous run signals no fence, and the context stays usable.", "ABI-EXEC-05",
     failing_runs},
};

}  // namespace

std::span<const Check> async_checks() { return kChecks; }

}  // namespace etb::conformance
