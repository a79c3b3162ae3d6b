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
// parallel_for. Its first thread leads: it runs the whole graph. The others help: they run pthreadpool's
// tasks until the leader is done. If the host has no thread to spare, the leader runs everything. No thread
// waits for one that does not come. [serial:crew]; not movable.
class Crew {
 public:
  // Returns NULL if the host grants one worker, or if pthreadpool cannot run on foreign threads.
  static std::unique_ptr<Crew> make(const etb_parallel_service* parallel);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Thread pool for runtimes that run by this crew only.
  pthreadpool_t pool() const { return pool_.get(); }
  xnn_status invoke(xnn_runtime_t runtime);

 private:
  struct Call {
    Crew& crew;
    xnn_runtime_t runtime;
    xnn_status status;
    std::atomic<bool> is_led{false};
  };
  struct Task {
    void (*function)(void*);
    void* argument;
  };

  Crew(const etb_parallel_service& parallel, uint32_t worker_count)
      : parallel_(parallel), worker_count_(worker_count) {}
  static void ETB_CALL join(void* call, uint64_t begin, uint64_t end, uint32_t worker);
  void lead(Call& call);
  void help();
  void finish();
  void schedule(Task task);
  bool take(Task& out);

  const etb_parallel_service& parallel_;
  const uint32_t worker_count_;
  ThreadPool pool_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<Task> tasks_;  // at most as many as the pool has workers
  bool is_over_ = true;
  std::atomic<uint32_t> change_count_{0};  // polled by helpers before they sleep
};

}  // namespace etb::xnnpack
