// SPDX-License-Identifier: Apache-2.0
#include "host/services/thread_pool.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace etb::host {
namespace {

// True while this thread is inside a task. Thread-local, because a nested call cannot pass it along: the task
// between the two calls belongs to a plugin.
thread_local bool in_task = false;

// Enough for items of uneven cost, few enough that fetching a piece costs nothing.
constexpr uint64_t kPiecesPerWorker = 4;

// Number of checks before a worker that waits for a job, or a caller that waits for its last worker, blocks:
// some tens of microseconds. Waking a blocked thread costs as much, and more in a virtual machine. The ops
// and delegates of a model follow each other sooner.
constexpr int kLooksBeforeBlock = 2000;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

ThreadPool::ThreadPool(uint32_t worker_count, Waiting waiting)
    : looks_before_block_(waiting == Waiting::kSpin ? kLooksBeforeBlock : 0) {
  if (worker_count == 0) worker_count = std::max(1u, std::thread::hardware_concurrency());
  service_.struct_size = sizeof(service_);
  service_.ctx = this;
  service_.max_workers = [](void* ctx) { return static_cast<ThreadPool*>(ctx)->max_workers(); };
  service_.parallel_for = [](void* ctx, uint64_t count, uint64_t grain, Task task, void* arg) {
    static_cast<ThreadPool*>(ctx)->parallel_for(count, grain, task, arg);
  };
  worker_count = std::min(worker_count, kMaxWorkers);
  threads_.reserve(worker_count - 1);
  for (uint32_t i = 1; i < worker_count && add_thread(); ++i) {
  }
}

// Returns false when the system has no more threads, which std::thread reports only by exception.
bool ThreadPool::add_thread() try {
  threads_.emplace_back([this] { work(); });
  return true;
} catch (const std::system_error&) {
  return false;
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    generation_.fetch_add(1, std::memory_order_release);
  }
  opened_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::parallel_for(uint64_t count, uint64_t grain, Task task, void* arg) {
  if (count == 0) return;
  Job job{task, arg, count, 0, 0};
  const uint64_t wanted = kPiecesPerWorker * max_workers();
  job.piece_size = std::max({grain, count / wanted + (count % wanted != 0 ? 1 : 0), uint64_t{1}});
  job.piece_count = count / job.piece_size + (count % job.piece_size != 0 ? 1 : 0);
  // Adds a remainder smaller than the grain to the piece before it. So a piece has at least `grain` items,
  // unless it is the only one.
  if (job.piece_count > 1 && count % job.piece_size != 0 && count % job.piece_size < grain) --job.piece_count;
  if (in_task || threads_.empty() || job.piece_count == 1) return run_serially(job);
  const std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn.owns_lock()) return run_serially(job);
  open(job);
  run_pieces(job, 0);
  close();
}

void ThreadPool::run_serially(const Job& job) {
  const bool outer = std::exchange(in_task, true);
  job.task(job.arg, 0, job.count, 0);
  in_task = outer;
}

void ThreadPool::run_pieces(const Job& job, uint32_t worker) {
  in_task = true;
  for (;;) {
    const uint64_t piece = next_piece_.fetch_add(1, std::memory_order_relaxed);
    if (piece >= job.piece_count) break;
    const uint64_t begin = piece * job.piece_size;
    job.task(job.arg, begin, piece + 1 == job.piece_count ? job.count : begin + job.piece_size, worker);
  }
  in_task = false;
}

void ThreadPool::open(const Job& job) {
  {
    const std::lock_guard lock(mutex_);
    job_ = job;
    is_open_ = true;
    joined_ = 0;
    inside_.store(0, std::memory_order_relaxed);
    max_joined_ = static_cast<uint32_t>(std::min<uint64_t>(threads_.size(), job.piece_count - 1));
    next_piece_.store(0, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
  }
  opened_.notify_all();
}

void ThreadPool::close() {
  {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
  }
  for (int look = 0; look < looks_before_block_; ++look) {
    if (inside_.load(std::memory_order_acquire) == 0) return;
    relax();
  }
  std::unique_lock lock(mutex_);
  left_.wait(lock, [this] { return inside_.load(std::memory_order_acquire) == 0; });
}

void ThreadPool::work() {
  uint64_t seen = 0;
  while (wait_for_job(seen)) {
    Job job;
    uint32_t worker = 0;
    {
      const std::lock_guard lock(mutex_);
      if (!is_open_ || joined_ == max_joined_) continue;
      job = job_;
      worker = ++joined_;
      inside_.fetch_add(1, std::memory_order_relaxed);
    }
    run_pieces(job, worker);
    const std::lock_guard lock(mutex_);
    if (inside_.fetch_sub(1, std::memory_order_release) == 1) left_.notify_one();
  }
}

// Waits for a job after number `seen`. Returns false when the pool ends.
bool ThreadPool::wait_for_job(uint64_t& seen) {
  for (int look = 0; look < looks_before_block_ && generation_.load(std::memory_order_acquire) == seen;
       ++look)
    relax();
  std::unique_lock lock(mutex_);
  opened_.wait(lock, [&] { return generation_.load(std::memory_order_relaxed) != seen; });
  seen = generation_.load(std::memory_order_relaxed);
  return !stopping_;
}

}  // namespace etb::host
