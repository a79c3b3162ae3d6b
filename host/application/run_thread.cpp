// SPDX-License-Identifier: Apache-2.0
#include "host/application/run_thread.hpp"

#include <chrono>
#include <system_error>

#include "host/application/errors.hpp"

namespace etb::host {

RunThread::~RunThread() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

etb_status RunThread::start(AsyncRun run, etb_error* error) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error& failed) {
      return report(
          Error{Code::OUT_OF_RESOURCES, std::string("no thread for the run: ") + failed.what(), {}, 0},
          error);
    }
  }
  next_ = std::move(run);
  has_next_ = true;
  has_result_ = false;
  changed_.notify_all();
  return ETB_OK;
}

etb_status RunThread::wait(uint64_t timeout_ns, etb_error* error) {
  std::unique_lock lock(mutex_);
  const auto has_result = [this] { return has_result_; };
  if (!thread_.joinable())
    return report(Error{Code::INVALID_STATE, "no run was started on this module", {}, 0}, error);
  constexpr uint64_t kLongest = uint64_t{1} << 60;  // some 36 years; longer times overflow the clock
  if (timeout_ns >= kLongest) {
    changed_.wait(lock, has_result);
  } else if (!changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), has_result)) {
    return report(Error{Code::DEADLINE_EXCEEDED, "the run has not ended", "module.running", 0}, error);
  }
  if (status_ == ETB_OK) return ETB_OK;
  return report(check(status_, error_).error(), error);
}

void RunThread::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return has_next_ || stops_; });
    if (!has_next_) return;
    const AsyncRun run = std::move(next_);
    has_next_ = false;
    lock.unlock();
    etb_error error = ETB_ERROR_INIT;
    const etb_status status = execute_(run, &error);
    lock.lock();
    status_ = status;
    error_ = error;
    has_result_ = true;
    ended_();
    lock.unlock();
    changed_.notify_all();
    if (run.done != nullptr) run.done(run.ctx, status, status == ETB_OK ? nullptr : &error);
    lock.lock();
  }
}

}  // namespace etb::host
