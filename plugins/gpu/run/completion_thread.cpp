// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/run/completion_thread.hpp"

namespace etb::gpu {

namespace {

// A run that is posted meanwhile waits so long for its turn.
constexpr std::chrono::milliseconds kWaitAlone{5}, kWaitWithOthers{1};

}  // namespace

CompletionThread::~CompletionThread() {
  if (!thread_.is_running()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  posted_.notify_one();
  thread_.join();
}

Status CompletionThread::prepare() {
  ETB_TRY(process_.check());
  const std::lock_guard lock(mutex_);
  if (is_started_) return {};
  ETB_TRY(thread_.start(
      [](void* self) -> void* {
        static_cast<CompletionThread*>(self)->loop();
        return nullptr;
      },
      this));
  is_started_ = true;
  return {};
}

void CompletionThread::post(Entry& entry) noexcept {
  {
    const std::lock_guard lock(mutex_);
    entry.next_ = nullptr;
    *end_ = &entry;
    end_ = &entry.next_;
  }
  posted_.notify_one();
}

void CompletionThread::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    posted_.wait(lock, [this] { return first_ != nullptr || is_over_; });
    if (first_ == nullptr) return;
    advance_all(lock);
  }
}

// Only this thread removes entries, so those before the present one stay while the list is unlocked.
void CompletionThread::advance_all(std::unique_lock<std::mutex>& lock) {
  auto most = first_->next_ == nullptr ? kWaitAlone : kWaitWithOthers;
  for (Entry** at = &first_; *at != nullptr;) {
    Entry& entry = **at;
    lock.unlock();
    const bool is_over = entry.advance(std::exchange(most, std::chrono::milliseconds{0}));
    lock.lock();
    if (!is_over) {
      at = &entry.next_;
      continue;
    }
    *at = entry.next_;
    if (end_ == &entry.next_) end_ = at;
    lock.unlock();
    entry.end();
    lock.lock();
  }
}

}  // namespace etb::gpu
