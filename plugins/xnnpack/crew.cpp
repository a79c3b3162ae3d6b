// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/crew.hpp"

namespace etb::xnnpack {

namespace {

// Polls by a helper before it sleeps. Between operators of a graph pthreadpool keeps helpers awake. So this
// limit covers the time from the start of a run to its first parallel operator.
constexpr int kLooksBeforeSleep = 2000;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

#if ETB_PTHREADPOOL_HAS_EXECUTOR

std::unique_ptr<Crew> Crew::make(const etb_parallel_service* parallel) {
  if (parallel == nullptr) return nullptr;
  const uint32_t workers = parallel->max_workers(parallel->ctx);
  if (workers <= 1) return nullptr;
  std::unique_ptr<Crew> crew(new Crew(*parallel, workers));
  crew->tasks_.reserve(workers);
  pthreadpool_executor executor = {[](void* self) {
                                     return static_cast<int>(static_cast<Crew*>(self)->worker_count_) -
                                            1;  // not counting the leader
                                   },
                                   [](void* self, void* argument, void (*function)(void*)) {
                                     static_cast<Crew*>(self)->schedule({function, argument});
                                   }};
  crew->pool_.reset(pthreadpool_create_v2(&executor, crew.get(), workers));
  return crew->pool_ == nullptr ? nullptr : std::move(crew);
}

void Crew::finish() {
  pthreadpool_release_executor_threads(pool_.get());
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  change_count_.fetch_add(1, std::memory_order_release);
  changed_.notify_all();
  // Runs the tasks that no helper took: pthreadpool relies on every task. They end at once, as no work is
  // left.
  for (Task task; take(task);) task.function(task.argument);
}

#else

std::unique_ptr<Crew> Crew::make(const etb_parallel_service*) { return nullptr; }

void Crew::finish() {}

#endif

Crew::~Crew() {
  if (pool_) finish();
}

xnn_status Crew::invoke(xnn_runtime_t runtime) {
  Call call{*this, runtime, xnn_status_invalid_state};
  {
    const std::lock_guard lock(mutex_);
    is_over_ = false;
  }
  parallel_.parallel_for(parallel_.ctx, worker_count_, 1, &Crew::join, &call);
  return call.status;
}

// The first thread to arrive leads, in any call order, so the leader never waits for a call that has not
// begun.
void Crew::join(void* raw, uint64_t, uint64_t, uint32_t) {
  Call& call = *static_cast<Call*>(raw);
  call.is_led.exchange(true) ? call.crew.help() : call.crew.lead(call);
}

void Crew::lead(Call& call) {
  call.status = xnn_invoke_runtime(call.runtime);
  finish();
}

void Crew::help() {
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
    for (int look = 0; look < kLooksBeforeSleep && change_count_.load(std::memory_order_acquire) == seen;
         ++look)
      relax();
    lock.lock();
    changed_.wait(lock, [this] { return is_over_ || !tasks_.empty(); });
  }
}

void Crew::schedule(Task task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(task);
  }
  change_count_.fetch_add(1, std::memory_order_release);
  changed_.notify_one();
}

bool Crew::take(Task& out) {
  const std::lock_guard lock(mutex_);
  if (tasks_.empty()) return false;
  out = tasks_.back();
  tasks_.pop_back();
  return true;
}

}  // namespace etb::xnnpack
