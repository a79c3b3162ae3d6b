// SPDX-License-Identifier: Apache-2.0
// Asynchronous runs of a context. Commands are submitted on the caller's thread if nothing is to be waited for; the device's
// thread does the rest.
#include "etb/cpp/values.hpp"
#include "plugins/gpu/run/context.hpp"

namespace etb::gpu {

namespace {

// A host that profiles or records values asks between the commands of a run.
bool is_observed(const Run& run) { return run.raw().events != nullptr; }

}  // namespace

Status GpuContext::start(const AsyncRun& run) {
  ETB_TRY(completions_.prepare());
  stop_.begin();
  is_submitted_ = false;
  if (run.run().raw().wait_count == 0 && !is_observed(run.run()))
    if (Status submitted = submit_run(run.run()); !submitted) {
      stop_.end();
      return submitted;
    }
  async_.emplace(run);
  completions_.post(*this, run.run().raw().priority);
  return {};
}

Status GpuContext::submit_run(const Run& run) {
  ETB_TRY(created());
  (void)set_timed(false);
  ETB_TRY(bind(run));
  ETB_TRY(submit());
  is_submitted_ = true;
  return {};
}

bool GpuContext::advance(std::chrono::milliseconds most) noexcept {
  const auto step = [&]() -> Result<bool> {
    if (is_submitted_) {
      ETB_ASSIGN(const bool is_over, wait(most));
      if (!is_over) return false;
      ETB_TRY(stop_.check());
      ETB_TRY(read_outputs(async_->run()));
      return true;
    }
    ETB_TRY(keep_going(async_->run()));
    ETB_ASSIGN(const bool are_reached, async_->await_fences(static_cast<int>(most.count())));
    if (!are_reached) return false;
    if (is_observed(async_->run())) {
      ETB_TRY(execute_now(async_->run()));
      return true;
    }
    ETB_TRY(submit_run(async_->run()));
    return false;
  };
  bool is_over = true;
  async_code_ = guard(&async_error_, [&]() -> Status {
    ETB_ASSIGN(is_over, step());
    return {};
  });
  return is_over;
}

void GpuContext::end() noexcept {
  const AsyncRun run = *async_;
  const Status status =
      async_code_ == ETB_OK ? Status() : make_error(static_cast<Code>(async_code_), async_error_.text);
  async_.reset();
  stop_.end();
  run.finish(status);
}

Status GpuContext::cancel() {
  stop_.make();
  return {};
}

}  // namespace etb::gpu
