// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/delegate_thread.hpp"

namespace etb::host {

DelegateThread::DelegateThread() : thread_([this] { loop(); }) {}

DelegateThread::~DelegateThread() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  posted_.notify_one();
  thread_.join();
}

void DelegateThread::post(Job& job) {
  {
    const std::lock_guard lock(mutex_);
    job.next = nullptr;
    *end_ = &job;
    end_ = &job.next;
  }
  posted_.notify_one();
}

void DelegateThread::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    posted_.wait(lock, [this] { return first_ != nullptr || is_over_; });
    if (first_ == nullptr) return;
    Job& job = *first_;
    first_ = job.next;
    if (first_ == nullptr) end_ = &first_;
    lock.unlock();
    job.run(job);
    lock.lock();
  }
}

}  // namespace etb::host
