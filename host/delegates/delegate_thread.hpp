// SPDX-License-Identifier: Apache-2.0
// DelegateThread: runs delegates of a plugin without asynchronous runs, beside the thread of the method.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace etb::host {

class DelegateThread {
 public:
  // One run, waiting in the thread's queue.
  struct Job {
    void (*run)(Job& self) noexcept;
    Job* next = nullptr;
  };

  DelegateThread();
  DelegateThread(const DelegateThread&) = delete;
  DelegateThread& operator=(const DelegateThread&) = delete;
  // Runs what is in the queue.
  ~DelegateThread();

  // [any] Jobs run one at a time, in order. The job is in no queue. Does not use the heap.
  void post(Job& job);

 private:
  void loop();

  std::mutex mutex_;  // guards the members below
  std::condition_variable posted_;
  Job* first_ = nullptr;
  Job** end_ = &first_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace etb::host
