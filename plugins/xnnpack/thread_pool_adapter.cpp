// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/thread_pool_adapter.hpp"

namespace etb::xnnpack {

namespace {

// Polls by an idle thread before it sleeps. Between operators of a graph pthreadpool keeps threads awake. So this
// limit covers the time from the start of a run to its first parallel operator.
constexpr int kPollsBeforeSleep = 2000;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

#if ETB_PTHREADPOOL_HAS_EXECUTOR

std::unique_ptr<ThreadPoolAdapter> ThreadPoolAdapter::make(const etb_parallel_service* parallel) {
  if (parallel == nullptr) return nullptr;
  const uint32_t workers = parallel->max_workers(parallel->ctx);
  if (workers <= 1) return nullptr;
  std::unique_ptr<ThreadPoolAdapter> adapter(new ThreadPoolAdapter(*parallel, workers));
  adapter->tasks_.reserve(workers);
  pthreadpool_executor executor = {
      [](void* self) {
        return static_cast<int>(static_cast<ThreadPoolAdapter*>(self)->worker_count_) -
               1;  // not counting the thread that runs the graph
      },
      [](void* self, void* argument, void (*function)(void*)) {
        static_cast<ThreadPoolAdapter*>(self)->schedule({function, argument});
      }};
  adapter->pool_.reset(pthreadpool_create_v2(&executor, adapter.get(), workers));
  return adapter->pool_ == nullptr ? nullptr : std::move(adapter);
}

void ThreadPoolAdapter::finish() {
  pthreadpool_release_executor_threads(pool_.get());
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  change_count_.fetch_add(1, std::memory_order_release);
  changed_.notify_all();
  // Runs the tasks that no thread took: pthreadpool relies on every task. They end at once, as no work is
  // left.
  for (Task task; take(task);) task.function(task.argument);
}

#else

std::unique_ptr<ThreadPoolAdapter> ThreadPoolAdapter::make(const etb_parallel_service*) { return nullptr; }

void ThreadPoolAdapter::finish() {}

#endif

ThreadPoolAdapter::~ThreadPoolAdapter() {
  if (pool_) finish();
}

xnn_status ThreadPoolAdapter::invoke(xnn_runtime_t runtime) {
  Call call{*this, runtime, xnn_status_invalid_state};
  {
    const std::lock_guard lock(mutex_);
    is_over_ = false;
  }
  parallel_.parallel_for(parallel_.ctx, worker_count_, 1, &ThreadPoolAdapter::run_thread, &call);
  return call.status;
}

// The first thread to arrive runs the graph, in any call order. So it never waits for a call that has not begun.
void ThreadPoolAdapter::run_thread(void* raw, uint64_t, uint64_t, uint32_t) {
  Call& call = *static_cast<Call*>(raw);
  call.is_graph_taken.exchange(true) ? call.adapter.run_tasks() : call.adapter.run_graph(call);
}

void ThreadPoolAdapter::run_graph(Call& call) {
  call.status = xnn_invoke_runtime(call.runtime);
  finish();
}

void ThreadPoolAdapter::run_tasks() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    if (!tasks_.empty()) {
      const Task task = tasks_.back();
      tasks_.pop_back();
      lock.unlock();
      task.function(task.argument);
      lock.lock();
      continue;
    }
    const uint32_t seen = change_count_.load(std::memory_order_acquire);
    lock.unlock();
    for (int poll = 0; poll < kPollsBeforeSleep && change_count_.load(std::memory_order_acquire) == seen;
         ++poll)
      relax();
    lock.lock();
    changed_.wait(lock, [this] { return is_over_ || !tasks_.empty(); });
  }
}

void ThreadPoolAdapter::schedule(Task task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(task);
  }
  change_count_.fetch_add(1, std::memory_order_release);
  changed_.notify_one();
}

bool ThreadPoolAdapter::take(Task& out) {
  const std::lock_guard lock(mutex_);
  if (tasks_.empty()) return false;
  out = tasks_.back();
  tasks_.pop_back();
  return true;
}

}  // namespace etb::xnnpack
