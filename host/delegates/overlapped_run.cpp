// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/overlapped_run.hpp"

#include "etb/cpp/fail.hpp"
#include "etb/cpp/guard.hpp"
#include "host/delegates/plugin_delegate.hpp"

namespace etb::host {

OverlappedRun::OverlappedRun(PluginDelegate& delegate, AsyncSupport support)
    : delegate_(delegate), support_(std::move(support)) {
  fence_.struct_size = ETB_INIT_SIZE(etb_fence);
  fence_.kind = "callback";
  fence_.handle = this;
  fence_.fd = -1;
  fence_.signal = &signal;
  job_.run = &run;
  job_.run_of = this;
}

etb_status OverlappedRun::start(const DelegateRun& run) noexcept {
  args_ = {};
  ETB_CHECK(delegate_.bind_run(run, args_));
  return begin(run);
}

bool OverlappedRun::can_follow() const noexcept {
  return support_.thread == nullptr && !refuses_fences_ && delegate_.context_->can_cancel();
}

etb_status OverlappedRun::start_after(const DelegateRun& run, std::span<AsyncRuns* const> after) noexcept {
  if (!can_follow() || after.size() > fences_before_.size()) return ETB_NOT_SUPPORTED;
  for (size_t i = 0; i < after.size(); ++i) {
    fences_before_[i] = {ETB_INIT_SIZE(etb_fence),   0, "sync-fd", nullptr, 0,
                         after[i]->end_descriptor(), 0, nullptr,   nullptr};
    if (fences_before_[i].fd < 0) return ETB_NOT_SUPPORTED;
  }
  // Now the other runs still write to the inputs.
  if (delegate_.has_work_before_run(run)) return ETB_NOT_SUPPORTED;
  args_ = {};
  ETB_CHECK(delegate_.bind_run(run, args_));
  args_.wait = fences_before_.data();
  args_.wait_count = static_cast<uint32_t>(after.size());
  const etb_status status = begin(run);
  if (status == ETB_NOT_SUPPORTED) refuses_fences_ = true;
  return status;
}

etb_status OverlappedRun::begin(const DelegateRun& run) noexcept {
  const bool may_stop = has_end(run.limits);
  if (may_stop) {
    cancel_ = stop_flag_.emplace(StopFlag{run.limits, delegate_.platform_}).token();
    args_.cancel = &cancel_;
  }
  run_ = &run;
  has_ended_ = false;
  end_signal_.clear();
  begin_ns_ = now_ns();
  const bool is_own = support_.thread == nullptr;
  if (is_own) {
    args_.signal = &fence_;
    args_.signal_count = 1;
    if (const Status started = delegate_.context_->execute_async(args_); !started) {
      run_ = nullptr;
      return delegate_.end_run(started, run);
    }
  }
  if (may_stop && delegate_.context_->can_cancel())
    watch_.emplace(delegate_.watchdog_, *delegate_.context_, run.limits, delegate_.platform_);
  if (!is_own) support_.thread->post(job_);
  return ETB_OK;
}

int OverlappedRun::end_descriptor() const noexcept {
  return delegate_.has_work_after_run() ? -1 : end_signal_.descriptor();
}

// A plugin that does not end the run at once must not wait for ever.
void OverlappedRun::stop() noexcept {
  (void)delegate_.context_->cancel();
  for (uint32_t i = 0; i < args_.wait_count; ++i) EndSignal::set(fences_before_[i].fd);
}

void OverlappedRun::run(DelegateThread::Job& job) noexcept {
  OverlappedRun& self = *static_cast<Job&>(job).run_of;
  self.begin_ns_ = self.now_ns();
  self.end(self.delegate_.context_->execute(self.args_));
}

void OverlappedRun::signal(void* handle, etb_status status) {
  static_cast<OverlappedRun*>(handle)->end(
      status == ETB_OK ? Status() : make_error(static_cast<Code>(status), "the asynchronous run failed"));
}

uint64_t OverlappedRun::now_ns() const noexcept {
  return delegate_.platform_.now_ns(delegate_.platform_.self);
}

// The object may end as soon as the lock is free.
void OverlappedRun::end(Status status) noexcept {
  const std::lock_guard lock(mutex_);
  end_ns_ = now_ns();
  if (status) end_signal_.set();  // else the host stops the runs that follow
  status_ = std::move(status);
  has_ended_ = true;
  ended_.notify_one();
}

etb_status OverlappedRun::finish() noexcept {
  {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return has_ended_; });
  }
  watch_.reset();
  const DelegateRun& run = *run_;
  run_ = nullptr;
  return delegate_.end_run(status_, run);
}

}  // namespace etb::host
