// The host's threads (parallel/1) as the workers of one XNNPACK runtime, for the time of a run.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "etb/host.h"
#include "plugins/xnnpack/xnn_handles.hpp"

namespace etb::xnnpack {

// parallel_for gives threads until it returns; pthreadpool wants some that it can call when it needs them. So a run is one parallel_for:
// the first thread in it leads (it runs the whole graph), the others help: they do what pthreadpool hands out, until the leader is done.
// Where the host has no thread to spare the leader does it all; nothing ever waits for a thread that does not come.
// [serial:crew]; it stays where it is.
class Crew {
 public:
  // NULL when the host grants one worker, or pthreadpool cannot run on foreign threads.
  static std::unique_ptr<Crew> make(const etb_parallel_service* parallel);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // For runtimes that run by this crew alone.
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
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<Task> tasks_;  // never more than the pool has workers
  bool is_over_ = true;
  std::atomic<uint32_t> change_count_{0};  // what a helper watches before it sleeps
};

}  // namespace etb::xnnpack
