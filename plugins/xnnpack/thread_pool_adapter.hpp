// SPDX-License-Identifier: Apache-2.0
// Lends the host's threads (parallel/1) to one XNNPACK runtime for the time of a run.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "etb/host.h"
#include "plugins/xnnpack/xnn_handles.hpp"

namespace etb::xnnpack {

// parallel_for lends threads until it returns, but pthreadpool calls threads on demand. So each run is one
// parallel_for. Its first thread runs the whole graph. The others run pthreadpool's tasks until the graph is
// done. If the host has no thread to spare, the first one runs everything. No thread waits for one that does
// not come. [serial:adapter]; not movable.
class ThreadPoolAdapter {
 public:
  // Returns NULL if the host grants one worker, or if pthreadpool cannot run on foreign threads.
  static std::unique_ptr<ThreadPoolAdapter> make(const etb_parallel_service* parallel);
  ~ThreadPoolAdapter();
  ThreadPoolAdapter(const ThreadPoolAdapter&) = delete;
  ThreadPoolAdapter& operator=(const ThreadPoolAdapter&) = delete;

  // Thread pool for runtimes that only this adapter invokes.
  pthreadpool_t pool() const { return pool_.get(); }
  xnn_status invoke(xnn_runtime_t runtime);

 private:
  struct Call {
    ThreadPoolAdapter& adapter;
    xnn_runtime_t runtime;
    xnn_status status;
    std::atomic<bool> is_graph_taken{false};
  };
  struct Task {
    void (*function)(void*);
    void* argument;
  };

  ThreadPoolAdapter(const etb_parallel_service& parallel, uint32_t worker_count)
      : parallel_(parallel), worker_count_(worker_count) {}
  // The task of each thread of the host.
  static void ETB_CALL run_thread(void* call, uint64_t begin, uint64_t end, uint32_t worker);
  void run_graph(Call& call);
  void run_tasks();
  void finish();
  void schedule(Task task);
  bool take(Task& out);

  const etb_parallel_service& parallel_;
  const uint32_t worker_count_;
  ThreadPoolHandle pool_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<Task> tasks_;  // at most as many as the pool has workers
  bool is_over_ = true;
  std::atomic<uint32_t> change_count_{0};  // polled by idle threads before they sleep
};

}  // namespace etb::xnnpack
