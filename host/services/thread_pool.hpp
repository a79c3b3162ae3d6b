// SPDX-License-Identifier: Apache-2.0
// ThreadPool (parallel/1): one pool of threads that all plugins of a process share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "etb/host.h"

namespace etb::host {

// The calling thread works too. One call at a time uses the pool. A second caller meanwhile, and a
// call from inside a task, run alone on their own thread. So no call ever waits for another.
// parallel_for does not use the heap.
class ThreadPool {
 public:
  using Task = void(ETB_CALL*)(void* arg, uint64_t begin, uint64_t end, uint32_t worker);

  static constexpr uint32_t kMaxWorkers = 1024;

  // Behaviour of a worker without work, and of a caller that waits for the last worker: looks for some tens of
  // microseconds before it blocks, or blocks at once. Blocking costs latency and saves processor time.
  enum class Waiting { kSpin, kBlock };

  // `worker_count` includes the caller: 1 starts no thread and runs all inline. 0: as many as the machine
  // has for this process. At most kMaxWorkers, and fewer when the system has no more threads: the pool then
  // works with those it has.
  explicit ThreadPool(uint32_t worker_count = 0, Waiting waiting = Waiting::kSpin);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  uint32_t max_workers() const noexcept { return static_cast<uint32_t>(threads_.size()) + 1; }

  // Same contract as etb_parallel_service.parallel_for.
  void parallel_for(uint64_t count, uint64_t grain, Task task, void* arg);

  const etb_parallel_service* service() const noexcept { return &service_; }

 private:
  // One parallel_for. Workers join while it is open. `piece_count` pieces of `piece_size` items; the last
  // piece may be shorter, or longer by less than the grain.
  struct Job {
    Task task = nullptr;
    void* arg = nullptr;
    uint64_t count = 0;
    uint64_t piece_size = 0;
    uint64_t piece_count = 0;
  };

  bool add_thread();
  void run_serially(const Job& job);
  void run_pieces(const Job& job, uint32_t worker);
  void open(const Job& job);
  void close();
  void work();
  bool wait_for_job(uint64_t& seen);

  const int looks_before_block_;
  std::mutex turn_;  // held by the caller that uses the pool

  std::mutex mutex_;  // guards the members below, except the atomics
  std::condition_variable opened_;
  std::condition_variable left_;
  Job job_;
  bool is_open_ = false;
  bool stopping_ = false;
  uint32_t max_joined_ = 0;  // no more workers than pieces
  uint32_t joined_ = 0;      // since the job opened: the next worker number, without gaps
  // Number of joined workers that are not done. Written under the lock; the caller reads it without.
  std::atomic<uint32_t> inside_{0};

  std::atomic<uint64_t> generation_{0};  // counts jobs; a waiting worker reads it without the lock
  std::atomic<uint64_t> next_piece_{0};

  std::vector<std::thread> threads_;
  etb_parallel_service service_{};
};

}  // namespace etb::host
